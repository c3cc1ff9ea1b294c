import { element } from '../shop/element.js';

/**
 * @param {string} words
 * @param {() => void} act
 * @param {Record<string, string | number | null>} [attributes]
 */
export function button(words, act, attributes = {}) {
  const made = element('button', { type: 'button', ...attributes }, words);
  made.addEventListener('click', act);
  return /** @type {HTMLButtonElement} */ (made);
}

/** A heading with the line under it. @param {string} key @param {(key: string) => string} t @param {string} [id] */
export function heading(key, t, id) {
  return element('div', { class: 'lab-head' }, element('h2', { id }, t(key)), element('p', {}, t(`${key}.how`)));
}

/** Names of things keep their direction inside a text of the other one. @param {string} name */
export const isolated = (name) => `\u2068${name}\u2069`;
