// Whether what the page shows is live.

import { element, pill } from './element.js';
import { timeOfDay } from './values.js';

/** @import { Connection, Translate } from './types.js' */

const TONES = { open: 'good', connecting: 'wait', lost: 'bad' };

/** @param {Translate} t */
export function connection(t) {
  const place = /** @type {HTMLElement} */ (document.getElementById('connection'));
  /** @type {Connection | undefined} */
  let shown;
  let since = new Date();

  /** @param {Connection} state */
  function show(state) {
    if (state === shown) return; // every failed attempt reports again; say it once
    shown = state;
    since = new Date();
    document.body.dataset.connection = state;
    draw();
  }

  function draw() {
    if (shown) place.replaceChildren(pill(TONES[shown], t(`shop.connection.${shown}`, { time: timeOfDay(since, false) })));
  }

  return { show, draw, end: () => place.replaceChildren() };
}
