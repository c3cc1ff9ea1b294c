// A static copy of the page has no shop behind it.

import { element } from './element.js';
import { intro } from './intro.js';

/** @import { Context } from './types.js' */

/** The export writes it into the page, so that nobody asks a server for what it can't have. */
export function isRecorded() {
  return 'recorded' in document.body.dataset;
}

/** @param {HTMLElement} host @param {Context} context @returns {() => void} the way to end it */
export function recorded(host, { t, onLanguage }) {
  draw();
  return onLanguage(draw);

  function draw() {
    host.replaceChildren(intro(t), element('p', { class: 'banner' }, t('shop.recorded')));
  }
}
