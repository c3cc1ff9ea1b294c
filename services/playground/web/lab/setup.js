// What is switched off, and what fails.

import { element } from '../shop/element.js';
import { button, heading } from './button.js';
import { protectionOf, same, withMistake, withProtection } from './choice.js';

/**
 * @typedef {import('./choice.js').Choice} Choice
 * @typedef {import('./server.js').Lab} Lab
 */

/**
 * @param {Lab} lab
 * @param {Choice} choice
 * @param {(key: string) => string} t
 * @param {(choice: Partial<Choice>) => void} choose
 * @returns {HTMLElement}
 */
export function setup(lab, choice, t, choose) {
  return element('section', { class: 'card lab-setup', 'aria-labelledby': 'lab-protections' },
    heading('lab.protections', t, 'lab-protections'), presets(lab, choice, t, choose), switches(lab, choice, t, choose));
}

/** @type {typeof setup} */
function presets(lab, choice, t, choose) {
  const buttons = lab.presets.map(({ id, mistakes }) =>
    button(t(`lab.preset.${id}`), () => choose({ mistakes }), { 'data-key': `preset-${id}`, 'aria-pressed': String(same(mistakes, choice.mistakes)) }));
  return element('div', { class: 'lab-presets', role: 'group', 'aria-label': t('lab.preset.label') }, ...buttons);
}

/** @type {typeof setup} */
function switches(lab, choice, t, choose) {
  const protections = [...new Set(lab.mistakes.map(({ protection }) => protection))];
  return element('ul', { class: 'lab-switches' }, ...protections.map((protection) => {
    const ways = lab.mistakes.filter((mistake) => mistake.protection === protection).map(({ id }) => id);
    const off = ways.find((id) => choice.mistakes.includes(id));
    const flip = () => choose({ mistakes: off ? withProtection(choice.mistakes, protection, lab) : withMistake(choice.mistakes, ways[0], lab) });
    const line = `lab-${protection}`;
    const item = element('li', { class: off ? 'is-off' : null },
      button(t(`lab.protection.${protection}`), flip, { role: 'switch', 'aria-checked': String(!off), 'aria-describedby': line, 'data-key': protection }),
      element('p', { id: line }, t(`lab.mistake.${off ?? ways[0]}.how`)));
    if (off && ways.length > 1) {
      item.append(select(ways, off, 'lab.mistake', t('lab.way'), t, (id) => choose({ mistakes: withMistake(choice.mistakes, id, lab) })));
    }
    return item;
  }));
}

/** @type {typeof setup} */
export function failures(lab, choice, t, choose) {
  const ids = lab.failures.map(({ id }) => id);
  return element('div', { class: 'lab-failure' },
    element('h2', {}, t('lab.fail')),
    select(ids, choice.failure, 'lab.failure', t('lab.fail'), t, (failure) => choose({ failure })),
    element('p', {}, t(`lab.failure.${choice.failure}.how`)));
}

/**
 * @param {string[]} ids
 * @param {string} chosen
 * @param {string} prefix of their texts
 * @param {string} name
 * @param {(key: string) => string} t
 * @param {(id: string) => void} choose
 */
function select(ids, chosen, prefix, name, t, choose) {
  const made = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': name, 'data-key': prefix },
    ...ids.map((value) => element('option', { value }, t(`${prefix}.${value}`)))));
  made.value = chosen;
  made.addEventListener('change', () => choose(made.value));
  return made;
}

/** What to switch on to see the difference. @param {Lab} lab @param {string[]} mistakes @param {import('../i18n/i18n.js').Translate} t */
export function remedy(lab, mistakes, t) {
  if (mistakes.length !== 1) return t('lab.switchAll');
  return t('lab.switchOn', { name: t(`lab.protection.${protectionOf(mistakes[0], lab)}`) });
}
