// What the server says, and what the shop's parts tell each other. For the type checker; the page does not load it.

import type { Translate } from '../i18n/i18n.js';

export type { Context, View } from '../shell/shell.js';
export type { Translate };

export type Value = string | number | boolean | null;
export type Table = { total: number; columns: string[]; rows: Value[][] };
/** A row by its columns. */
export type Row = Record<string, Value>;

export type Controllable = { state: string; can?: string[]; command?: string | null };
/** `pid` and `restarts` are there only if the page has started the process itself. */
export type Process = Controllable & {
  id?: string; name: string; url: string; reason?: string; pid?: number | null; restarts?: number;
};
export type Queue = { queue: string; ready: number; unacked?: number | null; consumers: number | null };
export type Counters = {
  ordersBacklog: number | null; inventoryBacklog: number | null; duplicates: number | null; dead: number | null; parked: number | null;
};
export type Snapshot = {
  processes?: Process[]; queues?: Queue[]; tables?: Record<string, Table>; errors?: string[];
  counters?: Counters; broker?: Controllable; lab?: boolean;
};
export type Connection = 'connecting' | 'open' | 'lost';

export type FieldError = { field: string; message: string };
/** `problem` is empty where it is ok. */
export type Answer = { ok: boolean; body: any; problem: string; errors: FieldError[]; attempts: number; status: number };

/** Why an order was refused. */
export type Rejection = { reason: string; shortages: { sku: string; requested: number; available: number }[] };

/** Says what came of an action. */
export type Say = (tone: 'good' | 'bad' | 'wait', words: string, errors?: FieldError[]) => void;

/** One column on the page. It may draw on several columns of the snapshot. */
export type Column = { label: string; show: (row: Row) => Node | string; kind?: 'number' | 'wide' | 'time' | 'action' };
export type Design = { title: string; key: string; columns: Column[] };

/** One entry of a timeline. */
export type Happening = { at: string; what: string; message: string };
export type Letter = { path: string; title: string; word: string; why: string };
export type Draft = { customerId: string; lines: { sku: string; quantity: string }[]; rate: number };
