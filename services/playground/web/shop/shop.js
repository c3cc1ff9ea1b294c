// The live shop: one stream of snapshots feeds everything on it.

import { Pipeline } from '../pipeline/pipeline.js';
import { connection } from './connection.js';
import { controls } from './controls.js';
import { element } from './element.js';
import { intro } from './intro.js';
import { letters } from './letters.js';
import { listen } from './live.js';
import { orderForm } from './order-form.js';
import { isRecorded, recorded } from './recorded.js';
import { rowsOf, sceneOf } from './scene.js';
import { tables } from './tables.js';
import { timeline } from './timeline.js';

/** @import { Context, Snapshot, View } from './types.js' */

/** A real order takes a blink: what it changed stays marked for longer. */
const HOLD_MILLISECONDS = 3000;

/** @param {HTMLElement} host @param {Context} context @returns {View} */
export function mount(host, context) {
  if (isRecorded()) return { unmount: recorded(host, context) };
  const state = connection(context.t);
  /** The order that is followed: the one that was picked, else the newest. @type {{order: string | null}} */
  const picked = { order: null };
  /** @type {Snapshot | null} */
  let last = null;
  let screen = shopScreen(host, context, picked);
  const stopTexts = context.onLanguage(() => {
    screen.end();
    screen = shopScreen(host, context, picked);
    state.draw();
    if (last) screen.show(last);
  });
  const stopListening = listen({
    onState(now) {
      state.show(now);
      if (now === 'open') screen.isBack();
    },
    onSnapshot(snapshot) {
      last = snapshot;
      screen.show(snapshot);
    },
  });

  return {
    unmount() {
      stopListening();
      stopTexts();
      screen.end();
      state.end();
    },
  };
}

/** @param {HTMLElement} host @param {Context} context @param {{order: string | null}} picked */
function shopScreen(host, { t }, picked) {
  const form = orderForm(t);
  const processes = controls(t, form.say);
  const follow = timeline(t, form.say);
  const decisions = letters(t, form.say);
  const rows = tables(t, form.say, pick);
  const errors = element('div', { class: 'banner', id: 'errors', role: 'status', hidden: '' });
  const picture = section('picture', t('shop.h.picture'), t('shop.picture'));
  /** @type {Snapshot} */
  let shown = {};
  host.replaceChildren(
    intro(t), errors,
    section('order', t('shop.h.order'), t('shop.order'), ...form.parts),
    picture,
    section('break', t('shop.h.break'), t('shop.break'), processes.list),
    element('div', { class: 'pair' },
      section('follow', t('shop.h.follow'), t('shop.follow-hint'), follow.place),
      section('decide', t('shop.h.decide'), t('shop.decide'), decisions.list, decisions.poison)),
    element('details', { class: 'all-rows', open: '' }, element('summary', {}, element('h2', {}, t('shop.h.rows'))), element('div', { class: 'tables' }, ...rows.parts)));
  const pipeline = new Pipeline(picture, { t, onPick: ({ id }) => pick(id), hold: HOLD_MILLISECONDS });
  return { show, end, isBack: form.isBack };

  /** @param {Snapshot} snapshot */
  function show(snapshot) {
    shown = snapshot;
    pipeline.show(sceneOf(snapshot, t));
    processes.show(snapshot);
    decisions.show(snapshot);
    rows.show(snapshot.tables ?? {});
    form.offer(snapshot.tables?.stock);
    drawFollowed();
    const words = (snapshot.errors ?? []).join('\n');
    if (errors.textContent !== words) errors.textContent = words; // said once, not with every snapshot
    errors.hidden = words === '';
  }

  /** @param {string} order */
  function pick(order) {
    picked.order = picked.order === order ? null : order;
    pipeline.pick(picked.order);
    drawFollowed();
  }

  function drawFollowed() {
    const newest = rowsOf(shown, 'orders')[0]?.orderId;
    follow.show(shown, picked.order ?? (newest === undefined ? null : String(newest)));
  }

  function end() {
    form.end();
    pipeline.destroy();
  }
}

/** @param {string} id @param {string} title @param {string} words @param {...Node} parts */
function section(id, title, words, ...parts) {
  return element('section', { class: `card ${id}`, 'aria-labelledby': `h-${id}` },
    element('header', { class: 'card-head' }, element('h2', { id: `h-${id}` }, title), element('p', {}, words)), ...parts);
}
