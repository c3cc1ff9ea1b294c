// What needs a person: dead messages of the outboxes, parked messages of the inboxes.

import { shortId } from '../pipeline/scene.js';
import { post } from './api.js';
import { button, code, element, pill } from './element.js';
import { isParked, rowsOf } from './scene.js';

/** @import { Say, Snapshot, Translate } from './types.js' */

/** @param {Translate} t @param {Say} say */
export function letters(t, say) {
  const list = element('ul', { class: 'letters', id: 'letters' });
  const poison = button(t('shop.poison'), async () => {
    const answer = await post('api/poison', { once: true });
    if (answer.ok) say('wait', t('shop.poisoned'));
    else say('bad', answer.problem);
  });
  poison.hidden = true;
  /** @type {{path: string, title: string, word: string, why: string}[]} */
  let dead = [];
  let seenDead = /** @type {number | null} */ (0);
  let drawn = '';
  return { list, poison, show };

  /** @param {Snapshot} snapshot */
  function show(snapshot) {
    poison.hidden = !snapshot.lab;
    const count = snapshot.counters?.dead ?? 0;
    if (count !== seenDead) {
      seenDead = count;
      readDead().then(() => draw(snapshot));
    }
    draw(snapshot);
  }

  /** They may be older than the rows of the snapshot. */
  async function readDead() {
    const read = await Promise.all(['orders', 'inventory'].map(async (of) => {
      const response = await fetch(`api/outbox/${of}?state=dead`).catch(() => null);
      const { items = [] } = response?.ok ? await response.json() : {};
      return items.map((/** @type {any} */ item) => ({ path: `api/outbox/${of}/${encodeURIComponent(item.messageId)}`,
        title: `${item.type} ${shortId(item.messageId)}`, word: 'dead', why: String(item.lastError ?? '') }));
    }));
    dead = read.flat();
  }

  /** @param {Snapshot} snapshot */
  function draw(snapshot) {
    const parked = rowsOf(snapshot, 'parked').filter(isParked).map((row) => ({
      path: `api/parked/${String(row.consumer).startsWith('inventory') ? 'inventory' : 'orders'}/${encodeURIComponent(String(row.parkedId))}`,
      title: `${row.type ?? t('pipeline.no-id')} ${row.messageId === null ? '' : shortId(row.messageId)}`, word: 'parked', why: `${row.reason}: ${row.detail}` }));
    const all = [...dead, ...parked];
    const now = JSON.stringify([all, snapshot.lab]);
    if (now === drawn) return;
    drawn = now;
    list.replaceChildren(...all.map((letter) => item(letter, Boolean(snapshot.lab))));
    if (all.length === 0) list.append(element('li', { class: 'none' }, t('shop.no-letters')));
  }

  /** @param {{path: string, title: string, word: string, why: string}} letter @param {boolean} lab */
  function item({ path, title, word, why }, lab) {
    const act = (/** @type {string} */ name, /** @type {unknown} */ body) => button(t(`shop.do.${name}`), async () => {
      const answer = await post(`${path}/${name}`, { body, once: true });
      if (answer.ok) say('good', t(`shop.done.${name}`, { name: title }));
      else say('bad', answer.problem);
      await readDead();
    }, { 'aria-label': t('shop.do-to', { act: t(`shop.do.${name}`), name: title }) });
    return element('li', {}, element('div', { class: 'row' }, pill('bad', t(`pipeline.counter.${word}`)), code(title),
      ...(lab ? [act('retry', {}), act('discard', { reason: 'discarded on the page' })] : [])),
    element('p', { class: 'facts' }, element('bdi', { dir: 'ltr' }, why)));
  }
}
