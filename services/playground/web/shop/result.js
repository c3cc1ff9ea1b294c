// Says what came of an action, on the screen and to screen readers.

import { element } from './element.js';

const place = /** @type {HTMLElement} */ (document.getElementById('result'));

/**
 * @param {'good' | 'bad' | 'wait'} tone
 * @param {string} words
 * @param {import('./api.js').FieldError[]} [errors]
 */
export function showResult(tone, words, errors = []) {
  const parts = [element('p', { class: 'say', 'data-tone': tone }, words)];
  if (errors.length > 0) {
    parts.push(element('ul', {}, ...errors.map(({ field, message }) =>
      element('li', {}, element('code', {}, field), ` ${message}`))));
  }
  place.replaceChildren(...parts);
}
