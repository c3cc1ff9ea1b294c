// What the pipeline draws, and what its parts tell each other. For the type checker; the page does not load it.

import type { Translate } from '../i18n/i18n.js';

export type { Translate };

/** `label` is shown instead of the id where ids are long. */
export type OrderRow = { order: string; status: string; label?: string };
/** `status` is Pending, Sent, Dead or Discarded. */
export type OutboxRow = {
  message: string; type: string; order: string; status: string; claimedBy?: string | null; tries?: number; label?: string;
};
export type InboxRow = { message: string; order?: string; label?: string };
export type QueuedMessage = {
  message: string; type: string; order?: string; deliveries?: number; unacked?: boolean; label?: string;
};
export type Queue = { queue: string; ready: number; unacked: number | null; messages?: QueuedMessage[] };
/** `status` is Reserved, Released or Rejected. */
export type ReservationRow = { order: string; status: string; label?: string };
/** `again`: more of it was taken than there are reservations. */
export type StockRow = { sku: string; onHand: number; reserved: number; again?: boolean };
export type ParkedRow = { message: string | null; reason: string; label?: string };
export type TextMessage = { order: string; times: number; label?: string };

/** What the databases, the queues and the processes hold at one moment. Lists are in the order of writing. */
export type State = {
  /** By id (`order-service`, `orders-relay`, `orders-relay-2` …): running, killed, held, frozen, restarting, absent … */
  processes: Record<string, string>;
  broker: string;
  orders?: OrderRow[];
  ordersOutbox?: OutboxRow[];
  ordersInbox?: InboxRow[];
  queues?: Queue[];
  inventoryInbox?: InboxRow[];
  reservations?: ReservationRow[];
  stock?: StockRow[];
  inventoryOutbox?: OutboxRow[];
  parked?: ParkedRow[];
  textMessages?: TextMessage[];
};

/** A state, and what only a live shop knows. */
export type Scene = State & {
  counters?: { backlog: number | null; duplicates: number | null; dead: number | null; parked: number | null };
  /** Rows of whole tables by the state's list names, where the lists hold the newest rows alone. */
  totals?: Record<string, number>;
  /** One short line below a process's name, by its id. */
  details?: Record<string, string>;
};

export type Picked = { kind: 'order'; id: string };

/** A row as a card. `key` stays the same as long as the row does; `drawn` changes with what is seen. */
export type Card = {
  key: string; order?: string; message?: string; title: string; tone?: string; words: string; aside: string; name: string; drawn: string;
};
/** Newest first; a queue has a note. */
export type Pile = { cards: Card[]; total: number; note: string };
export type Piles = Record<string, Pile>;

/** The lines that a message took. */
export type Journey = { lines: string[]; label: string };
export type Changes = { appeared: Set<string>; changed: Set<string>; transactions: string[][]; journeys: Journey[] };

export type Box = { x: number; y: number; w: number; h: number };
/** A table or a queue; `most` cards fit. */
export type Slot = Box & { columns: number; most: number };
export type Point = [number, number];
export type Lines = Record<string, Point[]>;
export type Wanted = { twoRelays: boolean; gateway: boolean };
/** `captions`: where a database says how many transactions wrote. */
export type Layout = {
  width: number; height: number; nodes: Record<string, Box>; slots: Record<string, Slot>; exchange: Box; lines: Lines;
  captions: Record<string, Point>;
};
