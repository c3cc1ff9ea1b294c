// A recorded run, step by step: as the pipeline, as a sequence diagram and in words.

import { Pipeline } from '../pipeline/pipeline.js';
import { element } from '../shop/element.js';
import { damageAt } from './damage.js';
import { button, card } from './parts.js';
import { drawSequence } from './sequence.js';
import { actorName, listSteps, stepWords } from './steps.js';

/** @import { Context, Open, Pick, Scene, Trace } from './types.js' */

const PACE = 900;
/** @type {Record<string, number>} */
const WAYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class Replay {
  at = 0;
  /** @type {number | undefined} */
  #timer;
  #picture;
  #now = element('p', { dir: document.documentElement.dir });
  #slider = /** @type {HTMLInputElement} */ (element('input', { type: 'range', min: 1 }));

  /** @param {Trace} trace @param {Context} context @param {Open} open @param {Pick} onStep */
  constructor(trace, context, open, onStep) {
    const { t } = context;
    this.trace = trace;
    this.context = context;
    this.onStep = onStep;
    const pick = (/** @type {number} */ at) => this.#pick(at);
    const icon = (/** @type {string} */ name, /** @type {() => void} */ act) => button('', act, { class: `lab-icon lab-${name}`, 'aria-label': t(`lab.${name}`) });
    this.back = icon('back', () => pick(this.at - 1));
    this.play = icon('play', () => (this.#timer ? this.pause() : this.#start()));
    this.next = icon('forward', () => pick(this.at + 1));
    this.#slider.max = String(trace.steps.length);
    this.#slider.ariaLabel = t('lab.steps');
    this.#slider.addEventListener('input', () => pick(Number(this.#slider.value) - 1));
    this.sequence = drawSequence(trace, t, pick);
    this.steps = listSteps(trace, t, pick, open);
    this.score = element('div', { class: 'lab-score' }, this.sequence.node, this.steps.node);
    const picture = this.#picture = element('div', { class: 'lab-picture' });
    // Time runs from left to right here, whatever the language.
    const slider = element('span', { class: 'lab-slider' }, this.#slider);
    const controls = element('div', { class: 'lab-controls', dir: 'ltr' }, this.back, this.play, this.next, slider, ...this.#damage(slider, pick), this.#now);
    this.node = card('replay', t, controls, picture, this.score);
    this.node.addEventListener('keydown', (event) => this.#key(event));
    this.pipeline = new Pipeline(picture, { t });
  }

  /** A mark on the slider where it went wrong, and the way there. @param {HTMLElement} slider @param {Pick} pick */
  #damage(slider, pick) {
    const at = damageAt(this.trace);
    if (at === undefined) return [];
    const mark = element('i', { 'data-verdict': this.trace.verdict });
    mark.style.setProperty('--at', String(at / (this.trace.steps.length - 1)));
    slider.append(mark);
    return [button(this.context.t('lab.damage'), () => pick(at), { class: 'small', dir: document.documentElement.dir })];
  }

  /** @param {number} step @param {boolean} [animate] */
  show(step, animate = false) {
    const { t } = this.context;
    const { steps, states, mistakes } = this.trace;
    this.at = Math.min(step, steps.length - 1);
    const now = steps[this.at];
    this.pipeline.show(withCounters(states[now.state]), { animate });
    const words = `${actorName(now.actor, t)} ${stepWords(now, mistakes, t)}`;
    const position = t('lab.at', { n: this.at + 1, of: steps.length });
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === steps.length - 1;
    this.#slider.value = String(this.at + 1);
    this.#slider.setAttribute('aria-valuetext', `${position}: ${words}`);
    this.#now.replaceChildren(element('span', { class: 'lab-soft' }, position), ` ${words}`);
    this.#mark();
  }

  /** Marks the step in both, and scrolls it into sight inside of its own region only. */
  #mark() {
    [this.sequence.rows, this.steps.rows].forEach((rows) => rows.forEach((row, at) => {
      row.setAttribute('data-when', at === this.at ? 'now' : at < this.at ? 'before' : 'after');
    }));
    this.steps.rows.forEach((row, at) => {
      row.ariaCurrent = at === this.at ? 'step' : null;
      for (const stop of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll('button, a'))) stop.tabIndex = at === this.at ? 0 : -1;
    });
    const row = this.steps.rows[this.at];
    for (const region of [this.score, this.steps.node]) region.scrollTop = row.offsetTop - region.clientHeight / 2;
    const { node } = this.sequence;
    node.scrollTop = (node.scrollHeight * this.at) / this.steps.rows.length - node.clientHeight / 2;
  }

  /** @param {number} at */
  #pick(at) {
    this.pause();
    if (!this.trace.steps[at]) return;
    const hadFocus = this.steps.node.contains(document.activeElement);
    this.#goTo(at);
    if (hadFocus) this.steps.rows[at].querySelector('button')?.focus({ preventScroll: true });
    this.context.announce(this.#slider.getAttribute('aria-valuetext') ?? '');
  }

  /** @param {number} at */
  #goTo(at) {
    this.show(at, true);
    this.onStep(at);
  }

  #start() {
    if (this.next.disabled) this.at = -1;
    this.#picture.scrollIntoView({ block: 'nearest' });
    this.#timer = setInterval(() => this.#tick(), PACE);
    this.#drawPlay();
    this.#tick();
  }

  #tick() {
    this.#goTo(this.at + 1);
    if (this.next.disabled) this.pause();
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#drawPlay();
  }

  #drawPlay() {
    this.play.ariaLabel = this.context.t(this.#timer ? 'lab.pause' : 'lab.play');
    this.play.classList.toggle('lab-pause', Boolean(this.#timer));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const way = WAYS[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey || /** @type {HTMLElement} */ (event.target).matches('input, pre')) return;
    event.preventDefault();
    this.#pick(this.at + way);
  }

  destroy() {
    this.pause();
    this.pipeline.destroy();
  }
}

/** @param {Scene} state @returns {Scene} */
function withCounters(state) {
  const rows = [...(state.ordersOutbox ?? []), ...(state.inventoryOutbox ?? [])];
  const count = (/** @type {string} */ status) => rows.filter((row) => row.status === status).length;
  // Each order of the lab wants one piece.
  const reserved = state.reservations?.filter(({ status }) => status === 'Reserved').length ?? 0;
  const stock = state.stock?.map((item) => ({ ...item, again: item.reserved > reserved }));
  return { ...state, stock, counters: { backlog: count('Pending'), duplicates: null, dead: count('Dead'), parked: state.parked?.length ?? 0 } };
}
