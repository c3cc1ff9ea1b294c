// Shows one table. Rows keep their elements from snapshot to snapshot, so that scrolling, focus and
// selections survive, and only what has changed is drawn again.

import { element } from './element.js';

/** @import { Design, Table, Translate, Value } from './types.js' */

/** A region that scrolls must be reachable by keyboard. It is looked at after its layout, when looking costs nothing. */
const sizes = new ResizeObserver((entries) => {
  const places = new Set(entries.map(({ target }) => /** @type {HTMLElement} */ (target.closest('[data-table]'))));
  const seen = [...places].filter(Boolean).map((place) => ({ place, scrolls: place.scrollHeight > place.clientHeight || place.scrollWidth > place.clientWidth }));
  for (const { place, scrolls } of seen) place.tabIndex = scrolls ? 0 : -1;
});

export class TableView {
  /** What is on the page, by key. @type {Map<string, {record: HTMLElement, drawn: string}>} */
  #rows = new Map();
  #body = element('tbody');
  #note = element('p', { class: 'note', dir: 'auto' });
  #count = element('span', { class: 'count' });
  #place;
  #design;
  #t;

  /** @param {string} name @param {Design} design @param {Translate} t */
  constructor(name, design, t) {
    this.#design = design;
    this.#t = t;
    const heads = design.columns.map(({ label, kind }) => element('th', { scope: 'col', class: kind },
      element('span', { class: kind === 'action' ? 'visually-hidden' : null }, label)));
    const table = element('table', { 'aria-labelledby': `h-${name}` }, element('thead', {}, element('tr', {}, ...heads)), this.#body);
    this.#place = element('div', { class: 'rows', 'data-table': name, role: 'region', 'aria-labelledby': `h-${name}`, dir: 'ltr' }, table, this.#note);
    this.root = element('div', { class: 'card' },
      element('header', { class: 'card-head' }, element('h3', { id: `h-${name}`, dir: 'ltr' }, design.title), this.#count), this.#place);
    sizes.observe(this.#place);
    sizes.observe(table);
    this.#say(t('shop.table-waits'));
  }

  /** @param {Table | undefined} table nothing where it can't be read just now */
  show(table) {
    this.#place.classList.toggle('stale', !table);
    if (!table) return this.#say(this.#t('shop.table-unread'));
    const { columns, rows, total } = table;
    write(this.#count, this.#t('shop.rows', { n: total }));
    this.#draw(columns, rows);
    this.#say(rows.length === 0 ? this.#t('shop.table-empty') : rows.length < total ? this.#t('shop.table-part', { n: rows.length, all: total }) : '');
  }

  /** @param {string[]} columns @param {Value[][]} rows */
  #draw(columns, rows) {
    const keyAt = Math.max(0, columns.indexOf(this.#design.key));
    const kept = new Set(rows.map((values) => String(values[keyAt])));
    for (const [key, { record }] of this.#rows) { // first, so that those that stay need not move
      if (kept.has(key)) continue;
      record.remove();
      this.#rows.delete(key);
    }
    let next = this.#body.firstElementChild;
    for (const values of rows) {
      const record = this.#record(String(values[keyAt]), columns, values);
      if (record === next) next = record.nextElementSibling;
      else this.#body.insertBefore(record, next);
    }
  }

  /** @param {string} key @param {string[]} columns @param {Value[]} values */
  #record(key, columns, values) {
    const drawn = JSON.stringify(values);
    const known = this.#rows.get(key);
    if (known?.drawn === drawn) return known.record;
    const record = known?.record ?? element('tr');
    const row = Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null]));
    const hadFocus = record.contains(document.activeElement);
    record.replaceChildren(...this.#design.columns.map(({ show, kind }) => element('td', { class: kind }, show(row))));
    if (hadFocus) (record.querySelector('button') ?? this.#place).focus({ preventScroll: true });
    this.#rows.set(key, { record, drawn });
    return record;
  }

  /** @param {string} words */
  #say(words) {
    write(this.#note, words);
    this.#note.hidden = words === '';
  }
}

/** @param {HTMLElement} place @param {string} words */
function write(place, words) {
  if (place.textContent !== words) place.textContent = words;
}
