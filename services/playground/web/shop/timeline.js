// What happened to one order, from the rows that it left behind.

import { shortId } from '../pipeline/scene.js';
import { post } from './api.js';
import { button, element } from './element.js';
import { refusals } from './refusal.js';
import { messageOf, rowsOf } from './scene.js';
import { CANCELLABLE, lines, moment, status, time } from './values.js';

/** @import { Happening, Row, Say, Snapshot, Translate } from './types.js' */

/** @param {Translate} t @param {Say} say */
export function timeline(t, say) {
  const place = element('div', { class: 'timeline', id: 'timeline' });
  const refusal = refusals(t, say);
  let drawn = '';
  let again = () => {};
  return { place, show };

  /** @param {Snapshot} snapshot @param {string | null} orderId */
  function show(snapshot, orderId) {
    again = () => show(snapshot, orderId);
    const order = rowsOf(snapshot, 'orders').find((row) => row.orderId === orderId);
    const events = orderId === null ? [] : eventsOf(snapshot, orderId);
    const why = order?.status === 'Rejected' ? refusal.of(String(orderId), () => again()) : undefined;
    const now = JSON.stringify([orderId, order, events, snapshot.lab, why]);
    if (now === drawn) return;
    drawn = now;
    if (!order) {
      place.replaceChildren(element('p', { class: 'none' }, t(orderId === null ? 'shop.no-order' : 'shop.order-gone')));
      return;
    }
    const focused = /** @type {HTMLElement | null} */ (place.querySelector(':focus'))?.dataset.act;
    place.replaceChildren(head(order), element('ol', {}, ...events.map((event) => entry(event, events[0], Boolean(snapshot.lab), why?.reason))), ...refusal.remedy(why, snapshot));
    if (focused) /** @type {HTMLElement | null} */ (place.querySelector(`[data-act="${focused}"]`))?.focus();
  }

  /** @param {Row} order */
  function head(order) {
    const actions = CANCELLABLE.includes(String(order.status)) ? [cancelButton(t, say, order, 'cancel')] : [];
    return element('div', { class: 'row' }, element('code', { title: String(order.orderId), dir: 'ltr' }, shortId(order.orderId)), status(order.status),
      element('span', { class: 'facts' }, element('bdi', {}, String(order.customerId)), ' · ', lines(order.lines, t)), ...actions);
  }

  /** @param {Happening} event @param {Happening} first @param {boolean} lab @param {string} [reason] */
  function entry({ at, what, message }, first, lab, reason) {
    const told = `shop.event.${what === 'stock-Rejected' && reason ? `stock-${reason}` : what}`;
    const since = moment(at) - moment(first.at);
    const again = lab && message ? [button(t('shop.redeliver'), () => redeliver(message), { 'data-act': message, 'aria-label': t('shop.redeliver-name', { name: shortId(message) }) })] : [];
    return element('li', {}, time(at), element('span', { class: 'facts' }, since > 0 ? t('shop.after', { n: since }) : ''), element('span', {}, t(told)), ...again);
  }

  /** @param {string} message */
  async function redeliver(message) {
    const answer = await post(`api/messages/${encodeURIComponent(message)}/redeliver`, { once: true });
    if (answer.ok) say('wait', t('shop.redelivered'));
    else say('bad', answer.problem);
  }
}

/** @param {Translate} t @param {Say} say @param {Row} order @param {string} [act] */
export function cancelButton(t, say, order, act) {
  const name = shortId(order.orderId);
  return button(t('shop.cancel'), async () => {
    const answer = await post(`api/orders/${encodeURIComponent(String(order.orderId))}/cancel`);
    if (answer.ok) say('wait', t('shop.cancelling', { order: name }));
    else say('bad', answer.problem);
  }, { 'aria-label': t('shop.cancel-name', { order: name }), 'data-act': act ?? null });
}

/** @param {Snapshot} snapshot @param {string} orderId @returns {Happening[]} */
function eventsOf(snapshot, orderId) {
  /** @type {Happening[]} */
  const events = [];
  const add = (/** @type {unknown} */ at, /** @type {string} */ what, /** @type {string} */ message = '') => {
    if (typeof at === 'string') events.push({ at, what, message: message.startsWith('#') ? '' : message });
  };
  /** @param {string} outbox @param {string} inbox @param {string} written @param {string} handled */
  const side = (outbox, inbox, written, handled) => {
    const received = rowsOf(snapshot, inbox);
    for (const row of rowsOf(snapshot, outbox).filter(({ aggregateId }) => aggregateId === orderId).reverse()) {
      add(row.occurredOn, row.type === 'OrderCancelled' ? 'cancelled' : written);
      if (row.status === 'Pending') add(row.occurredOn, row.claimedBy === null ? 'waits' : 'claimed');
      if (row.status === 'Dead') add(row.occurredOn, 'dead');
      add(row.sentAt, `sent-${outbox}`, messageOf(row));
      add(received.find(({ messageId }) => messageId === row.messageId)?.processedAt, handled);
    }
  };
  side('ordersOutbox', 'inventoryInbox', 'placed', 'received');
  for (const row of rowsOf(snapshot, 'reservations').filter((one) => one.orderId === orderId)) add(row.updatedAt, `stock-${row.status}`);
  side('inventoryOutbox', 'ordersInbox', 'replied', 'answered');
  const order = rowsOf(snapshot, 'orders').find((row) => row.orderId === orderId);
  if (order && ['Confirmed', 'Rejected', 'Cancelled'].includes(String(order.status))) add(order.updatedAt, `order-${order.status}`);
  return events.map((event, at) => ({ ...event, order: at })).sort((one, other) => moment(one.at) - moment(other.at) || one.order - other.order);
}
