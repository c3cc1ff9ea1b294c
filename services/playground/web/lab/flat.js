/** @typedef {string | ((params: any, number: typeof import('../i18n/i18n.js').number) => string) | [string, string] | {[key: string]: Nested}} Nested */

/**
 * Joins nested keys with dots. A pair `key: [name, line]` becomes `key` and `key.how`.
 * @param {string} prefix
 * @param {{[key: string]: Nested}} texts
 * @returns {import('../i18n/i18n.js').Strings}
 */
export function flat(prefix, texts) {
  return Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => entries(`${prefix}.${key}`, text)));
}

/** @param {string} key @param {Nested} text @returns {[string, import('../i18n/i18n.js').Strings[string]][]} */
function entries(key, text) {
  if (typeof text !== 'object') return [[key, text]];
  if (Array.isArray(text)) return [[key, text[0]], [`${key}.how`, text[1]]];
  return Object.entries(flat(key, text));
}
