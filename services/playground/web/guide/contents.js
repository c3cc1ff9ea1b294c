// The way through the guide: all chapters with their questions, the list beside a chapter, the next one.
// `nav` is the name of the page's own navigation in style.css, so a role says what these are.

import { element } from '../shop/element.js';

/** @typedef {import('./guide.js').Entry} Entry */
/** @typedef {import('../i18n/i18n.js').Translate} Translate */

/** @param {Entry[]} entries @param {Translate} t */
export function overview(entries, t) {
  const cards = entries.map((entry) => element('li', {},
    element('a', { class: 'card', href: address(entry) }, number(entry, t), element('b', {}, entry.title), element('span', {}, entry.question))));
  return element('div', { class: 'guide-overview' },
    element('h1', { tabindex: -1 }, t('guide.title')), element('p', { class: 'lead' }, t('guide.lead')), element('ol', {}, ...cards));
}

/** @param {Entry[]} entries @param {number} page @param {Translate} t */
export function contents(entries, page, t) {
  const items = entries.map((entry) => element('li', {},
    element('a', { href: address(entry), 'aria-current': entry.n === page ? 'page' : null }, number(entry, t), entry.title)));
  return element('div', { role: 'navigation', class: 'guide-contents', 'aria-label': t('guide.contents') },
    element('a', { href: '#/guide' }, t('guide.all')), element('ol', {}, ...items));
}

/** To the chapters before and after. @param {Entry[]} entries @param {number} page @param {Translate} t */
export function turning(entries, page, t) {
  const way = [[entries[page - 2], 'guide.previous'], [entries[page], 'guide.next']];
  const links = way.filter(([entry]) => entry).map(([entry, key]) => link(/** @type {Entry} */ (entry), /** @type {string} */ (key), t));
  return element('div', { role: 'navigation', class: 'guide-turning', 'aria-label': t('guide.onward') }, ...links);
}

/** @param {Entry} entry @param {string} key @param {Translate} t */
function link(entry, key, t) {
  return element('a', { class: 'card', href: address(entry), rel: key === 'guide.next' ? 'next' : 'prev' },
    element('span', {}, t(key)), element('b', {}, entry.title));
}

/** @param {Entry} entry */
const address = ({ n }) => `#/guide/${n}`;

/** @param {Entry} entry @param {Translate} t */
const number = ({ n }, t) => element('span', { class: 'guide-number', 'aria-hidden': 'true' }, t('guide.number', { n }));
