// The lines of the order form: a SKU out of the live stock, and how many of it.

import { element } from './element.js';

const MOST_LINES = 5;

export function orderLines() {
  const list = /** @type {HTMLOListElement} */ (document.getElementById('order-lines'));
  const add = /** @type {HTMLButtonElement} */ (document.getElementById('add-line'));
  /** @type {string[]} */
  let skus = [];

  add.addEventListener('click', () => {
    addLine().querySelector('select')?.focus();
  });
  addLine();
  return { values, offer };

  function addLine() {
    const line = newLine(removeLine);
    list.append(line);
    setOptions(line, skus, skus[(list.children.length - 1) % skus.length]);
    number();
    return line;
  }

  /** @param {HTMLElement} line */
  function removeLine(line) {
    const neighbour = line.nextElementSibling ?? line.previousElementSibling;
    line.remove();
    number();
    neighbour?.querySelector('select')?.focus();
  }

  /** Gives each line its place: names as the service calls the fields, labels as people count. */
  function number() {
    for (const [at, line] of [...list.children].entries()) {
      const [sku, quantity, remove] = line.querySelectorAll('select, input, button');
      sku.setAttribute('name', `lines[${at}].sku`);
      sku.setAttribute('aria-label', `SKU of line ${at + 1}`);
      quantity.setAttribute('name', `lines[${at}].quantity`);
      quantity.setAttribute('aria-label', `Quantity of line ${at + 1}`);
      remove.setAttribute('aria-label', `Remove line ${at + 1}`);
      /** @type {HTMLButtonElement} */ (remove).hidden = list.children.length === 1;
    }
    add.disabled = list.children.length >= MOST_LINES;
  }

  /** @param {import('./live.js').Table | undefined} stock */
  function offer(stock) {
    const at = stock?.columns.indexOf('sku') ?? -1;
    if (!stock || at < 0) return;
    const offered = stock.rows.map((row) => String(row[at])).sort();
    if (offered.join() === skus.join()) return; // an open list isn't rebuilt under the pointer
    skus = offered;
    for (const line of list.children) setOptions(line, skus);
  }

  function values() {
    return [...list.children].map((line) => {
      const [sku, quantity] = /** @type {NodeListOf<HTMLInputElement>} */ (line.querySelectorAll('select, input'));
      return { sku: sku.value, quantity: quantity.value === '' ? null : Number(quantity.value) };
    });
  }
}

/** @param {(line: HTMLElement) => void} onRemove */
function newLine(onRemove) {
  const remove = element('button', { type: 'button', class: 'quiet' }, 'Remove');
  const line = element('li', {},
    element('select'),
    element('span', { 'aria-hidden': 'true' }, '×'),
    element('input', { type: 'number', min: 1, max: 10000, step: 1, value: 1, inputmode: 'numeric' }),
    remove);
  remove.addEventListener('click', () => onRemove(line));
  return line;
}

/**
 * @param {Element} line
 * @param {string[]} skus
 * @param {string} [preferred]
 */
function setOptions(line, skus, preferred) {
  const select = /** @type {HTMLSelectElement} */ (line.querySelector('select'));
  const chosen = preferred ?? select.value;
  const options = skus.map((sku) => element('option', {}, sku));
  select.replaceChildren(...(options.length > 0 ? options : [element('option', { value: '' }, 'no stock yet')]));
  select.disabled = skus.length === 0;
  if (skus.includes(chosen)) select.value = chosen;
}
