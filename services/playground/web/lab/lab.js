// The lab: choose what is missing and what fails, run it, and replay what happened.

import { element } from '../shop/element.js';
import { button } from './button.js';
import { fromLink, rowOf, same, toLink } from './choice.js';
import { Matrix } from './matrix.js';
import { Replay } from './replay.js';
import { because, FINE, result } from './result.js';
import { followMatrix, readLab, readTrace, run } from './server.js';
import { failures, remedy, setup } from './setup.js';

/** @typedef {import('../shell/shell.js').Context} Context */
/** @typedef {import('./choice.js').Choice} Choice */
/** @typedef {import('./server.js').Trace} Trace */

/** The two mistakes that a newcomer should see first. */
const BEGINNINGS = [
  { key: 'lab.begin', mistakes: ['publish-after-commit'], failure: 'crash-after-commit' },
  { key: 'lab.begin2', mistakes: ['no-inbox'], failure: 'crash-before-mark' },
];

/** @param {HTMLElement} host @param {Context} context */
export function mount(host, context) {
  /** @type {LabView | null} */
  let view = null;
  let isGone = false;
  /** @type {Record<string, string>} */
  let params = {};
  readLab().then((lab) => {
    if (!isGone) view = new LabView(host, context, lab, params);
  }, (/** @type {Error} */ error) => host.append(element('p', { class: 'banner', role: 'alert' }, error.message)));
  return {
    /** @param {{params: Record<string, string>}} state */
    update(state) {
      params = state.params;
      view?.follow(params);
    },
    unmount() {
      isGone = true;
      view?.unmount();
    },
  };
}

class LabView {
  /** @type {Trace | null} */
  #trace = null;
  /** @type {Replay | null} */
  #replay = null;
  #isRunning = false;
  #problem = '';
  #progress = { running: false, done: 0, total: 0 };
  #intro = element('section', { class: 'lab-intro' });
  #setup = element('div');
  #run = element('section', { class: 'card lab-run' });
  #replayed = element('div');

  /** @param {HTMLElement} host @param {Context} context @param {import('./server.js').Lab} lab @param {Record<string, string>} params */
  constructor(host, context, lab, params) {
    this.context = context;
    this.lab = lab;
    this.cells = lab.cells ?? {};
    this.choice = fromLink(params, lab);
    this.matrix = this.#newMatrix();
    host.append(element('div', { class: 'lab' }, this.#intro, element('div', { class: 'lab-top' }, this.#setup, this.#run), this.#replayed, this.matrix.node));
    this.#drawAll();
    const stops = [context.onLanguage(() => this.#translate())];
    if (lab.mode === 'live') stops.push(followMatrix((progress) => this.#onProgress(progress)));
    this.unmount = () => {
      stops.forEach((stop) => stop());
      this.#replay?.destroy();
    };
    this.#readRecorded();
  }

  /** @param {Record<string, string>} params of a link that somebody opened */
  follow(params) {
    const next = fromLink(params, this.lab);
    if (same(next.mistakes, this.choice.mistakes) && next.failure === this.choice.failure) {
      if (next.step !== this.#replay?.at) this.#replay?.show(next.step);
    } else this.#choose(next);
  }

  /** @param {Partial<Choice>} change */
  #choose(change) {
    this.choice = { ...this.choice, step: 0, ...change };
    this.#link();
    this.#drop();
    this.#readRecorded();
  }

  #drop() {
    this.#trace = null;
    this.#problem = '';
    this.#isRunning = false;
    this.#drawAll();
  }

  #link() {
    this.context.go({ view: 'lab', params: toLink(this.choice, this.lab) }, { replace: true });
  }

  /** Shows the trace of the matrix, where there is one. */
  #readRecorded() {
    const row = rowOf(this.choice.mistakes, this.lab);
    if (this.#trace || this.#isRunning || !row || !this.cells[row]?.[this.choice.failure]) return Promise.resolve();
    return this.#take(readTrace(row, this.choice.failure));
  }

  #runNow() {
    this.#drop();
    this.#isRunning = true;
    this.#drawRun();
    return this.#take(run(this.choice.mistakes, this.choice.failure));
  }

  /** @param {Promise<Trace>} coming */
  async #take(coming) {
    const asked = this.choice;
    try {
      const trace = await coming;
      if (asked !== this.choice) return; // somebody went on meanwhile
      this.#trace = trace;
      const { t, announce } = this.context;
      announce([t(`lab.verdict.${trace.verdict}`), ...because(trace, t)].join('. '));
    } catch (error) {
      if (asked !== this.choice) return;
      this.#problem = error instanceof Error ? error.message : String(error);
    }
    this.#isRunning = false;
    this.#drawRun();
    this.#drawReplay();
  }

  /** @param {Partial<Choice>} change */
  async #begin(change) {
    this.#choose(change);
    this.#run.scrollIntoView({ block: 'nearest' });
    if (this.lab.mode === 'live') await this.#runNow();
  }

  #drawAll() {
    this.#drawIntro();
    this.#keepFocus(this.#setup, setup(this.lab, this.choice, this.context.t, (change) => this.#choose(change)));
    this.#drawRun();
    this.#drawReplay();
  }

  #drawIntro() {
    const { t } = this.context;
    const ways = BEGINNINGS.map(({ key, ...change }) => {
      const way = button('', () => this.#begin(change), { class: 'lab-begin', 'data-key': key });
      way.append(element('b', {}, t(key)), element('span', {}, t(`${key}.how`)));
      return way;
    });
    this.#keepFocus(this.#intro, element('div', {}, element('h1', {}, t('lab.title')), element('p', {}, t('lab.lead'))), ...ways);
  }

  #drawRun() {
    const { t } = this.context;
    const parts = [failures(this.lab, this.choice, t, (change) => this.#choose(change))];
    if (this.lab.mode === 'live') {
      const start = button(t('lab.run'), () => this.#isRunning || this.#runNow(), { class: 'primary', 'data-key': 'run', 'aria-disabled': String(this.#isRunning) });
      parts.push(start);
    }
    this.#run.setAttribute('aria-busy', String(this.#isRunning));
    this.#keepFocus(this.#run, ...parts, this.#outcome());
    this.matrix.show(this.cells, { row: rowOf(this.choice.mistakes, this.lab), failure: this.choice.failure });
  }

  #outcome() {
    const { t } = this.context;
    if (this.#isRunning) return element('p', { class: 'lab-busy' }, t('lab.running'));
    if (this.#problem) return element('p', { class: 'banner', role: 'alert' }, t('lab.error', { reason: this.#problem }));
    if (this.#trace) return this.#verdict(this.#trace);
    if (this.lab.mode === 'live') return element('p', { class: 'lab-soft' }, t('lab.idle'));
    return element('div', { class: 'lab-soft' }, element('p', {}, t('lab.recorded')), element('pre', { dir: 'ltr', tabindex: 0 }, 'cargo run'));
  }

  /** @param {Trace} trace */
  #verdict(trace) {
    const { t } = this.context;
    const node = result(trace, t);
    const { mistakes } = this.choice;
    if (mistakes.length > 0 && trace.verdict !== FINE) {
      node.append(button(remedy(this.lab, mistakes, t), () => this.#begin({ mistakes: [] }), { class: 'primary', 'data-key': 'remedy' }));
    }
    return node;
  }

  #drawReplay() {
    this.#replay?.destroy();
    this.#replay = null;
    this.#replayed.replaceChildren();
    if (!this.#trace) return;
    this.#replay = new Replay(this.#trace, this.context, (step) => {
      this.choice.step = step;
      this.#link();
    });
    this.#replayed.append(this.#replay.node);
    this.#replay.show(this.choice.step);
  }

  /** @param {import('./server.js').Progress} progress */
  #onProgress(progress) {
    for (const [row, cells] of Object.entries(progress.cells)) this.cells[row] = { ...this.cells[row], ...cells };
    this.#progress = progress;
    this.matrix.progress(progress);
    this.matrix.show(this.cells, { row: rowOf(this.choice.mistakes, this.lab), failure: this.choice.failure });
    this.#readRecorded();
  }

  #newMatrix() {
    return new Matrix(this.lab, this.context.t, ({ mistakes }, failure) => {
      this.#choose({ mistakes, failure });
      this.#run.scrollIntoView({ block: 'start' });
    });
  }

  #translate() {
    const old = this.matrix.node;
    this.matrix = this.#newMatrix();
    this.matrix.progress(this.#progress);
    old.replaceWith(this.matrix.node);
    this.#drawAll();
  }

  /** Draws anew; what had the focus has it again. @param {HTMLElement} place @param {...Node} nodes */
  #keepFocus(place, ...nodes) {
    const held = place.contains(document.activeElement) ? document.activeElement?.getAttribute('data-key') : null;
    place.replaceChildren(...nodes);
    if (held) /** @type {HTMLElement | null} */ (place.querySelector(`[data-key="${held}"]`))?.focus({ preventScroll: true });
  }
}
