// Which card stands for which row, in words.

import { BACK, THERE, queueOf, shortId } from './scene.js';

/** @import { Card, OutboxRow, Pile, Queue, QueuedMessage, Scene, Translate } from './types.js' */

/** @type {Record<string, string>} */
const TONES = {
  Placed: 'wait', PendingPublish: 'wait', Pending: 'wait', Published: 'move',
  Confirmed: 'good', Sent: 'good', Reserved: 'good', Rejected: 'bad', Dead: 'bad',
  Cancelling: 'ending', Cancelled: 'ended', Released: 'ended', Discarded: 'ended',
};

/** @param {Scene} scene @param {Translate} t @returns {Record<string, Pile>} */
export function pilesOf(scene, t) {
  const orderNames = new Map(scene.orders?.map((row) => [row.order, row.label ?? row.order]));
  const messages = new Map();
  for (const row of [...scene.ordersOutbox ?? [], ...scene.inventoryOutbox ?? []]) messages.set(row.message, row);
  for (const queue of scene.queues ?? []) {
    for (const row of queue.messages ?? []) if (!messages.has(row.message)) messages.set(row.message, row);
  }
  const nameOf = (/** @type {string | undefined} */ order) => (order === undefined ? '' : orderNames.get(order) ?? shortId(order));
  const titleOf = (/** @type {string} */ message) => messages.get(message)?.label ?? message;

  /** @param {string} list @param {Omit<Card, 'name' | 'drawn' | 'aside'> & {aside?: string}} card @returns {Card} */
  const card = (list, { aside = '', ...rest }) => ({
    ...rest, aside, drawn: [rest.title, rest.words, aside].join('|'),
    name: t('pipeline.card', { title: rest.title, words: rest.words, aside }),
    key: `${list}/${rest.key}`,
  });
  /** @param {string} list @returns {Pile} */
  const orders = (list) => pile(list, (scene.orders ?? []).map((row) => card(list, {
    key: row.order, order: row.order, title: nameOf(row.order), tone: TONES[row.status], words: row.status })));
  /** @param {'ordersOutbox' | 'inventoryOutbox'} list */
  const outbox = (list) => {
    const rows = scene[list] ?? [];
    const cards = rows.map((row) => card(list, {
      key: row.message, message: row.message, order: row.order, title: `${row.label ?? row.message} ${row.type}`,
      tone: TONES[row.status], words: outboxWords(row, t), aside: nameOf(row.order) }));
    const waiting = rows.filter(({ status }) => status === 'Pending' || status === 'Dead').map(({ message }) => `${list}/${message}`);
    const first = cards.filter(({ key }) => waiting.includes(key)); // what needs eyes is never hidden below "more"
    return pile(list, [...cards.filter((one) => !first.includes(one)), ...first]);
  };
  /** @param {'ordersInbox' | 'inventoryInbox'} list */
  const inbox = (list) => pile(list, (scene[list] ?? []).map((row) => card(list, {
    key: row.message, message: row.message, order: row.order ?? messages.get(row.message)?.order, title: row.label ?? titleOf(row.message),
    tone: 'good', words: t('pipeline.handled'), aside: nameOf(row.order ?? messages.get(row.message)?.order) })));
  /** @param {string} list @param {string} name @returns {Pile} */
  const queue = (list, name) => {
    const found = queueOf(scene, name);
    const rows = found?.messages ?? [];
    const cards = rows.map((row, at) => card(list, {
      key: `${row.message}/${nth(rows, at, 'message')}`, message: row.message, order: row.order,
      title: `${row.label ?? titleOf(row.message)} ${row.type}`, tone: row.unacked ? 'move' : 'wait',
      words: queuedWords(row, t), aside: nameOf(row.order ?? messages.get(row.message)?.order) }));
    const note = found === undefined ? '' : queueWords(found, t);
    return { cards: cards.reverse(), total: found ? found.ready + (found.unacked ?? 0) : 0, note };
  };
  /** @param {string} list @param {Card[]} cards oldest first @returns {Pile} */
  function pile(list, cards) {
    return { cards: cards.reverse(), total: scene.totals?.[list] ?? cards.length, note: '' };
  }

  const parked = (scene.parked ?? []).map((row, at) => card('parked', {
    key: `${row.message}/${at}`, title: row.label ?? row.message ?? t('pipeline.no-id'), tone: 'bad', words: row.reason }));
  return {
    orders: orders('orders'),
    ordersOutbox: outbox('ordersOutbox'),
    ordersInbox: inbox('ordersInbox'),
    there: queue('there', THERE),
    back: queue('back', BACK),
    parked: pile('parked', parked),
    inventoryInbox: inbox('inventoryInbox'),
    reservations: pile('reservations', (scene.reservations ?? []).map((row, at) => card('reservations', {
      key: `${row.order}/${nth(scene.reservations ?? [], at, 'order')}`, order: row.order, title: row.label ?? nameOf(row.order), tone: TONES[row.status], words: row.status }))),
    inventoryOutbox: outbox('inventoryOutbox'),
    stock: pile('stock', [...scene.stock ?? []].sort((one, other) => one.reserved - other.reserved).map((row) => card('stock', {
      key: row.sku, title: row.sku, tone: row.again ? 'bad' : undefined, words: t(row.again ? 'pipeline.stock-again' : 'pipeline.stock', { reserved: row.reserved, all: row.onHand }) }))),
    textMessages: pile('textMessages', (scene.textMessages ?? []).map((row) => card('textMessages', {
      key: row.order, order: row.order, title: row.label ?? nameOf(row.order), tone: row.times > 1 ? 'bad' : 'good', words: `× ${row.times}` }))),
  };
}

/**
 * How many rows before this one have the same id: two reservations of one order are two cards.
 * @template {string} Id
 * @param {Record<Id, string>[]} rows @param {number} at @param {Id} id
 */
function nth(rows, at, id) {
  return rows.slice(0, at).filter((row) => row[id] === rows[at][id]).length;
}

/** @param {OutboxRow} row @param {Translate} t */
function outboxWords({ status, claimedBy, tries }, t) {
  if (status === 'Pending' && claimedBy) return t('pipeline.claimed');
  return tries ? `${status} · ${t('pipeline.tries', { n: tries })}` : status;
}

/** @param {QueuedMessage} row @param {Translate} t */
function queuedWords({ unacked, deliveries = 0 }, t) {
  const words = t(unacked ? 'pipeline.unacked' : 'pipeline.ready');
  return deliveries > 1 ? `${words} · × ${deliveries}` : words;
}

/** @param {Queue} queue @param {Translate} t */
function queueWords({ ready, unacked }, t) {
  return unacked === null ? t('pipeline.queue-ready', { ready }) : t('pipeline.queue', { ready, unacked });
}
