// Every mistake against every failure.

import { element } from '../shop/element.js';
import { button, heading } from './button.js';
import { runAll } from './server.js';

/**
 * @typedef {import('./server.js').Lab} Lab
 * @typedef {import('./server.js').Cells} Cells
 */

export class Matrix {
  /** @type {HTMLElement[][]} */
  #cells = [];
  #focus = [0, 0];
  #label = element('p', {});
  #bar = element('progress', { value: 0, max: 1 });
  #differ = element('p', { class: 'lab-differ', hidden: '' });

  /**
   * @param {Lab} lab
   * @param {import('../i18n/i18n.js').Translate} t
   * @param {(row: import('./server.js').Row, failure: string) => void} pick
   */
  constructor(lab, t, pick) {
    this.lab = lab;
    this.t = t;
    this.pick = pick;
    this.run = button(t('lab.runAll'), () => this.#start('POST'), { class: 'primary' });
    this.stop = button(t('lab.stop'), () => this.#start('DELETE'));
    this.#bar.setAttribute('aria-label', t('lab.matrix'));
    const controls = element('div', { class: 'lab-run-all' }, this.run, this.stop, this.#bar, this.#label, this.#differ);
    if (lab.mode === 'export') controls.replaceChildren(this.#differ);
    this.node = element('section', { class: 'card lab-matrix', 'aria-labelledby': 'lab-matrix' },
      heading('lab.matrix', t, 'lab-matrix'), controls, element('div', { class: 'lab-scroll' }, this.#table()));
  }

  /** @param {'POST' | 'DELETE'} method */
  #start(method) {
    runAll(method).catch((/** @type {Error} */ error) => { this.#label.textContent = this.t('lab.error', { reason: error.message }); });
  }

  #table() {
    const { lab, t } = this;
    const heads = lab.failures.map(({ id }) => element('th', { scope: 'col', title: t(`lab.failure.${id}.how`) }, t(`lab.failure.${id}`)));
    const corner = element('th', { scope: 'col' }, t('lab.mistakes'));
    const rows = lab.rows.map((row, down) => {
      this.#cells[down] = lab.failures.map((_, across) => this.#cell(down, across));
      return element('tr', {}, element('th', { scope: 'row' }, this.#rowName(row)), ...this.#cells[down]);
    });
    const table = element('table', { role: 'grid', 'aria-labelledby': 'lab-matrix' },
      element('thead', {}, element('tr', {}, corner, ...heads)), element('tbody', {}, ...rows));
    table.addEventListener('keydown', (event) => this.#key(event));
    return table;
  }

  /** @param {import('./server.js').Row} row */
  #rowName({ id }) {
    return this.t(`lab.${this.lab.presets.some((preset) => preset.id === id) ? 'preset' : 'mistake'}.${id}`);
  }

  /** @param {number} down @param {number} across */
  #cell(down, across) {
    const cell = element('td', { role: 'gridcell', tabindex: down + across === 0 ? 0 : -1 }, '·');
    cell.addEventListener('click', () => {
      this.#go(down, across);
      this.pick(this.lab.rows[down], this.lab.failures[across].id);
    });
    return cell;
  }

  /** @param {Cells} cells @param {{row?: string, failure: string}} shown */
  show(cells, shown) {
    let differ = 0;
    this.lab.rows.forEach((row, down) => this.lab.failures.forEach(({ id }, across) => {
      const verdict = cells[row.id]?.[id]?.verdict;
      const expected = this.lab.expected[row.id]?.[id];
      const differs = Boolean(verdict && expected && verdict !== expected);
      if (differs) differ += 1;
      this.#draw(this.#cells[down][across], `${this.#rowName(row)}, ${this.t(`lab.failure.${id}`)}`, verdict, differs ? expected : undefined);
      this.#cells[down][across].setAttribute('aria-selected', String(row.id === shown.row && id === shown.failure));
    }));
    this.#differ.hidden = differ === 0;
    this.#differ.textContent = this.t('lab.differ', { n: differ });
  }

  /** @param {HTMLElement} cell @param {string} place @param {string | undefined} verdict @param {string | undefined} expected */
  #draw(cell, place, verdict, expected) {
    const { t } = this;
    const words = verdict ? t(`lab.verdict.${verdict}`) : t('lab.notRun');
    const more = expected ? ` (${t('lab.expected', { verdict: t(`lab.verdict.${expected}`) })})` : '';
    const name = `${place}: ${words}${more}`;
    if (cell.title === name) return;
    cell.title = name;
    cell.setAttribute('aria-label', name);
    cell.textContent = verdict ? `${t(`lab.short.${verdict}`)}${expected ? ' ≠' : ''}` : '·';
    cell.classList.toggle('differs', Boolean(expected));
    if (verdict) cell.dataset.verdict = verdict;
  }

  /** @param {{running: boolean, done: number, total: number}} progress */
  progress({ running, done, total }) {
    this.run.hidden = running;
    this.stop.hidden = !running;
    this.#bar.setAttribute('max', String(total));
    this.#bar.setAttribute('value', String(done));
    this.#label.textContent = this.t('lab.progress', { done, total });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const onward = document.documentElement.dir === 'rtl' ? -1 : 1;
    const [down, across] = this.#focus;
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowDown: [down + 1, across], ArrowUp: [down - 1, across], ArrowRight: [down, across + onward], ArrowLeft: [down, across - onward],
      Home: [down, 0], End: [down, this.lab.failures.length - 1],
    };
    if (event.key in moves) this.#go(...moves[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') this.#cells[down][across].click();
    else return;
    event.preventDefault();
  }

  /** @param {number} down @param {number} across */
  #go(down, across) {
    const cell = this.#cells[down]?.[across];
    if (!cell) return;
    const [oldDown, oldAcross] = this.#focus;
    this.#cells[oldDown][oldAcross].tabIndex = -1;
    this.#focus = [down, across];
    cell.tabIndex = 0;
    cell.focus();
  }
}
