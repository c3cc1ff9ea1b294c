// What is switched off, and what fails.

import { element } from '../shop/element.js';
import { protectionOf, same, withMistake, withProtection } from './choice.js';
import { button, card } from './parts.js';
import { sourceLink } from './source.js';

/** Without these the lab takes stock as often as it is told to. */
const TAKE_AGAIN = { of: ['no-inbox', 'inbox-in-another-transaction', 'inbox-forgets-too-soon'], file: 'services/inventory-service/src/lab/take_again.rs', line: 1 };

/** @import { Draw, Lab, Translate } from './types.js' */

/** @type {Draw} */
export const setup = (lab, choice, t, choose, open) => card('protections', t, presets(lab, choice, t, choose, open), switches(lab, choice, t, choose, open));

/** @type {Draw} */
function presets(lab, choice, t, choose) {
  return element('div', { class: 'lab-presets', role: 'group', 'aria-label': t('lab.preset.label') }, ...lab.presets.map(({ id, mistakes }) =>
    button(t(`lab.preset.${id}`), () => choose({ mistakes }), { 'data-key': id, 'aria-pressed': String(same(mistakes, choice.mistakes)) })));
}

/** @type {Draw} */
function switches(lab, { mistakes }, t, choose, open) {
  const protections = [...new Set(lab.mistakes.map(({ protection }) => protection))];
  return element('ul', { class: 'lab-switches' }, ...protections.map((protection) => {
    const ways = lab.mistakes.filter((mistake) => mistake.protection === protection).map(({ id }) => id);
    const off = ways.find((id) => mistakes.includes(id));
    const choice = (/** @type {string} */ id) => choose({ mistakes: withMistake(mistakes, id, lab) });
    const flip = () => (off ? choose({ mistakes: withProtection(mistakes, protection, lab) }) : choice(ways[0]));
    const id = `lab-${protection}`;
    const source = lab.mistakes.find(({ id }) => id === off)?.source;
    const more = off && ways.length > 1 ? [select('lab.mistake', ways, off, t('lab.way'), t, choice)] : [];
    return element('li', { class: off ? 'is-off' : null },
      button(t(`lab.protection.${protection}`), flip, { role: 'switch', 'aria-checked': String(!off), 'aria-describedby': id, 'data-key': id }),
      element('p', { id }, t(off ? `lab.mistake.${off}.how` : `lab.protection.${protection}.how`)), ...more, ...(source ? [sourceLink(source, open)] : []),
      ...(off && TAKE_AGAIN.of.includes(off) ? [element('p', {}, t('lab.takeAgain'), ' ', sourceLink(TAKE_AGAIN, open))] : []));
  }));
}

/** @type {Draw} */
export function failures(lab, { failure: chosen }, t, choose) {
  return element('div', { class: 'lab-failure' }, element('h2', {}, t('lab.fail')),
    select('lab.failure', lab.failures.map(({ id }) => id), chosen, t('lab.fail'), t, (failure) => choose({ failure })),
    element('p', { class: 'lab-soft' }, t(`lab.failure.${chosen}.how`)));
}

/** @type {(prefix: string, ids: string[], chosen: string, name: string, t: Translate, choose: (id: string) => void) => HTMLElement} */
function select(prefix, ids, chosen, name, t, choose) {
  const options = ids.map((value) => element('option', { value }, t(`${prefix}.${value}`)));
  const made = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': name, 'data-key': prefix }, ...options));
  made.value = chosen;
  made.addEventListener('change', () => choose(made.value));
  return made;
}

/** What to switch on to see the difference. @param {Lab} lab @param {string[]} mistakes @param {Translate} t */
export function remedy(lab, mistakes, t) {
  if (mistakes.length > 1) return t('lab.switchAll');
  return t('lab.switchOn', { name: t(`lab.protection.${protectionOf(mistakes[0], lab)}`) });
}
