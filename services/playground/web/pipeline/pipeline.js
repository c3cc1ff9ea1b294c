// The way of an order as a picture. It draws a scene, and shows how it differs from the one before.

import { bracketsOf } from './brackets.js';
import { pilesOf } from './cards.js';
import { changesBetween } from './changes.js';
import { counters } from './counters.js';
import { frame, head, lines, slotHead } from './frame.js';
import { layout } from './layout.js';
import { Rows } from './rows.js';
import { svg } from './svg.js';
import { travel } from './travel.js';
import { inWords } from './words.js';

/** @import { Changes, Layout, Picked, Piles, Scene, Translate } from './types.js' */

export class Pipeline {
  #t;
  #root = document.createElement('div');
  #picture = svg('svg', { class: 'pl', role: 'group' });
  #lines = svg('g');
  #heads = svg('g');
  #brackets = svg('g');
  #envelopes = svg('g', { 'aria-hidden': 'true' });
  #words = document.createElement('ul');
  #watch;
  #rows;
  #width = 0;
  /** @type {Layout | null} */
  #layout = null;
  /** @type {Scene | null} */
  #scene = null;
  /** @type {Piles | null} */
  #piles = null;
  /** Changes that are still shown. @type {{at: number, changes: Changes}[]} */
  #recent = [];
  #hold;
  #saidAt = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #forget;

  /**
   * @param {HTMLElement} host
   * @param {{t: Translate, onPick?: (pick: Picked) => void, hold?: number}} options
   *   with `onPick`, orders are buttons; `hold`: how long a change stays marked, in milliseconds, else until the next scene
   */
  constructor(host, { t, onPick, hold = 0 }) {
    this.#t = t;
    this.#hold = hold;
    this.#rows = new Rows(onPick ? (order) => onPick({ kind: 'order', id: order }) : null);
    this.#root.className = 'pipeline';
    this.#words.className = 'visually-hidden';
    this.#words.setAttribute('aria-live', 'polite');
    this.#root.append(this.#picture, this.#words);
    host.append(this.#root);
    this.#watch = new ResizeObserver(([{ contentRect }]) => {
      if (Math.abs(contentRect.width - this.#width) < 1) return;
      this.#width = contentRect.width;
      this.#place();
    });
    this.#watch.observe(this.#root);
  }

  /** @param {Scene} scene @param {{animate?: boolean}} [how] */
  show(scene, { animate = true } = {}) {
    const piles = pilesOf(scene, this.#t);
    const relay = whoPublishes(this.#scene ?? scene);
    const changes = this.#piles && changesBetween(this.#piles, piles, relay);
    this.#keep(changes);
    const wanted = shapeOf(scene);
    const reshaped = this.#scene === null || shapeOf(this.#scene) !== wanted;
    this.#scene = scene;
    this.#piles = piles;
    if (this.#width === 0) this.#width = this.#root.clientWidth;
    if (reshaped || this.#layout === null) this.#place();
    else this.#draw(animate);
    if (animate && changes && this.#layout) travel(this.#envelopes, this.#layout.lines, changes.journeys);
    if (changes) this.#say(changes, piles);
  }

  /** While changes are held they come in crowds: nobody could listen to all. @param {Changes} changes @param {Piles} piles */
  #say(changes, piles) {
    const now = performance.now();
    if (now - this.#saidAt < this.#hold) return;
    if (inWords(this.#words, changes, piles, this.#t)) this.#saidAt = now;
  }

  /** @param {Changes | null} changes */
  #keep(changes) {
    const at = performance.now();
    this.#recent = this.#recent.filter((one) => at - one.at < this.#hold);
    if (changes) this.#recent.push({ at, changes });
    if (this.#hold === 0) return;
    clearTimeout(this.#forget);
    this.#forget = setTimeout(() => {
      this.#keep(null);
      this.#draw(false);
      if (this.#recent.length === 0) clearTimeout(this.#forget);
    }, this.#hold / 4);
  }

  /** Marks the rows of one order, or none. @param {string | null} order */
  pick(order) {
    this.#rows.picked = order;
    if (this.#layout) this.#draw(false);
  }

  destroy() {
    clearTimeout(this.#forget);
    this.#watch.disconnect();
    this.#root.remove();
  }

  /** Draws what stands still anew. */
  #place() {
    if (!this.#scene || this.#width === 0) return;
    const [twoRelays, gateway] = shapeOf(this.#scene).split(' ').map((word) => word === 'true');
    const made = layout(this.#width, { twoRelays, gateway });
    this.#layout = made;
    const { width, height } = made;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, 'aria-label': this.#t('pipeline.title') })) {
      this.#picture.setAttribute(name, String(value));
    }
    this.#picture.replaceChildren(frame(made), this.#lines, this.#heads, this.#brackets, this.#rows.layer, this.#envelopes);
    this.#rows.clear();
    this.#draw(false);
  }

  /** @param {boolean} animate */
  #draw(animate) {
    const [made, scene, piles, t] = [this.#layout, this.#scene, this.#piles, this.#t];
    if (!made || !scene || !piles) return;
    const stateOf = (/** @type {string} */ node) => (node === 'broker' ? scene.broker : scene.processes[node] ?? 'absent');
    const recent = this.#recent.map(({ changes }) => changes);
    const used = new Set(recent.flatMap(({ journeys }) => journeys).flatMap(({ lines: taken }) => taken));
    const touched = new Set(recent.flatMap(({ appeared, changed }) => [...appeared, ...changed]));
    this.#lines.replaceChildren(...lines(made, used, stateOf));
    this.#heads.replaceChildren(
      ...Object.entries(made.nodes).flatMap(([name, box]) => head(name, box, stateOf(name), scene.details?.[name] ?? '', t)),
      ...Object.entries(made.slots).flatMap(([name, box]) => slotHead(name, box, piles[name], t)));
    const places = this.#rows.show(made, piles, touched, animate, t);
    this.#brackets.replaceChildren(...bracketsOf(recent.flatMap(({ transactions }) => transactions).reverse(), places, made, t));
    counters(this.#root, scene, t);
  }
}

/** What decides on the layout, besides the width. @param {Scene} scene */
function shapeOf(scene) {
  const second = (scene.processes['orders-relay-2'] ?? 'absent') !== 'absent';
  const gateway = scene.textMessages !== undefined;
  return `${second} ${gateway}`;
}

/** @param {Scene} scene the one before a message left its outbox */
function whoPublishes(scene) {
  return scene.ordersOutbox?.find(({ claimedBy }) => claimedBy)?.claimedBy ?? 'orders-relay';
}
