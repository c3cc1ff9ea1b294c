// All rows: which tables, and which columns of each. Their names are those of the databases, in every language.

import { shortId } from '../pipeline/scene.js';
import { button, element } from './element.js';
import { TableView } from './table-view.js';
import { cancelButton } from './timeline.js';
import { CANCELLABLE, id, lines, number, status, text, time } from './values.js';

/** @import { Column, Design, Row, Say, Table, Translate } from './types.js' */

/** @type {(label: string, show: (value: any) => Node | string, kind?: Column['kind']) => (from?: string) => Column} */
const column = (label, show, kind) => (from = label) => ({ label, kind, show: (row) => show(row[from]) });
const order = column('order', id);
const at = (/** @type {string} */ label, /** @type {string} */ from) => column(label, time, 'time')(from);
const count = (/** @type {string} */ label, /** @type {string} */ from = label) => column(label, number, 'number')(from);
const words = (/** @type {string} */ label, /** @type {string} */ from = label) => column(label, text, 'wide')(from);
const type = column('type', text)();
const state = column('status', status)();

/** @type {(title: string) => Design} */
const outbox = (title) => ({ title, key: 'id', columns: [
  count('#', 'id'), type, order('aggregateId'), count('v', 'version'), state, count('tries'),
  at('written', 'occurredOn'), at('sent', 'sentAt'), words('claimed by', 'claimedBy'), words('last error', 'lastError'),
] });
/** @type {(title: string) => Design} */
const inbox = (title) => ({ title, key: 'messageId', columns: [column('message', id)('messageId'), at('processed', 'processedAt')] });

/** @param {Translate} t @param {Say} say @param {(order: string) => void} follow */
export function tables(t, say, follow) {
  const ordered = column('lines', (value) => lines(value, t), 'wide')();
  /** @param {Row} row */
  const actions = (row) => element('div', { class: 'row' },
    button(t('shop.follow'), () => follow(String(row.orderId)), { 'aria-label': t('shop.follow-name', { order: shortId(row.orderId) }) }),
    ...(CANCELLABLE.includes(String(row.status)) ? [cancelButton(t, say, row)] : []));
  /** @type {Record<string, Design>} */
  const designs = {
    orders: { title: 'orders.orders', key: 'orderId', columns: [order('orderId'), state, words('customer', 'customerId'), ordered,
      at('updated', 'updatedAt'), { label: 'action', kind: 'action', show: actions }] },
    ordersOutbox: outbox('orders.outbox_messages'),
    ordersInbox: inbox('orders.inbox_messages'),
    inventoryInbox: inbox('inventory.inbox_messages'),
    reservations: { title: 'inventory.reservations', key: 'orderId', columns: [order('orderId'), state, ordered, at('updated', 'updatedAt')] },
    stock: { title: 'inventory.stock_items', key: 'sku', columns: [words('sku'), count('on hand', 'onHand'), count('reserved'), count('available')] },
    inventoryOutbox: outbox('inventory.outbox_messages'),
    parked: { title: 'parked_messages', key: 'parkedId', columns: [column('consumer', text)(), column('message', id)('messageId'), type,
      column('reason', text)(), words('detail'), at('parked', 'parkedAt'), column('state', text)()] },
  };
  const views = Object.entries(designs).map(([name, design]) => ({ name, view: new TableView(name, design, t) }));
  return {
    parts: views.map(({ view }) => view.root),
    /** @param {Record<string, Table>} shown */
    show: (shown) => views.forEach(({ name, view }) => view.show(shown[name])),
  };
}
