// A snapshot of the live shop as a scene of the pipeline.

import { shortId } from '../pipeline/scene.js';

/** @import { Process, Row, Snapshot, Translate, Value } from './types.js' */
/** @import { Scene } from '../pipeline/types.js' */

/** Where an older server gives no ids. @type {Record<string, string>} */
const IDS = { 'orders relay': 'orders-relay', 'inventory relay': 'inventory-relay' };

/** @param {Process} process */
export function processId({ id, name }) {
  return id ?? IDS[name] ?? name;
}

/** The rows of a table, newest first. @param {Snapshot} snapshot @param {string} name @returns {Row[]} */
export function rowsOf(snapshot, name) {
  const { columns = [], rows = [] } = snapshot.tables?.[name] ?? {};
  return rows.map((values) => Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null])));
}

/** How calls and other tables name an outbox row. @param {Row} row */
export function messageOf(row) {
  return String(row.messageId ?? `#${row.id}`);
}

/** @param {Snapshot} snapshot @param {Translate} t @returns {Scene} */
export function sceneOf(snapshot, t) {
  /** @param {string} name */
  const rows = (name) => rowsOf(snapshot, name).reverse();
  /** @param {string} name */
  const outbox = (name) => rows(name).map((row) => ({
    message: messageOf(row), label: `#${row.id}`, type: String(row.type), order: String(row.aggregateId), status: String(row.status),
    claimedBy: row.claimedBy === null ? null : 'orders-relay', tries: Number(row.tries) }));
  /** @param {string} name */
  const inbox = (name) => rows(name).map(({ messageId }) => ({ message: String(messageId), label: titleOf(snapshot, messageId) }));
  const processes = snapshot.processes ?? [];
  const { ordersBacklog = null, inventoryBacklog = null, duplicates = null, dead = null, parked = null } = snapshot.counters ?? {};
  const backlog = ordersBacklog === null || inventoryBacklog === null ? null : ordersBacklog + inventoryBacklog;
  return {
    processes: Object.fromEntries(processes.map((process) => [processId(process), process.state])),
    details: Object.fromEntries(processes.map((process) => [processId(process), process.pid ? `pid ${process.pid}` : ''])),
    broker: snapshot.broker?.state ?? 'running',
    orders: rows('orders').map((row) => ({ order: String(row.orderId), label: shortId(row.orderId), status: String(row.status) })),
    ordersOutbox: outbox('ordersOutbox'),
    ordersInbox: inbox('ordersInbox'),
    queues: queues(snapshot),
    inventoryInbox: inbox('inventoryInbox'),
    reservations: rows('reservations').map((row) => ({ order: String(row.orderId), label: shortId(row.orderId), status: String(row.status) })),
    stock: rows('stock').map((row) => ({ sku: String(row.sku), onHand: Number(row.onHand), reserved: Number(row.reserved) })),
    inventoryOutbox: outbox('inventoryOutbox'),
    parked: rows('parked').filter(isParked).map((row) => ({ message: row.messageId === null ? null : String(row.messageId),
      label: row.messageId === null ? t('pipeline.no-id') : shortId(row.messageId), reason: String(row.reason) })),
    totals: { ...Object.fromEntries(Object.entries(snapshot.tables ?? {}).map(([name, { total }]) => [name, total])), ...(parked === null ? {} : { parked }) },
    counters: snapshot.counters && { backlog, duplicates, dead, parked },
  };
}

/** Not yet decided on. @param {Row} row */
export function isParked({ state }) {
  return (state ?? 'Parked').toString().toLowerCase() === 'parked';
}

/** @param {Snapshot} snapshot @param {Value} messageId */
function titleOf(snapshot, messageId) {
  for (const name of ['ordersOutbox', 'inventoryOutbox']) {
    const row = rowsOf(snapshot, name).find((one) => one.messageId === messageId);
    if (row) return `#${row.id} ${row.type}`;
  }
  return shortId(messageId);
}

/** @param {Snapshot} snapshot */
function queues(snapshot) {
  const messages = rowsOf(snapshot, 'queueMessages');
  return (snapshot.queues ?? []).map(({ queue, ready, unacked = null }) => ({
    queue, ready, unacked,
    messages: messages.filter((row) => row.queue === queue).map((row) => ({
      message: String(row.messageId), label: titleOf(snapshot, row.messageId).split(' ')[0], type: String(row.type ?? ''),
      order: row.aggregateId === null ? undefined : String(row.aggregateId),
      deliveries: Number(row.deliveries), unacked: Boolean(row.leased) })),
  }));
}
