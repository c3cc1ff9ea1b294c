// What a run has shown: the verdict, the equation, and why.

import { element } from '../shop/element.js';
import { isolated } from './button.js';

/** @typedef {import('./server.js').Trace} Trace */
/** @typedef {import('../i18n/i18n.js').Translate} Translate */

export const FINE = 'exactly-one-effect';

/** @param {Trace} trace @param {Translate} t */
export function result(trace, t) {
  const reasons = because(trace, t).map((words) => element('p', {}, words));
  const node = element('div', { class: 'lab-result', 'data-verdict': trace.verdict },
    element('p', { class: 'lab-verdict' }, t(`lab.verdict.${trace.verdict}`)), equation(trace, t), ...reasons,
    element('p', { class: 'lab-soft' }, t('lab.took', { ms: trace.milliseconds })));
  if (trace.command) node.append(element('p', { class: 'lab-soft' }, `${t('lab.command')}:`), element('pre', { dir: 'ltr', tabindex: 0 }, trace.command));
  return node;
}

/** @param {Trace} trace @param {Translate} t */
export function because({ because: reasons, verdict }, t) {
  if (verdict === FINE) return [t('lab.because.fine')];
  return reasons.map(({ code, order = '', times = 0 }) => t(`lab.because.${code}`, { order: isolated(order), times }));
}

/** The signs between the numbers say at which step it went wrong. @param {Trace} trace @param {Translate} t */
function equation({ equation: { wanted, accepted, reservations, textMessages } }, t) {
  /** @type {[string, number][]} */
  const terms = [['wanted', wanted], ['accepted', accepted], ['reservations', reservations]];
  if (textMessages) terms.push(['texts', textMessages]);
  const parts = terms.flatMap(([key, value], at) => {
    const term = element('span', { class: 'lab-term' }, element('b', {}, t('lab.number', { n: value })), t(`lab.${key}`));
    if (at === 0) return [term];
    const isEqual = terms[at - 1][1] === value;
    const sign = element('span', { class: 'lab-sign', 'data-equal': String(isEqual) },
      element('span', { 'aria-hidden': 'true' }, isEqual ? '=' : '≠'), element('span', { class: 'visually-hidden' }, t(isEqual ? 'lab.equal' : 'lab.unequal')));
    return [sign, term];
  });
  return element('p', { class: 'lab-equation' }, ...parts);
}
