// The steps in words, each with the line of code that did it.

import { element } from '../shop/element.js';
import { button, isolated } from './parts.js';
import { sourceLink } from './source.js';

/** @import { Open, Pick, Step, Trace, Translate } from './types.js' */

/** Points at the same lines of code, in the other service. @type {Record<string, string>} */
const SAME = { C18: 'C11', C19: 'C12', C21: 'C15', C22: 'C16', C23: 'C17' };

/** A mistake changes what happens at some points. @type {(step: Step, mistakes: string[], t: Translate) => string} */
export function stepWords({ actor, kind, point = '', what = '', order = '', status }, mistakes, t) {
  const wrong = actor === 'inventory-relay' ? [] : mistakes.map((mistake) => `lab.point.${point}.${mistake}`);
  const keys = kind === 'passed' ? [...wrong, `lab.point.${SAME[point] ?? point}`] : [`lab.step.${kind === 'request' ? what : kind}`];
  const known = keys.find((key) => t(key) !== key) ?? 'lab.step.passed';
  return t(known, { order: isolated(order), status: String(status), point: isolated(point) });
}

/** Services go by their own names in every language. @type {(actor: string, t: Translate) => string} */
export function actorName(actor, t) {
  const key = [`lab.actor.${actor}`, `pipeline.${actor}`].find((name) => t(name) !== name);
  return key ? t(key) : isolated(actor);
}

/** @param {Trace} trace @param {Translate} t @param {Pick} pick @param {Open} open */
export function listSteps({ steps, mistakes }, t, pick, open) {
  const rows = steps.map((step, at) => {
    const words = button('', () => pick(at), { class: 'lab-words' });
    words.append(element('b', {}, actorName(step.actor, t)), ` ${stepWords(step, mistakes, t)}`);
    const links = step.source ? [sourceLink(step.source, open)] : [];
    return element('li', {}, element('span', {}, t('lab.number', { n: at + 1 })), words, ...links);
  });
  return { node: element('ol', { class: 'lab-steps', 'aria-label': t('lab.steps') }, ...rows), rows };
}
