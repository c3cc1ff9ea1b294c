// A recorded run, step by step: as the pipeline, as a sequence diagram and in words.

import { Pipeline } from '../pipeline/pipeline.js';
import { element } from '../shop/element.js';
import { button, heading } from './button.js';
import { drawSequence } from './sequence.js';
import { SourcePanel } from './source.js';
import { listSteps, stepWords } from './steps.js';

const PACE = 900;

/** @typedef {import('./server.js').Trace} Trace */

export class Replay {
  at = 0;
  /** @type {number | undefined} */
  #timer;

  /**
   * @param {Trace} trace
   * @param {import('../shell/shell.js').Context} context
   * @param {(step: number) => void} onStep
   */
  constructor(trace, context, onStep) {
    const { t } = this.context = context;
    this.trace = trace;
    this.onStep = onStep;
    const source = new SourcePanel(t);
    const pick = (/** @type {number} */ at) => this.#pick(at);
    this.sequence = drawSequence(trace.steps, t, pick);
    this.steps = listSteps(trace.steps, t, pick, (place) => source.open(place));
    this.score = element('div', { class: 'lab-score', tabindex: 0, role: 'group', 'aria-label': `${t('lab.sequence')}, ${t('lab.steps')}` }, this.sequence.node, this.steps.node);
    this.controls = this.#controls();
    // Time runs from left to right in this picture, whatever the language.
    const controls = element('div', { class: 'lab-controls', dir: 'ltr' }, ...Object.values(this.controls));
    const picture = element('div', { class: 'lab-pipeline' });
    this.node = element('section', { class: 'card lab-replay', 'aria-labelledby': 'lab-replay' },
      heading('lab.replay', t, 'lab-replay'), controls, picture, this.score, source.node);
    this.node.addEventListener('keydown', (event) => this.#key(event));
    this.pipeline = new Pipeline(picture, { t });
  }

  #controls() {
    const { t } = this.context;
    const play = button('', () => (this.#timer ? this.pause() : this.#start()), { class: 'lab-icon lab-play', 'aria-label': t('lab.play') });
    const back = button('', () => this.#pick(this.at - 1), { class: 'lab-icon lab-back', 'aria-label': t('lab.back') });
    const next = button('', () => this.#pick(this.at + 1), { class: 'lab-icon lab-next', 'aria-label': t('lab.forward') });
    const slider = /** @type {HTMLInputElement} */ (element('input', { type: 'range', min: 1, max: this.trace.steps.length, 'aria-label': t('lab.steps') }));
    slider.addEventListener('input', () => this.#pick(Number(slider.value) - 1));
    const label = element('p', { class: 'lab-now' });
    return { play, back, next, slider, label };
  }

  /** @param {number} step @param {boolean} [animate] */
  show(step, animate = false) {
    const { steps, states } = this.trace;
    this.at = Math.min(Math.max(step, 0), steps.length - 1);
    const { t } = this.context;
    const now = steps[this.at];
    this.pipeline.show(withCounters(states[now.state]), { animate });
    const words = `${t(`lab.actor.${now.actor}`)} ${stepWords(now, t)}`;
    const position = t('lab.at', { n: this.at + 1, of: steps.length });
    const { back, next, slider, label } = this.controls;
    back.disabled = this.at === 0;
    next.disabled = this.at === steps.length - 1;
    slider.value = String(this.at + 1);
    slider.setAttribute('aria-valuetext', `${position}: ${words}`);
    label.replaceChildren(element('b', {}, position), element('span', { dir: 'auto' }, words));
    this.#mark();
  }

  /** The step is marked in both, and scrolled into sight inside of its own region only. */
  #mark() {
    this.sequence.rows.forEach((row, at) => row.setAttribute('data-when', when(at, this.at)));
    this.steps.rows.forEach((row, at) => {
      row.setAttribute('data-when', when(at, this.at));
      for (const stop of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll('button, a'))) stop.tabIndex = at === this.at ? 0 : -1;
      if (at === this.at) row.setAttribute('aria-current', 'step');
      else row.removeAttribute('aria-current');
    });
    const row = this.steps.rows[this.at];
    for (const region of [this.score, this.steps.node]) {
      region.scrollTop = row.offsetTop - region.clientHeight / 2;
    }
  }

  /** @param {number} at */
  #pick(at) {
    this.pause();
    if (at < 0 || at >= this.trace.steps.length) return;
    const hadFocus = this.steps.node.contains(document.activeElement);
    this.show(at, true);
    this.onStep(this.at);
    if (hadFocus) this.steps.rows[this.at].querySelector('button')?.focus({ preventScroll: true });
    this.context.announce(this.controls.slider.getAttribute('aria-valuetext') ?? '');
  }

  #start() {
    if (this.at === this.trace.steps.length - 1) this.at = -1;
    this.#timer = setInterval(() => this.#tick(), PACE);
    this.#drawPlay();
    this.#tick();
  }

  #tick() {
    if (this.at + 1 === this.trace.steps.length - 1) this.pause();
    this.show(this.at + 1, true);
    this.onStep(this.at);
  }

  #drawPlay() {
    this.controls.play.setAttribute('aria-label', this.context.t(this.#timer ? 'lab.pause' : 'lab.play'));
    this.controls.play.classList.toggle('is-playing', Boolean(this.#timer));
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#drawPlay();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey || target.matches('input, pre')) return;
    event.preventDefault();
    this.#pick(this.at + way);
  }

  destroy() {
    this.pause();
    this.pipeline.destroy();
  }
}

/** @param {number} at @param {number} now */
const when = (at, now) => (at === now ? 'now' : at < now ? 'before' : 'after');

/** @param {import('../pipeline/scene.js').State} state @returns {import('../pipeline/scene.js').Scene} */
function withCounters(state) {
  const rows = [...(state.ordersOutbox ?? []), ...(state.inventoryOutbox ?? [])];
  const count = (/** @type {string} */ status) => rows.filter((row) => row.status === status).length;
  return { ...state, counters: { backlog: count('Pending'), duplicates: null, dead: count('Dead'), parked: state.parked?.length ?? 0 } };
}
