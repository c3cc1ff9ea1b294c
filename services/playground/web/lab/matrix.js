// Every mistake against every failure.

import { element } from '../shop/element.js';
import { button, card } from './parts.js';
import { runAll } from './server.js';

/** @import { Cells, Lab, Progress, Row, Translate } from './types.js' */

export class Matrix {
  #focus = [0, 0];
  #label = element('p');
  #bar = element('progress');
  #differ = element('p', { class: 'lab-differ' });

  /** @param {Lab} lab @param {Translate} t @param {(row: Row, failure: string) => void} pick */
  constructor(lab, t, pick) {
    this.lab = lab;
    this.t = t;
    this.pick = pick;
    this.run = button(t('lab.runAll'), () => this.#ask('POST'), { class: 'primary' });
    this.stop = button(t('lab.stop'), () => this.#ask('DELETE'));
    this.#bar.ariaLabel = t('lab.runAll');
    this.cells = lab.rows.map((_, down) => lab.failures.map((_, across) => this.#cell(down, across)));
    const controls = lab.mode === 'live' ? [this.run, this.stop, this.#bar, this.#label] : [];
    this.node = card('matrix', t, element('div', { class: 'lab-run-all' }, ...controls, this.#differ), element('div', { class: 'lab-scroll' }, this.#table()),
      element('div', { class: 'lab-notes lab-soft' }, element('p', {}, t('lab.note.void')), element('p', {}, t('lab.note.claim'))));
  }

  /** @param {'POST' | 'DELETE'} method */
  #ask(method) {
    runAll(method).catch(({ message }) => { this.#label.textContent = this.t('lab.error', { reason: message }); });
  }

  #table() {
    const { lab, t, cells } = this;
    const heads = lab.failures.map(({ id }) => element('th', { scope: 'col', title: t(`lab.failure.${id}.how`) }, t(`lab.failure.${id}`)));
    const rows = lab.rows.map((row, down) => element('tr', {}, element('th', { scope: 'row' }, this.#name(row)), ...cells[down]));
    const table = element('table', { role: 'grid', 'aria-labelledby': 'lab-matrix' },
      element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, t('lab.mistakes')), ...heads)), element('tbody', {}, ...rows));
    table.addEventListener('keydown', (event) => this.#key(event));
    return table;
  }

  /** @param {Row} row */
  #name({ id, mistakes }) {
    if (this.lab.presets.some((preset) => preset.id === id)) return this.t(`lab.preset.${id}`);
    return mistakes.map((mistake) => this.t(`lab.mistake.${mistake}`)).join(' + ');
  }

  /** @param {number} down @param {number} across */
  #cell(down, across) {
    const cell = element('td', { role: 'gridcell', tabindex: down + across === 0 ? 0 : -1 });
    cell.addEventListener('click', () => {
      this.#go(down, across);
      this.pick(this.lab.rows[down], this.lab.failures[across].id);
    });
    return cell;
  }

  /** @param {Cells} cells @param {string | undefined} shownRow @param {string} shownFailure */
  show(cells, shownRow, shownFailure) {
    let n = 0;
    this.lab.rows.forEach((row, down) => this.lab.failures.forEach(({ id }, across) => {
      const cell = this.cells[down][across];
      const verdict = cells[row.id]?.[id]?.verdict;
      const expected = this.lab.expected[row.id]?.[id] ?? verdict;
      if (verdict && verdict !== expected) n += 1;
      cell.ariaSelected = String(row.id === shownRow && id === shownFailure);
      this.#draw(cell, `${this.#name(row)}, ${this.t(`lab.failure.${id}`)}`, verdict, expected);
    }));
    this.#differ.textContent = n ? this.t('lab.differ', { n }) : '';
  }

  /** @param {HTMLElement} cell @param {string} place @param {string} [verdict] @param {string} [expected] */
  #draw(cell, place, verdict, expected) {
    const { t } = this;
    const differs = verdict && verdict !== expected;
    const more = differs ? ` (${t('lab.expected', { verdict: t(`lab.verdict.${expected}`) })})` : '';
    const word = verdict ? t(`lab.short.${verdict}`) : '·';
    const name = `${word} – ${place}: ${verdict ? t(`lab.verdict.${verdict}`) : t('lab.notRun')}${more}`;
    if (cell.title === name) return;
    cell.title = cell.ariaLabel = name;
    cell.textContent = `${word}${differs ? ' ≠' : ''}`;
    cell.dataset.verdict = verdict ?? '';
  }

  /** @param {Progress} progress */
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
    else if (event.key === 'Enter' || event.key === ' ') this.cells[down][across].click();
    else return;
    event.preventDefault();
  }

  /** @param {number} down @param {number} across */
  #go(down, across) {
    const next = this.cells[down]?.[across];
    if (!next) return;
    this.cells[this.#focus[0]][this.#focus[1]].tabIndex = -1;
    this.#focus = [down, across];
    next.tabIndex = 0;
    next.focus();
  }
}
