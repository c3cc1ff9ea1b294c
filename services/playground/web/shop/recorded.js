// A static copy of the page has no shop behind it.

import { element } from './element.js';
import { intro } from './intro.js';

/** @import { Context } from './types.js' */

export async function isRecorded() {
  const lab = await fetch('lab.json').then((response) => response.json()).catch(() => null);
  return lab?.mode === 'export';
}

/** @param {HTMLElement} host @param {Context} context @returns the way to end it */
export function recorded(host, { t, onLanguage }) {
  draw();
  return onLanguage(draw);

  function draw() {
    host.replaceChildren(intro(t), element('p', { class: 'banner' }, t('shop.recorded')));
  }
}
