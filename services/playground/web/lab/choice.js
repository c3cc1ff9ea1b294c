// Which protections are off, and what fails: to and from the link.

/** @import { Choice, Lab } from './types.js' */

/** What a newcomer should see first: a lost order, and one that is reserved twice. */
export const LOSE = { mistakes: ['publish-after-commit'], failure: 'crash-after-commit' };
export const DOUBLE = { mistakes: ['no-inbox'], failure: 'crash-before-mark' };

/** @type {(params: Record<string, string>, lab: Lab) => Choice} */
export function fromLink({ preset, without = '', failure, step }, lab) {
  const known = lab.presets.find(({ id }) => id === preset)?.mistakes ?? [];
  return {
    mistakes: without.split(',').reduce((all, id) => withMistake(all, id, lab), known),
    failure: lab.failures.some(({ id }) => id === failure) ? failure : lab.failures[0].id,
    step: Math.max(0, Math.trunc(Number(step)) - 1) || 0,
  };
}

/** @type {(choice: Choice, lab: Lab) => Record<string, string>} */
export function toLink({ mistakes, failure, step }, lab) {
  const preset = lab.presets.find((row) => same(row.mistakes, mistakes))?.id;
  return { ...(preset ? { preset } : { without: mistakes.join(',') }), failure, ...(step > 0 && { step: String(step + 1) }) };
}

/** The row of the matrix that has these mistakes. @type {(mistakes: string[], lab: Lab) => string | undefined} */
export const rowOf = (mistakes, lab) => lab.rows.find((row) => same(row.mistakes, mistakes))?.id;

/** One protection can be missing in one way only. @type {(mistakes: string[], id: string, lab: Lab) => string[]} */
export function withMistake(mistakes, id, lab) {
  const protection = protectionOf(id, lab);
  return protection ? [...withProtection(mistakes, protection, lab), id] : mistakes;
}

/** @type {(mistakes: string[], protection: string, lab: Lab) => string[]} */
export const withProtection = (mistakes, protection, lab) => mistakes.filter((id) => protectionOf(id, lab) !== protection);

/** @type {(mistake: string, lab: Lab) => string | undefined} */
export const protectionOf = (mistake, lab) => lab.mistakes.find(({ id }) => id === mistake)?.protection;

/** @type {(a: string[], b: string[]) => boolean} */
export const same = (a, b) => a.length === b.length && a.every((id) => b.includes(id));
