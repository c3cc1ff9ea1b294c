// What this is, and where to see it go wrong.

import { element } from './element.js';

/** @import { Translate } from './types.js' */

const LOSE = '#/lab?preset=naive&failure=crash-after-commit';
const DOUBLE = '#/lab?preset=outbox-only&failure=crash-before-mark';

/** @param {Translate} t */
export function intro(t) {
  const link = (/** @type {string} */ to, /** @type {string} */ key, kind = 'primary') => element('a', { class: `button ${kind}`, href: to }, t(key));
  return element('section', { class: 'intro' },
    element('div', {}, element('h1', {}, t('shop.title')), element('p', { class: 'lead' }, t('shop.lead'))),
    element('div', { class: 'row' }, element('span', {}, t('shop.first')),
      link(LOSE, 'shop.lose'), link(DOUBLE, 'shop.double'), link('#/guide', 'shop.guide', '')));
}
