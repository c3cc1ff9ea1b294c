// Which tables the page shows, and which columns of each.

import { cancelButton } from './cancel.js';
import { element } from './element.js';
import { TableView } from './table-view.js';
import { id, number, status, text, time } from './values.js';

/**
 * One column on the page. It may draw on several columns of the snapshot.
 *
 * @typedef {Record<string, import('./live.js').Value>} Row
 * @typedef {{label: string, show: (row: Row) => Node | string, kind?: 'number' | 'wide' | 'prose' | 'time' | 'action'}} Column
 * @typedef {{key: string, empty: string, columns: Column[], under?: (row: Row) => Node | null}} Design
 */

/** @type {(empty: string) => Design} */
const outbox = (empty) => ({
  key: 'id',
  empty,
  under: claimAndError,
  columns: [
    { label: '#', show: (row) => number(row.id), kind: 'number' },
    { label: 'type', show: (row) => text(row.type) },
    { label: 'order', show: (row) => id(row.aggregateId) },
    { label: 'v', show: (row) => number(row.version), kind: 'number' },
    { label: 'status', show: (row) => status(row.status) },
    { label: 'tries', show: (row) => number(row.tries), kind: 'number' },
    { label: 'written', show: (row) => time(row.occurredOn), kind: 'time' },
    { label: 'sent', show: (row) => time(row.sentAt), kind: 'time' },
  ],
});

/** @type {(empty: string) => Design} */
const inbox = (empty) => ({
  key: 'messageId',
  empty,
  columns: [
    { label: 'message', show: (row) => id(row.messageId), kind: 'wide' },
    { label: 'processed', show: (row) => time(row.processedAt), kind: 'time' },
  ],
});

/** @type {Record<string, Design>} */
const DESIGNS = {
  orders: {
    key: 'orderId',
    empty: 'No orders yet. Place one above.',
    columns: [
      { label: 'order', show: (row) => id(row.orderId) },
      { label: 'status', show: (row) => status(row.status) },
      { label: 'customer', show: (row) => text(row.customerId), kind: 'wide' },
      { label: 'lines', show: orderLines, kind: 'wide' },
      { label: 'updated', show: (row) => time(row.updatedAt), kind: 'time' },
      { label: 'action', show: cancelButton, kind: 'action' },
    ],
  },
  ordersOutbox: outbox('No messages yet. An order writes the first one.'),
  inventoryOutbox: outbox('No replies yet.'),
  ordersInbox: inbox('No reply has arrived yet.'),
  inventoryInbox: inbox('No message has arrived yet.'),
  stock: {
    key: 'sku',
    empty: 'No stock yet. It is seeded at the first start.',
    columns: [
      { label: 'sku', show: (row) => element('code', {}, text(row.sku)), kind: 'wide' },
      { label: 'on hand', show: (row) => number(row.onHand), kind: 'number' },
      { label: 'reserved', show: (row) => number(row.reserved), kind: 'number' },
      { label: 'available', show: (row) => number(row.available), kind: 'number' },
    ],
  },
  reservations: {
    key: 'orderId',
    empty: 'Nothing is reserved yet.',
    columns: [
      { label: 'order', show: (row) => id(row.orderId) },
      { label: 'status', show: (row) => status(row.status) },
      { label: 'lines', show: orderLines, kind: 'wide' },
      { label: 'updated', show: (row) => time(row.updatedAt), kind: 'time' },
    ],
  },
  parked: {
    key: 'parkedId',
    empty: 'Nothing is parked.',
    columns: [
      { label: 'consumer', show: (row) => text(row.consumer ?? row.service ?? null) },
      { label: 'message', show: (row) => id(row.messageId) },
      { label: 'type', show: (row) => text(row.type) },
      { label: 'reason', show: (row) => text(row.reason) },
      { label: 'detail', show: (row) => text(row.detail), kind: 'prose' },
      { label: 'parked', show: (row) => time(row.parkedAt), kind: 'time' },
    ],
  },
};

/** @type {Map<string, TableView>} */
const views = new Map();
for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-table]'))) {
  const name = place.dataset.table ?? '';
  const count = /** @type {HTMLElement} */ (document.querySelector(`[data-count="${name}"]`));
  views.set(name, new TableView(place, count, DESIGNS[name]));
}
const parked = /** @type {HTMLElement} */ (document.getElementById('parked'));

/** @param {Record<string, import('./live.js').Table>} tables */
export function showTables(tables) {
  if (tables.parked) parked.hidden = tables.parked.total === 0;
  for (const [name, view] of views) view.show(tables[name]);
}

/** Who works on the row, and what went wrong the last time. @param {Row} row */
function claimAndError({ status, claimedBy, lastError }) {
  if (status === 'Sent') return null;
  const parts = [];
  if (claimedBy !== null && status === 'Pending') parts.push(element('p', {}, `Claimed by ${claimedBy}.`));
  if (lastError !== null) parts.push(element('p', { class: 'error' }, String(lastError)));
  return parts.length > 0 ? element('div', {}, ...parts) : null;
}

/** Breaks between the lines of an order, never inside one. @param {Row} row */
function orderLines(row) {
  const lines = String(row.lines ?? '').split(', ');
  return element('div', { class: 'items' }, ...lines.flatMap((line, at) => {
    const last = at === lines.length - 1;
    return [element('span', {}, last ? line : `${line},`), last ? '' : ' '];
  }));
}
