// Why an order was refused, and what can be done about it. The tables don't say it; the order's own page does.

import { post } from './api.js';
import { button, element } from './element.js';
import { rowsOf } from './scene.js';

/** @import { Rejection, Say, Snapshot, Translate } from './types.js' */

/** Enough for so many orders like the one that was refused. */
const RESTOCK_FOR = 10;

/** A page that lends no token can't change the stock. */
let mayRestock = true;

/** @param {Translate} t @param {Say} say */
export function refusals(t, say) {
  /** @type {Map<string, Rejection | undefined>} */
  const known = new Map();
  return { of, remedy };

  /** Asks once; what was not known at first is told to `again`. @param {string} order @param {() => void} again */
  function of(order, again) {
    if (!known.has(order)) {
      known.set(order, undefined);
      read(order).then((found) => {
        known.set(order, found);
        again();
      }, () => known.delete(order));
    }
    return known.get(order);
  }

  /** @param {Rejection | undefined} rejection @param {Snapshot} snapshot */
  function remedy(rejection, snapshot) {
    if (rejection?.reason !== 'OutOfStock') return [];
    const more = mayRestock ? rejection.shortages.map(({ sku, requested }) => {
      const offer = button(t('shop.restock', { sku }), async () => {
        await restock(sku, requested, snapshot);
        if (!mayRestock) offer.remove();
      }, { 'data-act': `restock-${sku}` });
      return offer;
    }) : [];
    return [element('div', { class: 'row' }, element('p', { class: 'say', 'data-tone': 'good' }, t('shop.sold-out')), ...more)];
  }

  /** @param {string} sku @param {number} requested @param {Snapshot} snapshot */
  async function restock(sku, requested, snapshot) {
    const row = rowsOf(snapshot, 'stock').find((item) => item.sku === sku);
    const onHand = Number(row?.reserved ?? 0) + RESTOCK_FOR * requested;
    const answer = await post(`api/stock/${encodeURIComponent(sku)}`, { method: 'PUT', body: { onHand }, once: true });
    mayRestock = answer.status !== 401;
    if (answer.ok) say('good', t('shop.restocked', { sku, n: onHand }));
    else say('bad', answer.problem);
  }
}

/** @param {string} order @returns {Promise<Rejection | undefined>} */
async function read(order) {
  const response = await fetch(`api/orders/${encodeURIComponent(order)}`);
  if (!response.ok) throw new Error(String(response.status));
  return (await response.json()).rejection ?? undefined;
}
