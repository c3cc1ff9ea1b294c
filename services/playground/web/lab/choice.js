// Which protections are off, and what fails: to and from the link.

/** @typedef {import('./server.js').Lab} Lab */
/** @typedef {{mistakes: string[], failure: string, step: number}} Choice */

/** @param {Record<string, string>} params @param {Lab} lab @returns {Choice} */
export function fromLink(params, lab) {
  const preset = lab.presets.find(({ id }) => id === params.preset)?.mistakes ?? [];
  const mistakes = [...preset, ...(params.without ?? '').split(',')].reduce((all, id) => withMistake(all, id, lab), /** @type {string[]} */ ([]));
  const failure = lab.failures.some(({ id }) => id === params.failure) ? params.failure : lab.failures[0].id;
  return { mistakes, failure, step: Math.max(0, (Number.parseInt(params.step ?? '', 10) || 1) - 1) };
}

/** @param {Choice} choice @param {Lab} lab */
export function toLink({ mistakes, failure, step }, lab) {
  const preset = lab.presets.find((row) => same(row.mistakes, mistakes));
  /** @type {Record<string, string>} */
  const params = preset ? { preset: preset.id } : { without: mistakes.join(',') };
  params.failure = failure;
  if (step > 0) params.step = String(step + 1);
  return params;
}

/** The row of the matrix that has recorded these mistakes. @param {string[]} mistakes @param {Lab} lab */
export const rowOf = (mistakes, lab) => lab.rows.find((row) => same(row.mistakes, mistakes))?.id;

/** One protection can be missing in one way only. @param {string[]} mistakes @param {string} id @param {Lab} lab */
export function withMistake(mistakes, id, lab) {
  const protection = protectionOf(id, lab);
  if (!protection) return mistakes;
  return [...withProtection(mistakes, protection, lab), id];
}

/** @param {string[]} mistakes @param {string} protection @param {Lab} lab */
export const withProtection = (mistakes, protection, lab) => mistakes.filter((id) => protectionOf(id, lab) !== protection);

/** @param {string} mistake @param {Lab} lab */
export const protectionOf = (mistake, lab) => lab.mistakes.find(({ id }) => id === mistake)?.protection;

/** @param {string[]} a @param {string[]} b */
export const same = (a, b) => a.length === b.length && a.every((id) => b.includes(id));
