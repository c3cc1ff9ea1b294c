// What this is, and where to see it go wrong.

import { DOUBLE, LOSE } from '../lab/choice.js';
import { formatHash } from '../shell/hash.js';
import { element } from './element.js';

/** @import { Translate } from './types.js' */

/** @param {Translate} t */
export function intro(t) {
  /** Runs at once. @param {{mistakes: string[], failure: string}} choice */
  const lab = ({ mistakes, failure }) => formatHash({ view: 'lab', params: { without: mistakes.join(','), failure, run: 'now' } });
  const link = (/** @type {string} */ to, /** @type {string} */ key, kind = 'primary') => element('a', { class: `button ${kind}`, href: to }, t(key));
  return element('section', { class: 'intro' },
    element('div', {}, element('h1', {}, t('shop.title')), element('p', { class: 'lead' }, t('shop.lead'))),
    element('div', { class: 'row' }, element('span', {}, t('shop.first')),
      link(lab(LOSE), 'shop.lose'), link(lab(DOUBLE), 'shop.double'), link('#/guide', 'shop.guide', '')));
}
