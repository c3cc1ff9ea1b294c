// A bracket around the rows that one transaction wrote.

import { label, svg } from './svg.js';

/** @import { Box, Layout, Translate } from './types.js' */

/** With more of them at once nobody could tell them apart. */
const MOST = 4;

/** @param {string[][]} transactions @param {Map<string, Box>} places @param {Layout} layout @param {Translate} t */
export function bracketsOf(transactions, places, layout, t) {
  const drawn = transactions // the newest first
    .map((keys) => keys.flatMap((key) => places.get(key) ?? []))
    .filter((boxes) => boxes.length > 1)
    .slice(0, MOST);
  const captions = ['order-service', 'inventory-service'].flatMap((name) => {
    const { x, y, w, h } = layout.nodes[name];
    const n = drawn.filter(([box]) => box.x > x && box.x < x + w && box.y > y && box.y < y + h).length;
    const [atX, atY] = layout.captions[name];
    return n === 0 ? [] : [label(atX, atY, t('pipeline.transactions', { n }), 'caption')];
  });
  return [...drawn.map((boxes, at) => bracket(boxes, at, t('pipeline.transaction', { n: boxes.length }))), ...captions];
}

/** The rows get an outline each; a spine in the gutter joins them, beside those of other transactions. @param {Box[]} boxes @param {number} at @param {string} words */
function bracket(boxes, at, words) {
  const nearest = Math.min(...boxes.map(({ x, w }) => x + w));
  const spine = nearest + 9 + 5 * (at % 3);
  const middles = boxes.map(({ y, h }) => y + h / 2);
  const ticks = boxes.map(({ x, y, w, h }) => `M${x < spine ? x + w : x} ${y + h / 2}H${spine}`);
  const [top, bottom] = [Math.min(...middles), Math.max(...middles)];
  return svg('g', { class: 'bracket', role: 'img', 'aria-label': words },
    ...boxes.map(({ x, y, w, h }) => svg('rect', { x: x - 1.5, y: y - 1.5, width: w + 3, height: h + 3, rx: 6 })),
    svg('path', { d: `${ticks.join('')}M${spine} ${top}V${bottom}` }));
}
