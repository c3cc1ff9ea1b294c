// The lab: choose what is missing and what fails, run it, and replay what happened.

import { element } from '../shop/element.js';
import { DOUBLE, fromLink, LOSE, rowOf, same, toLink } from './choice.js';
import { Matrix } from './matrix.js';
import { button } from './parts.js';
import { Replay } from './replay.js';
import { because, command, FINE, result } from './result.js';
import { followMatrix, readLab, readTrace, run } from './server.js';
import { failures, remedy, setup } from './setup.js';
import { SourcePanel } from './source.js';

/** @import { Choice, Context, Lab, Progress, Source, Trace } from './types.js' */

const BEGINNINGS = [{ key: 'lab.begin', ...LOSE }, { key: 'lab.begin2', ...DOUBLE }];

/** What has run since the page was opened: who comes back to it sees it again. @type {Map<string, Trace>} */
const ran = new Map();

/** @param {HTMLElement} host @param {Context} context */
export function mount(host, context) {
  /** @type {LabView | undefined} */
  let view;
  let isGone = false;
  /** @type {Record<string, string>} */
  let params = {};
  readLab().then(
    (lab) => { if (!isGone) view = new LabView(host, context, lab, params); },
    ({ message }) => host.append(element('p', { class: 'banner', role: 'alert' }, context.t('lab.absent', { reason: message }))),
  );
  return {
    update(/** @type {{params: Record<string, string>}} */ state) {
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
  /** @type {Trace | undefined} */
  #trace;
  /** @type {Replay | undefined} */
  #replay;
  #isWaiting = false;
  #problem = '';
  /** @type {Progress} */
  #progress = { running: false, done: 0, total: 1, cells: {} };
  #intro = element('section', { class: 'lab-intro' });
  #setup = element('div');
  #run = element('section', { class: 'card lab-run' });
  #replayed = element('div');
  /** @param {Source} source */
  #open = (source) => this.source.open(source);

  /** @param {HTMLElement} host @param {Context} context @param {Lab} lab @param {Record<string, string>} params */
  constructor(host, context, lab, params) {
    this.context = context;
    this.lab = lab;
    this.cells = lab.cells ?? {};
    this.choice = fromLink(params, lab);
    this.matrix = this.#newMatrix();
    this.source = new SourcePanel(context.t);
    host.append(element('div', { class: 'lab' }, this.#intro, element('div', { class: 'lab-top' }, this.#setup, this.#run), this.#replayed, this.matrix.node, this.source.node));
    this.#draw();
    const stops = [context.onLanguage(() => this.#translate())];
    if (lab.mode === 'live') stops.push(followMatrix((progress) => this.#onProgress(progress)));
    this.unmount = () => {
      stops.forEach((stop) => stop());
      this.#replay?.destroy();
    };
    if (params.run) this.#runNow({}, true);
    else this.#readRecorded();
  }

  /** Of a link that somebody opened. @param {Record<string, string>} params */
  follow(params) {
    const next = fromLink(params, this.lab);
    if (params.run) this.#runNow(next, true);
    else if (!same(next.mistakes, this.choice.mistakes) || next.failure !== this.choice.failure) this.#choose(next, true);
    else if (next.step !== this.#replay?.at) this.#replay?.show(next.step);
  }

  /** @param {Partial<Choice>} change @param {boolean} [isLinked] */
  #choose(change, isLinked) {
    this.#set(change, isLinked);
    this.#readRecorded();
  }

  /** Each run is a step of the browser's history; what is tried out on the way to one is none. @param {Partial<Choice>} change @param {boolean} [isLinked] */
  #set(change, isLinked = false) {
    const replace = isLinked || !this.#trace;
    this.choice = { ...this.choice, step: 0, ...change };
    this.#isWaiting = false;
    this.#trace = undefined;
    this.#problem = '';
    this.#link(replace);
    this.#draw();
  }

  #link(replace = true) {
    this.context.go({ view: 'lab', params: toLink(this.choice, this.lab) }, { replace });
  }

  /** Shows what ran before, here or in the matrix. */
  #readRecorded() {
    const { failure } = this.choice;
    const known = ran.get(keyOf(this.choice));
    if (known && !this.#trace && !this.#isWaiting) return this.#take(Promise.resolve(known));
    const row = rowOf(this.choice.mistakes, this.lab);
    if (this.#trace || this.#isWaiting || !row || !this.cells[row]?.[failure]) return undefined;
    // It may be gone: the cells are run anew, or the server was.
    return this.#take(readTrace(row, failure).catch(() => void delete this.cells[row][failure]));
  }

  /** @param {Partial<Choice>} [change] @param {boolean} [isLinked] */
  async #runNow(change, isLinked) {
    this.#set({ step: this.#trace ? 0 : this.choice.step, ...change }, isLinked);
    this.#run.scrollIntoView({ block: 'nearest' });
    if (this.lab.mode === 'live') await this.#take(run(this.choice.mistakes, this.choice.failure));
    else await this.#readRecorded();
    this.#run.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }

  /** @param {Promise<Trace | void>} coming */
  async #take(coming) {
    const asked = this.choice;
    const { t, announce } = this.context;
    this.#isWaiting = true;
    this.#drawRun();
    const trace = await coming.catch(({ message }) => { this.#problem = message; });
    if (asked !== this.choice) return; // somebody went on meanwhile
    this.#isWaiting = false;
    if (trace) announce([t(`lab.verdict.${trace.verdict}`), ...because(trace, t)].join('. '));
    this.#trace = trace ?? undefined;
    if (trace) ran.set(keyOf(asked), trace);
    this.#drawRun();
    this.#drawReplay();
  }

  #draw() {
    this.#drawIntro();
    redraw(this.#setup, setup(this.lab, this.choice, this.context.t, (change) => this.#choose(change), this.#open));
    this.#drawRun();
    this.#drawReplay();
  }

  #drawIntro() {
    const { t } = this.context;
    const ways = BEGINNINGS.map(({ key, ...change }) => {
      const way = button('', () => this.#runNow(change), { class: 'lab-begin', 'data-key': key });
      way.append(element('b', {}, t(key)), element('span', { class: 'lab-soft' }, t(`${key}.how`)));
      return way;
    });
    redraw(this.#intro, element('div', {}, element('h1', {}, t('lab.title')), element('p', { class: 'lab-soft' }, t('lab.lead'))), ...ways);
  }

  #drawRun() {
    const { t } = this.context;
    const start = button(t('lab.run'), () => this.#isWaiting || this.#runNow(), { class: 'primary', 'data-key': 'run', 'aria-disabled': String(this.#isWaiting) });
    redraw(this.#run, failures(this.lab, this.choice, t, (change) => this.#choose(change), this.#open),
      ...(this.lab.mode === 'live' ? [start] : []), this.#outcome());
    this.#drawMatrix();
  }

  #outcome() {
    const { t } = this.context;
    if (this.#isWaiting) return element('p', { class: 'lab-busy' }, t('lab.running'));
    if (this.#problem) return element('p', { class: 'banner', role: 'alert' }, t('lab.error', { reason: this.#problem }));
    if (this.#trace) return result(this.#trace, t, ...this.#remedy(this.#trace));
    if (this.lab.mode === 'live') return element('p', { class: 'lab-soft' }, t('lab.idle'));
    return element('div', { class: 'lab-soft' }, element('p', {}, t('lab.recorded')), command(this.choice));
  }

  /** @param {Trace} trace */
  #remedy({ verdict, mistakes }) {
    if (mistakes.length === 0 || verdict === FINE) return [];
    return [button(remedy(this.lab, mistakes, this.context.t), () => this.#runNow({ mistakes: [] }), { class: 'primary', 'data-key': 'run' })];
  }

  #drawReplay() {
    this.#replay?.destroy();
    this.#replay = undefined;
    this.#replayed.replaceChildren();
    if (!this.#trace) return;
    this.#replay = new Replay(this.#trace, this.context, this.#open, (step) => {
      this.choice.step = step;
      this.#link();
    });
    this.#replayed.append(this.#replay.node);
    this.#replay.show(this.choice.step);
  }

  /** @param {Progress} progress */
  #onProgress(progress) {
    if (progress.running && progress.done === 0) {
      this.cells = {};
      ran.clear();
    }
    for (const [row, cells] of Object.entries(progress.cells)) this.cells[row] = { ...this.cells[row], ...cells };
    this.#progress = progress;
    this.#drawMatrix();
    this.#readRecorded();
  }

  #newMatrix() {
    return new Matrix(this.lab, this.context.t, ({ mistakes }, failure) => {
      this.#choose({ mistakes, failure });
      this.#run.scrollIntoView();
    });
  }

  #drawMatrix() {
    this.matrix.progress(this.#progress);
    this.matrix.show(this.cells, rowOf(this.choice.mistakes, this.lab), this.choice.failure);
  }

  #translate() {
    const old = this.matrix.node;
    this.matrix = this.#newMatrix();
    old.replaceWith(this.matrix.node);
    this.#draw();
  }
}

/** @param {Choice} choice */
const keyOf = ({ mistakes, failure }) => [...mistakes].sort().concat(failure).join();

/** What had the focus has it again. @param {HTMLElement} place @param {...Node} nodes */
function redraw(place, ...nodes) {
  const held = place.contains(document.activeElement) ? document.activeElement?.getAttribute('data-key') : null;
  place.replaceChildren(...nodes);
  if (held) /** @type {HTMLElement | null} */ (place.querySelector(`[data-key="${held}"]`))?.focus({ preventScroll: true });
}
