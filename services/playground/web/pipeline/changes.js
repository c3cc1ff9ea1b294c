// What is different from the scene before: new and changed rows, what one transaction wrote, and which messages moved.

/** @import { Card, Changes, Journey, Piles } from './types.js' */

const INVENTORY = ['inventoryInbox', 'reservations', 'stock', 'inventoryOutbox'];

/** @param {Piles} before @param {Piles} after @param {string} relay whose relay published @returns {Changes} */
export function changesBetween(before, after, relay) {
  const known = new Map(all(before).map((card) => [card.key, card.drawn]));
  const cards = all(after);
  const appeared = new Set(cards.filter(({ key }) => !known.has(key)).map(({ key }) => key));
  const changed = new Set(cards.filter(({ key, drawn }) => known.has(key) && known.get(key) !== drawn).map(({ key }) => key));
  const isNew = (/** @type {Card} */ { key }) => appeared.has(key);
  const touched = (/** @type {Card} */ { key }) => appeared.has(key) || changed.has(key);
  return {
    appeared, changed,
    transactions: [...ordersTransactions(after, isNew, touched), ...inventoryTransactions(after, isNew, touched)],
    journeys: journeys(before, after, appeared, relay),
  };
}

/**
 * A new message belongs to its order's row; a reply in the inbox to the order whose status it changed.
 * @param {Piles} piles @param {(card: Card) => boolean} isNew @param {(card: Card) => boolean} touched
 */
function ordersTransactions(piles, isNew, touched) {
  const written = piles.ordersOutbox.cards.filter(isNew);
  const received = piles.ordersInbox.cards.filter(isNew);
  const orders = piles.orders.cards.filter(touched);
  return orders.map((order) => {
    const messages = written.filter((card) => card.order === order.order);
    const replies = isNew(order) ? [] : received.filter((card) => card.order === order.order);
    return [order, ...(messages.length > 0 ? messages : replies)].map(({ key }) => key);
  }).filter((keys) => keys.length > 1);
}

/** @param {Piles} piles @param {(card: Card) => boolean} isNew @param {(card: Card) => boolean} touched */
function inventoryTransactions(piles, isNew, touched) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const list of INVENTORY) {
    const counts = list === 'reservations' ? touched : isNew;
    for (const card of piles[list].cards.filter(counts)) {
      const order = card.order ?? '';
      if (list !== 'stock') groups.set(order, [...groups.get(order) ?? [], card.key]);
    }
  }
  const stock = piles.stock.cards.filter(touched).map(({ key }) => key);
  const found = [...groups.values()];
  if (found.length === 1) found[0].push(...stock); // with several, nobody knows whose stock it was
  return found.filter((keys) => keys.length > 1);
}

/** @param {Piles} before @param {Piles} after @param {Set<string>} appeared @param {string} relay */
function journeys(before, after, appeared, relay) {
  const isNew = (/** @type {Card} */ { key }) => appeared.has(key);
  const second = relay === 'orders-relay-2' ? '-2' : '';
  return [
    ...after.orders.cards.filter(isNew).map(({ title }) => ({ lines: ['request'], label: title })),
    ...oneWay(before, after, 'there', 'inventoryInbox', isNew, [`claim${second}`, `publish${second}`, 'route'], 'deliver'),
    ...oneWay(before, after, 'back', 'ordersInbox', isNew, ['claimBack', 'publishBack', 'routeBack'], 'deliverBack'),
    ...after.textMessages.cards.filter(({ key, drawn }) => before.textMessages.cards.find((card) => card.key === key)?.drawn !== drawn)
      .map(({ title }) => ({ lines: ['text'], label: title })),
  ];
}

/**
 * @param {Piles} before @param {Piles} after @param {string} queue @param {string} inbox
 * @param {(card: Card) => boolean} isNew @param {string[]} toQueue @param {string} toInbox
 */
function oneWay(before, after, queue, inbox, isNew, toQueue, toInbox) {
  const has = (/** @type {Piles} */ piles, /** @type {string} */ list, /** @type {string | undefined} */ message) =>
    piles[list].cards.some((card) => card.message === message);
  /** @type {Journey[]} */
  const found = [];
  for (const { message, title } of after[queue].cards) {
    if (!has(before, queue, message)) found.push({ lines: toQueue, label: title.split(' ')[0] });
  }
  for (const { message, title } of after[inbox].cards.filter(isNew)) {
    const wasQueued = has(before, queue, message) || has(after, queue, message);
    found.push({ lines: wasQueued ? [toInbox] : [...toQueue, toInbox], label: title.split(' ')[0] });
  }
  for (const { message, title } of before[queue].cards) { // a copy that the inbox knew
    if (!has(after, queue, message) && has(before, inbox, message)) found.push({ lines: [toInbox], label: title.split(' ')[0] });
  }
  return found;
}

/** @param {Piles} piles */
function all(piles) {
  return Object.values(piles).flatMap(({ cards }) => cards);
}
