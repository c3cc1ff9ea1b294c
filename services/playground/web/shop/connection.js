// Whether what the page shows is live.

import { element } from './element.js';
import { timeOfDay } from './values.js';

const place = /** @type {HTMLElement} */ (document.getElementById('connection'));

/** @type {import('./live.js').State | undefined} */
let shown;

/** @param {import('./live.js').State} state */
export function showConnection(state) {
  if (state === shown) return; // every failed attempt reports again; say it once
  shown = state;
  document.body.dataset.connection = state;
  place.replaceChildren(element('span', { class: 'pill', 'data-tone': tone(state) }, words(state)));
}

/** @param {import('./live.js').State} state */
function words(state) {
  if (state === 'open') return 'Live';
  if (state === 'connecting') return 'Connecting';
  return `Connection lost at ${timeOfDay(new Date(), false)}, trying again`;
}

/** @param {import('./live.js').State} state */
function tone(state) {
  return { open: 'good', connecting: 'wait', lost: 'bad' }[state];
}
