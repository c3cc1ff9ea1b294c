import { element } from '../shop/element.js';

/** @param {string} words @param {() => void} act @param {Record<string, string | null>} [attributes] */
export function button(words, act, attributes) {
  const made = /** @type {HTMLButtonElement} */ (element('button', { type: 'button', ...attributes }, words));
  made.addEventListener('click', act);
  return made;
}

/** A card with a heading, and a line under it. @param {string} name @param {(key: string) => string} t @param {...Node} parts */
export function card(name, t, ...parts) {
  const id = `lab-${name}`;
  return element('section', { class: `card ${id}`, 'aria-labelledby': id },
    element('h2', { id }, t(`lab.${name}`)), element('p', { class: 'lab-soft' }, t(`lab.${name}.how`)), ...parts);
}

/** Names of things keep their direction inside a text of the other one. @param {string} name */
export const isolated = (name) => `\u2068${name}\u2069`;
