// The sequence diagram: a row per step, as high as the step's line in the list beside it.

import { svg } from '../pipeline/svg.js';
import { element } from '../shop/element.js';
import { arrowOf, lifelines } from './arrows.js';

/** @typedef {import('./server.js').Step} Step */

const WIDE = 88;
const HIGH = 40;
const CROSS = 'm-5-5 10 10m0-10-10 10';
/** The shape of what happens to one process alone. @type {Record<string, string>} */
const SHAPES = { killed: CROSS, stopped: CROSS, held: 'm-3-5v10m6-10v10', released: 'm-4-5 8 5-8 5z', started: 'm-4-5 8 5-8 5z' };
const POINT = 'm0-4 4 4-4 4-4-4z';

/** @param {Step[]} steps @param {(key: string) => string} t @param {(step: number) => void} pick */
export function drawSequence(steps, t, pick) {
  const actors = lifelines(steps);
  const width = actors.length * WIDE;
  const x = (/** @type {string} */ actor) => actors.indexOf(actor) * WIDE + WIDE / 2;
  const heads = element('div', { class: 'lab-heads', 'aria-hidden': 'true' }, ...actors.map((actor) => element('span', {}, t(`lab.actor.${actor}`))));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${steps.length * HIGH}`, role: 'img', 'aria-label': t('lab.sequence') });
  picture.append(...actors.flatMap((actor) => lifeline(actor, steps, x(actor))));
  const rows = steps.map((step, at) => {
    const row = svg('g', { transform: `translate(0 ${at * HIGH})` }, svg('rect', { width, height: HIGH, class: 'row' }), ...drawStep(step, x));
    row.addEventListener('click', () => pick(at));
    return row;
  });
  picture.append(...rows);
  const node = element('div', { class: 'lab-sequence' }, heads, picture);
  node.style.inlineSize = `${width / 16}rem`;
  picture.style.blockSize = `${(steps.length * HIGH) / 16}rem`;
  return { node, rows };
}

/** Broken while its process is dead or held. @param {string} actor @param {Step[]} steps @param {number} x */
function lifeline(actor, steps, x) {
  /** @type {SVGElement[]} */
  const lines = [];
  let from = 0;
  let isDown = false;
  const until = (/** @type {number} */ y) => lines.push(svg('path', { d: `M${x} ${from}V${(from = y)}`, class: isDown ? 'life down' : 'life' }));
  steps.forEach((step, at) => {
    const isEnd = ['killed', 'stopped', 'held'].includes(step.kind);
    if (step.actor !== actor || !(isEnd || ['started', 'released'].includes(step.kind))) return;
    until((at + 0.5) * HIGH);
    isDown = isEnd;
  });
  until(steps.length * HIGH);
  return lines;
}

/** @param {Step} step @param {(actor: string) => number} x */
function drawStep(step, x) {
  const { from, to, both, failed } = arrowOf(step);
  const y = HIGH / 2;
  const label = step.point?.startsWith('C') ? step.point : '';
  if (from === to) {
    const shape = SHAPES[step.kind] ?? POINT;
    return [svg('path', { d: `M${x(from)} ${y}${shape}`, class: `mark ${step.kind}` }), text(label, x(from) + 10, y + 4, 'start')];
  }
  const way = Math.sign(x(to) - x(from));
  const [start, end] = [x(from) + 4 * way, x(to) - 4 * way];
  const parts = [svg('path', { d: `M${start} ${y}H${end}${head(way)}${both ? `M${start} ${y}${head(-way)}` : ''}`, class: failed ? 'arrow failed' : 'arrow' })];
  if (failed) parts.push(svg('path', { d: `M${(start + end) / 2} ${y}${CROSS}`, class: 'mark killed' }));
  return [...parts, text(label, (start + end) / 2, y - 5, 'middle')];
}

/** @param {number} way */
const head = (way) => `m${-6 * way}-4l${6 * way} 4l${-6 * way} 4`;

/** @param {string} words @param {number} x @param {number} y @param {string} anchor */
const text = (words, x, y, anchor) => svg('text', { x, y, 'text-anchor': anchor }, words);
