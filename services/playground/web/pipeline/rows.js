// The rows as cards. A card keeps its element as long as its row is seen, so that focus stays.

import { CARD, GAP, GUTTER, SLOT_HEAD } from './measures.js';
import { fit, label, shape, svg, widthOf } from './svg.js';

/** Less room than this would show nothing but dots. */
const LEAST_ASIDE = 36;

/** @import { Box, Card, Layout, Pile, Slot, Translate } from './types.js' */

export class Rows {
  layer = svg('g');
  /** @type {string | null} */
  picked = null;
  #onPick;
  /** @type {Map<string, SVGElement>} */
  #lists = new Map();
  /** @type {Map<string, {element: SVGElement, drawn: string}>} */
  #cards = new Map();

  /** @param {((order: string) => void) | null} onPick */
  constructor(onPick) {
    this.#onPick = onPick;
  }

  clear() {
    this.layer.replaceChildren();
    this.#lists.clear();
    this.#cards.clear();
  }

  /**
   * @param {Layout} layout @param {Record<string, Pile>} piles
   * @param {Set<string>} touched the keys of what has just changed @param {boolean} animate @param {Translate} t
   * @returns {Map<string, Box>} where each card that is seen stands
   */
  show(layout, piles, touched, animate, t) {
    /** @type {Map<string, Box>} */
    const places = new Map();
    for (const [name, slot] of Object.entries(layout.slots)) {
      const { cards, total, note } = piles[name];
      const list = this.#list(name, t);
      const seen = cards.slice(0, slot.most);
      const elements = seen.map((card, index) => {
        const place = placeOf(slot, index);
        places.set(card.key, place);
        return this.#card(card, place, name === 'orders', touched.has(card.key), animate);
      });
      const hidden = note === '' ? total - seen.length : 0; // a queue's note says how many there are
      const more = hidden > 0 && name !== 'textMessages'
        ? [svg('g', { role: 'listitem' }, label(slot.x + 8, slot.y + slot.h - 11, t('pipeline.more', { n: hidden }), 'aside'))] : [];
      const wanted = [...elements, ...more];
      if (wanted.length !== list.childNodes.length || wanted.some((element, at) => element !== list.childNodes[at])) list.replaceChildren(...wanted);
    }
    for (const [key, { element }] of this.#cards) {
      if (!element.isConnected) this.#cards.delete(key);
    }
    return places;
  }

  /** @param {string} name @param {Translate} t */
  #list(name, t) {
    const known = this.#lists.get(name);
    if (known) return known;
    const made = svg('g', { role: 'list', 'aria-label': t(`pipeline.list.${name}`) });
    this.#lists.set(name, made);
    this.layer.append(made);
    return made;
  }

  /** @param {Card} card @param {Box} place @param {boolean} isOrder @param {boolean} touched @param {boolean} animate */
  #card(card, place, isOrder, touched, animate) {
    const known = this.#cards.get(card.key);
    const element = known?.element ?? this.#newCard(card, isOrder);
    const drawn = `${card.drawn}|${place.w}`;
    const face = /** @type {SVGElement} */ (element.firstElementChild);
    if (known?.drawn !== drawn) {
      face.setAttribute('aria-label', card.name);
      face.replaceChildren(...faceOf(card, place.w));
      this.#cards.set(card.key, { element, drawn });
    }
    element.setAttribute('transform', `translate(${place.x} ${place.y})`);
    face.setAttribute('class', `card${touched ? ' touched' : ''}${touched && animate && !known ? ' arriving' : ''}${this.picked !== null && card.order === this.picked ? ' picked' : ''}`);
    return element;
  }

  /** @param {Card} card @param {boolean} isOrder */
  #newCard({ order }, isOrder) {
    const onPick = this.#onPick;
    if (!isOrder || !onPick || order === undefined) return svg('g', { role: 'listitem' }, svg('g', { role: 'img' }));
    const button = svg('g', { role: 'button', tabindex: 0 });
    button.addEventListener('click', () => onPick(order));
    button.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault(); // the space bar would scroll
      onPick(order);
    });
    return svg('g', { role: 'listitem' }, button);
  }
}

/** @param {Card} card @param {number} w */
function faceOf({ title, tone, words, aside }, w) {
  const indent = tone === undefined ? 8 : 22;
  const status = svg('g', tone === undefined ? {} : { 'data-tone': tone }, ...(tone === undefined ? [] : [shape(8, 20, tone)]), label(indent, 29, words, 'card-words', w - indent - 6));
  const room = w - 16 - indent - widthOf(words, 'card-words');
  const rest = aside && room > LEAST_ASIDE ? [svg('text', { x: w - 7, y: 29, class: 'aside end' }, fit(aside, room, 'aside'))] : [];
  // The space keeps the words apart for those who read the text alone.
  return [svg('rect', { width: w, height: CARD, rx: 5 }), label(8, 15, title, 'card-title', w - 14), ' ', status, ...rest];
}

/** @param {Slot} slot @param {number} index @returns {Box} */
function placeOf(slot, index) {
  const w = (slot.w - (slot.columns - 1) * GUTTER) / slot.columns;
  const column = index % slot.columns;
  return { x: slot.x + column * (w + GUTTER) + 4, y: slot.y + SLOT_HEAD + Math.floor(index / slot.columns) * (CARD + GAP), w: w - 8, h: CARD };
}
