// The steps in words, each with the line of code that did it.

import { element } from '../shop/element.js';
import { button, isolated } from './button.js';

/** @typedef {import('./server.js').Step} Step */
/** @typedef {import('../i18n/i18n.js').Translate} Translate */

/** Points at the same lines of code, in the other service. @type {Record<string, string>} */
const SAME = { C18: 'C11', C19: 'C12', C21: 'C15', C22: 'C16', C23: 'C17' };

/** @param {Step} step @param {Translate} t */
export function stepWords({ kind, point = '', what = '', order = '', message = '', status }, t) {
  const params = { order: isolated(order), message: isolated(message), status: String(status), point: isolated(point) };
  if (kind === 'passed') {
    const key = `lab.point.${SAME[point] ?? point}`;
    const known = t(key);
    return known === key ? t('lab.step.passed', params) : known;
  }
  return t(`lab.step.${kind === 'request' ? what : kind}`, params);
}

/**
 * @param {Step[]} steps
 * @param {Translate} t
 * @param {(step: number) => void} pick
 * @param {(source: import('./server.js').Source) => void} open
 */
export function listSteps(steps, t, pick, open) {
  const rows = steps.map((step, at) => {
    const words = button('', () => pick(at), { class: 'lab-words' });
    words.append(element('b', {}, t(`lab.actor.${step.actor}`)), ` ${stepWords(step, t)}`);
    const row = element('li', {}, element('span', { class: 'lab-number' }, String(at + 1)), words);
    if (step.source) row.append(sourceLink(step.source, open));
    return row;
  });
  return { node: element('ol', { class: 'lab-steps', 'aria-label': t('lab.steps') }, ...rows), rows };
}

/** @param {import('./server.js').Source} source @param {(source: import('./server.js').Source) => void} open */
function sourceLink(source, open) {
  const link = element('a', { href: `source/${source.file}`, dir: 'ltr' }, `${source.file.split('/').pop()}:${source.line}`);
  link.addEventListener('click', (event) => {
    event.preventDefault();
    open(source);
  });
  return link;
}
