// What a run has shown: the verdict, the equation, and why.

import { element } from '../shop/element.js';
import { isolated } from './parts.js';

/** @import { Trace, Translate } from './types.js' */

export const FINE = 'exactly-one-effect';

/** @param {Trace} trace @param {Translate} t @param {...Node} after */
export function result(trace, t, ...after) {
  const reasons = because(trace, t).map((words) => element('p', {}, words));
  return element('div', { class: 'lab-result', 'data-verdict': trace.verdict },
    element('p', { class: 'lab-verdict' }, t(`lab.verdict.${trace.verdict}`)), equation(trace, t), ...reasons, ...after,
    element('small', {}, t('lab.took', { ms: trace.milliseconds }), ' ', t('lab.command')), command(trace));
}

/** Repeats a run in a terminal. @param {{mistakes: string[], failure: string}} choice */
export function command({ mistakes, failure }) {
  const without = mistakes.length > 0 ? ` --without ${mistakes.join(',')}` : '';
  return element('pre', { dir: 'ltr', tabindex: 0 }, `cargo run -- lab run ${failure}${without}`);
}

/** @param {Trace} trace @param {Translate} t */
export function because({ because: reasons, verdict, equation: { accepted } }, t) {
  if (verdict === FINE) return [t('lab.because.fine')];
  return reasons.map(({ code, order = '', times = 0 }) => t(`lab.because.${code}`, { order: isolated(order), times, n: accepted }));
}

/** The signs between the numbers say where it went wrong. @param {Trace} trace @param {Translate} t */
function equation({ because: reasons, equation: { wanted, accepted, reservations, textMessages } }, t) {
  /** @type {[string, number][]} */
  const terms = [['wanted', wanted], ['accepted', accepted], ['reservations', reservations]];
  if (reasons.some(({ code }) => code === 'texted-twice')) terms.push(['texts', textMessages]);
  const parts = terms.flatMap(([key, n], at) => {
    const term = element('span', {}, element('b', {}, t('lab.number', { n })), t(`lab.${key}`));
    if (at === 0) return [term];
    const isEqual = terms[at - 1][1] === n;
    return [element('b', { class: isEqual ? null : 'unequal', role: 'img', 'aria-label': t(isEqual ? 'lab.equal' : 'lab.unequal') }, isEqual ? '=' : '≠'), term];
  });
  return element('p', { class: 'lab-equation' }, ...parts);
}
