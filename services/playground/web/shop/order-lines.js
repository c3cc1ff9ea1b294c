// The lines of the order form: a SKU out of the live stock, and how many of it.

import { element } from './element.js';

/** @import { Table, Translate } from './types.js' */

const MOST_LINES = 5;

/** @param {Translate} t @param {{sku: string, quantity: string}[]} draft */
export function orderLines(t, draft) {
  const list = element('ol', { id: 'order-lines' });
  const add = /** @type {HTMLButtonElement} */ (element('button', { type: 'button', class: 'quiet', id: 'add-line' }, t('shop.add-line')));
  const field = element('fieldset', { class: 'lines' }, element('legend', {}, t('shop.lines')), list, add);
  /** @type {string[]} */
  let skus = [];
  add.addEventListener('click', () => {
    draft.push({ sku: skus[draft.length % skus.length] ?? '', quantity: '1' });
    draw();
    list.lastElementChild?.querySelector('select')?.focus();
  });
  draw();
  return { field, offer, values };

  function draw() {
    list.replaceChildren(...draft.map(line));
    add.disabled = draft.length >= MOST_LINES;
  }

  /** Names as the service calls the fields, labels as people count. @param {{sku: string, quantity: string}} values @param {number} at */
  function line(values, at) {
    const sku = /** @type {HTMLSelectElement} */ (element('select', { name: `lines[${at}].sku`, 'aria-label': t('shop.sku', { n: at + 1 }) },
      ...(skus.length > 0 ? skus : ['']).map((name) => element('option', { value: name }, name || t('shop.no-stock')))));
    if (values.sku === '' && skus.length > 0) values.sku = skus[0];
    sku.value = values.sku;
    sku.disabled = skus.length === 0;
    sku.addEventListener('change', () => { values.sku = sku.value; });
    const quantity = /** @type {HTMLInputElement} */ (element('input', { name: `lines[${at}].quantity`, 'aria-label': t('shop.quantity', { n: at + 1 }),
      type: 'number', min: 1, max: 10000, value: values.quantity, inputmode: 'numeric' }));
    quantity.addEventListener('input', () => { values.quantity = quantity.value; });
    const remove = element('button', { type: 'button', class: 'quiet', 'aria-label': t('shop.remove-line', { n: at + 1 }) }, '×');
    remove.hidden = draft.length === 1;
    remove.addEventListener('click', () => {
      draft.splice(at, 1);
      draw();
      list.children[Math.min(at, draft.length - 1)].querySelector('select')?.focus();
    });
    return element('li', {}, sku, element('span', { 'aria-hidden': 'true' }, '×'), quantity, remove);
  }

  /** @param {Table | undefined} stock */
  function offer(stock) {
    const at = stock?.columns.indexOf('sku') ?? -1;
    if (!stock || at < 0) return;
    const offered = stock.rows.map((row) => String(row[at])).sort();
    if (offered.join() === skus.join()) return; // an open list isn't rebuilt under the pointer
    skus = offered;
    draw();
  }

  function values() {
    return draft.map(({ sku, quantity }) => ({ sku, quantity: quantity === '' ? null : Number(quantity) }));
  }
}
