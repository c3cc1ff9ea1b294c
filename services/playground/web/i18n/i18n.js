// Texts in the reader's language. A part (`shell`, `lab` …) is one file per language, loaded when it is needed.

/** @typedef {Record<string, string | number>} Params */
/** @typedef {(key: string, params?: Params) => string} Translate */
/** @typedef {Record<string, string | ((params: any, number: typeof import('./i18n.js').number) => string)>} Strings */

export const LANGUAGES = { en: 'English', fa: 'فارسی' };
const STORED = 'language';

let current = 'en';
/** @type {Strings} */
let strings = {};
/** @type {Set<string>} */
const parts = new Set();
/** @type {Set<(language: string) => void>} */
const listeners = new Set();

export function language() {
  return current;
}

/** The language of the link, else the last choice, else the browser's, else English. @param {string} [linked] */
export function preferredLanguage(linked) {
  const wishes = [linked, stored(), ...navigator.languages.map((tag) => tag.split('-')[0])];
  return wishes.find((wish) => wish !== undefined && wish in LANGUAGES) ?? 'en';
}

/** @param {string} next */
export async function setLanguage(next) {
  const loaded = await Promise.all([...parts].map((part) => read(next, part)));
  current = next;
  strings = Object.assign({}, ...loaded);
  document.documentElement.lang = next;
  document.documentElement.dir = next === 'fa' ? 'rtl' : 'ltr';
  listeners.forEach((listener) => listener(next));
}

/** Remembers a choice for the next visit. @param {string} chosen */
export function remember(chosen) {
  try {
    localStorage.setItem(STORED, chosen);
  } catch {
    // Storage is refused: the link still carries the language.
  }
}

/** @param {...string} wanted */
export async function loadTexts(...wanted) {
  const missing = wanted.filter((part) => !parts.has(part));
  missing.forEach((part) => parts.add(part));
  const asked = current;
  const loaded = await Promise.all(missing.map((part) => read(asked, part)));
  if (asked === current) Object.assign(strings, ...loaded);
}

/** Strings fill `{name}`; a number is written the way of the language. @type {Translate} */
export function t(key, params = {}) {
  const found = strings[key];
  if (found === undefined) return key;
  if (typeof found === 'function') return found(params, number);
  return found.replace(/\{(\w+)\}/g, (_, name) => {
    const value = params[name] ?? '';
    return typeof value === 'number' ? number(value) : value;
  });
}

/** Short from a thousand on, where `isShort`. @param {number} value @param {boolean} [isShort] */
export function number(value, isShort = false) {
  return new Intl.NumberFormat(current, isShort ? { notation: 'compact', maximumFractionDigits: 1 } : {}).format(value).replace('K', 'k');
}

/** Calls back at every change until the returned function is called. @param {(language: string) => void} listener */
export function onLanguage(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Fills what carries `data-i18n="key"` or `data-i18n-aria-label="key"`. @param {ParentNode} root */
export function translate(root) {
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-i18n]'))) {
    node.textContent = t(node.dataset.i18n ?? '');
  }
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-i18n-aria-label]'))) {
    node.setAttribute('aria-label', t(node.dataset.i18nAriaLabel ?? ''));
  }
}

/** @param {string} of @param {string} part @returns {Promise<Strings>} */
async function read(of, part) {
  return (await import(`./${of}/${part}.js`)).default;
}

function stored() {
  try {
    return localStorage.getItem(STORED) ?? undefined;
  } catch {
    return undefined;
  }
}
