// The steps in words, each with the line of code that did it.

import { element } from '../shop/element.js';
import { button, isolated } from './parts.js';

/** @import { Open, Pick, Source, Step, Translate } from './types.js' */

/** Points at the same lines of code, in the other service. @type {Record<string, string>} */
const SAME = { C18: 'C11', C19: 'C12', C21: 'C15', C22: 'C16', C23: 'C17' };

/** @type {(step: Step, t: Translate) => string} */
export function stepWords({ kind, point = '', what = '', order = '', message = '', status }, t) {
  const params = { order: isolated(order), message: isolated(message), status: String(status), point: isolated(point) };
  const key = kind === 'passed' ? `lab.point.${SAME[point] ?? point}` : `lab.step.${kind === 'request' ? what : kind}`;
  const words = t(key, params);
  return words === key ? t('lab.step.passed', params) : words;
}

/** Services go by their own names in every language. @type {(actor: string, t: Translate) => string} */
export function actorName(actor, t) {
  const key = [`lab.actor.${actor}`, `pipeline.${actor}`].find((name) => t(name) !== name);
  return key ? t(key) : isolated(actor);
}

/** @param {Step[]} steps @param {Translate} t @param {Pick} pick @param {Open} open */
export function listSteps(steps, t, pick, open) {
  const rows = steps.map((step, at) => {
    const words = button('', () => pick(at), { class: 'lab-words' });
    words.append(element('b', {}, actorName(step.actor, t)), ` ${stepWords(step, t)}`);
    const links = step.source ? [sourceLink(step.source, open)] : [];
    return element('li', {}, element('span', {}, String(at + 1)), words, ...links);
  });
  return { node: element('ol', { class: 'lab-steps', 'aria-label': t('lab.steps') }, ...rows), rows };
}

/** @param {Source} source @param {Open} open */
function sourceLink(source, open) {
  const link = element('a', { href: `source/${source.file}`, dir: 'ltr' }, `${source.file.split('/').pop()}:${source.line}`);
  link.addEventListener('click', (event) => {
    event.preventDefault();
    open(source);
  });
  return link;
}
