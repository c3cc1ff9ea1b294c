// What could not be read just now.

import { element } from './element.js';

const banner = /** @type {HTMLElement} */ (document.getElementById('errors'));
let shown = '';

/** @param {string[]} errors */
export function showErrors(errors) {
  const words = errors.join('\n');
  if (words === shown) return; // said once, not with every snapshot
  shown = words;
  banner.hidden = errors.length === 0;
  banner.replaceChildren(...errors.map((error) => element('p', {}, error)));
}
