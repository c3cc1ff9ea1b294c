// What stands still: processes, tables, queues, and the lines between them.

import { PAD } from './measures.js';
import { label, shape, svg, widthOf } from './svg.js';

/** @import { Box, Layout, Pile, Slot, Translate } from './types.js' */

/** @type {Record<string, string>} */
const STATE_TONES = {
  running: 'good', ready: 'good', killed: 'bad', unreachable: 'bad', stopped: 'bad', held: 'paused', frozen: 'paused',
  restarting: 'wait', 'not ready': 'wait',
};
const RELAYS = ['orders-relay', 'orders-relay-2', 'inventory-relay'];
/** @type {Record<string, string>} */
const SLOT_NAMES = {
  orders: 'orders', ordersOutbox: 'outbox_messages', ordersInbox: 'inbox_messages', inventoryInbox: 'inbox_messages',
  reservations: 'reservations', inventoryOutbox: 'outbox_messages', stock: 'stock_items',
  there: 'inventory-service.orders', back: 'order-service.stock',
};

/** @param {Layout} at */
export function frame(at) {
  const parts = [arrowHead()];
  for (const [name, box] of Object.entries(at.nodes)) {
    const kind = ['client', 'text-gateway'].includes(name) ? 'outside' : RELAYS.includes(name) ? 'relay' : name;
    parts.push(svg('rect', { ...rect(box), rx: 10, class: `node ${kind}` }));
  }
  const { x, y, w, h } = at.exchange;
  parts.push(
    svg('path', { class: 'exchange', d: `M${x + 12} ${y}H${x + w - 12}L${x + w} ${y + h / 2}L${x + w - 12} ${y + h}H${x + 12}L${x} ${y + h / 2}Z` }),
    svg('text', { x: x + w / 2, y: y + h / 2 + 4, class: 'slot-name middle' }, 'shop.events'));
  for (const [name, box] of Object.entries(at.slots)) {
    if (name !== 'textMessages') parts.push(svg('rect', { ...rect(box), height: box.h - 6, rx: 6, class: 'slot' }));
  }
  return svg('g', { class: 'frame' }, ...parts);
}

/** @param {Layout} at @param {Set<string>} used @param {(node: string) => string} stateOf */
export function lines(at, used, stateOf) {
  const parts = Object.entries(at.lines).map(([name, points]) => svg('path', {
    class: `line${used.has(name) ? ' used' : ''}${isCut(name, stateOf) ? ' cut' : ''}`,
    d: `M${points.map((point) => point.join(' ')).join('L')}`, 'marker-end': 'url(#pl-arrow)',
  }));
  return parts;
}

/** Whether nothing can move on it: who would move it does not run. @param {string} line @param {(node: string) => string} stateOf */
function isCut(line, stateOf) {
  const mover = line.endsWith('-2') ? 'orders-relay-2'
    : /^(claim|publish)Back$/.test(line) ? 'inventory-relay'
      : /^(claim|publish)$/.test(line) ? 'orders-relay'
        : line === 'deliver' ? 'inventory-service'
          : line === 'deliverBack' || line === 'request' ? 'order-service' : 'broker';
  return STATE_TONES[stateOf(mover)] !== 'good' || /ublish|eliver/.test(line) && STATE_TONES[stateOf('broker')] !== 'good';
}

/** Heads of processes: the name, and how it is. @param {string} name @param {Box} box @param {string} state @param {string} detail @param {Translate} t */
export function head(name, box, state, detail, t) {
  const small = box.h < 80 || box.w < 130;
  const tone = STATE_TONES[state] ?? 'ended';
  const title = label(box.x + PAD, box.y + (small ? 19 : 23), t(`pipeline.${name}`), 'node-name', box.w - 2 * PAD);
  if (name === 'client') return [title, label(box.x + PAD, box.y + 38, 'POST /orders', 'aside', box.w - 2 * PAD)];
  if (name === 'text-gateway') return [label(box.x + 6, box.y + 15, t('pipeline.text-gateway'), 'slot-name', box.w - 12)];
  const words = t(`pipeline.state.${state}`);
  const y = box.y + (small ? 36 : 23);
  const x = box.x + (small ? PAD : box.w - PAD - 16 - widthOf(words, 'state'));
  const word = label(x + 16, y, words, 'state');
  const mark = shape(x, y - 9, tone);
  word.setAttribute('data-tone', tone);
  mark.setAttribute('data-tone', tone);
  const parts = [title, word, mark];
  if (small && detail) parts.push(label(x, y + 15, detail, 'aside', box.w - 2 * PAD));
  return parts;
}

/** The name of a table or queue, and how much is in it. @param {string} name @param {Slot} box @param {Pile} pile @param {Translate} t */
export function slotHead(name, box, pile, t) {
  if (name === 'textMessages') return [];
  const title = label(box.x + 7, box.y + 15, SLOT_NAMES[name] ?? t(`pipeline.${name}`), 'slot-name', box.w - (pile.total ? 12 + widthOf(t('pipeline.count-short', { n: pile.total }), 'aside') : 10));
  if (pile.note) return [title, label(box.x + 8, box.y + box.h - 11, pile.note, 'aside', box.w - 16)];
  if (pile.total === 0) return [title];
  return [title, svg('text', { x: box.x + box.w - 7, y: box.y + 15, class: `aside end${name === 'parked' ? ' alarm' : ''}` }, t('pipeline.count-short', { n: pile.total }))];
}

/** @param {Box} box */
function rect({ x, y, w, h }) {
  return { x: x + 0.75, y: y + 0.75, width: w - 1.5, height: h - 1.5 };
}

function arrowHead() {
  return svg('defs', {}, svg('marker', { id: 'pl-arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto' },
    svg('path', { d: 'M0 0 8 4 0 8Z', class: 'arrow-head' })));
}
