// Shows one table. Rows keep their elements from snapshot to snapshot, so that scrolling, focus and
// selections survive, and only what has changed is drawn again.

import { element } from './element.js';
import { highlight, unmark } from './highlight.js';
import { counted } from './values.js';

/** Looks at places only after their layout, when looking costs nothing. */
const sizes = new ResizeObserver((entries) => {
  const places = new Set(entries.map(({ target }) => /** @type {HTMLElement} */ (target.closest('[data-table]'))));
  const seen = [...places].map((place) => ({ place, stop: scrolls(place) ? 0 : -1 }));
  for (const { place, stop } of seen) place.tabIndex = stop;
});

export class TableView {
  /** What is on the page, by key: each record is a `tbody`. @type {Map<string, {record: HTMLElement, drawn: string}>} */
  #rows = new Map();
  #note = element('p', { class: 'note' });
  #table;
  #wasShown = false;

  /**
   * @param {HTMLElement} place
   * @param {HTMLElement} count where the number of all rows goes
   * @param {import('./tables.js').Design} design
   */
  constructor(place, count, design) {
    this.place = place;
    this.count = count;
    this.design = design;
    const heads = design.columns.map(({ label, kind }) =>
      element('th', { scope: 'col', class: kind },
        element('span', { class: kind === 'action' ? 'visually-hidden' : null }, label)));
    this.#table = /** @type {HTMLTableElement} */ (element('table', { 'aria-labelledby': place.getAttribute('aria-labelledby') },
      element('thead', {}, element('tr', {}, ...heads))));
    place.append(this.#table, this.#note);
    // A region that scrolls must be reachable by keyboard; the others need no stop.
    for (const part of [place, this.#table, this.#note]) sizes.observe(part);
    this.#say('Waiting for the first look at this table.');
  }

  /** @param {import('./live.js').Table | undefined} table nothing where it can't be read just now */
  show(table) {
    this.place.classList.toggle('stale', !table);
    if (!table) return this.#say(this.#wasShown ? 'Can’t be read just now; this is what was last seen.' : 'Can’t be read yet.');
    write(this.count, counted(table.total, 'row'));
    this.#draw(table);
    this.#say(noteUnder(table, this.design.empty));
    this.#wasShown = true;
  }

  /** @param {import('./live.js').Table} table */
  #draw({ columns, rows }) {
    const keyAt = Math.max(0, columns.indexOf(this.design.key));
    this.#drop(new Set(rows.map((values) => String(values[keyAt]))));
    /** @type {HTMLElement[]} */
    const changed = [];
    let next = /** @type {Element} */ (this.#table.tHead).nextElementSibling;
    for (const values of rows) {
      const record = this.#record(String(values[keyAt]), columns, values, changed);
      if (record === next) next = record.nextElementSibling;
      else this.#table.insertBefore(record, next);
    }
    if (this.#wasShown) highlight(...changed);
  }

  /** Lets go of the rows that are no longer there: first, so that those that stay need not move. @param {Set<string>} kept */
  #drop(kept) {
    for (const [key, { record }] of this.#rows) {
      if (kept.has(key)) continue;
      unmark(record);
      record.remove();
      this.#rows.delete(key);
    }
  }

  /**
   * @param {string} key
   * @param {string[]} columns
   * @param {import('./live.js').Value[]} values
   * @param {HTMLElement[]} changed takes the record if it had to be drawn
   */
  #record(key, columns, values, changed) {
    const drawn = JSON.stringify(values);
    const known = this.#rows.get(key);
    if (known?.drawn === drawn) return known.record;
    const record = known?.record ?? element('tbody');
    this.#rows.set(key, { record, drawn });
    this.#fill(record, Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null])));
    changed.push(record);
    return record;
  }

  /**
   * @param {HTMLElement} record
   * @param {import('./tables.js').Row} values
   */
  #fill(record, values) {
    const hadFocus = record.contains(document.activeElement);
    const cells = this.design.columns.map(({ show, kind }) => element('td', { class: kind }, show(values)));
    record.replaceChildren(element('tr', {}, ...cells));
    const under = this.design.under?.(values);
    if (under) record.append(element('tr', {}, element('td', { colspan: cells.length, class: 'under' }, under)));
    if (hadFocus) (record.querySelector('button') ?? this.place).focus({ preventScroll: true });
  }

  /** @param {string} words */
  #say(words) {
    write(this.#note, words);
    this.#note.hidden = words === '';
    this.#table.hidden = this.#rows.size === 0;
  }
}

/**
 * @param {import('./live.js').Table} table
 * @param {string} empty
 */
function noteUnder({ total, rows }, empty) {
  if (rows.length === 0) return empty;
  return rows.length < total ? `Showing ${rows.length} of ${counted(total, 'row')}.` : '';
}

/**
 * @param {HTMLElement} place
 * @param {string} words
 */
function write(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

/** @param {HTMLElement} place */
function scrolls(place) {
  return place.scrollHeight > place.clientHeight || place.scrollWidth > place.clientWidth;
}
