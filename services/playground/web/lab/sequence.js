// The sequence diagram: a row per step, as high as the step's line in the list beside it.

import { svg } from '../pipeline/svg.js';
import { element } from '../shop/element.js';
import { arrowOf, lifelines } from './arrows.js';
import { actorName } from './steps.js';

/** @import { Pick, Step, Trace, Translate } from './types.js' */

const WIDE = 88;
const HIGH = 40;
const CROSS = 'm-5-5 10 10m0-10-10 10';
const START = 'm-4-5 8 5-8 5z';
/** What happens to one process alone; everything else is a diamond. @type {Record<string, string>} */
const SHAPES = { killed: CROSS, stopped: CROSS, held: 'm-3-5v10m6-10v10', released: START, started: START };

/** @param {Trace} trace @param {Translate} t @param {Pick} pick */
export function drawSequence({ steps, states }, t, pick) {
  const actors = lifelines(steps);
  const width = actors.length * WIDE;
  const x = (/** @type {string} */ actor) => (actors.indexOf(actor) + 0.5) * WIDE;
  const heads = actors.map((actor) => element('span', {}, actorName(actor, t)));
  const rows = steps.map((step, at) => {
    const row = svg('g', { transform: `translate(0 ${at * HIGH})` }, svg('rect', { width, height: HIGH }), ...drawStep(step, x));
    row.addEventListener('click', () => pick(at));
    return row;
  });
  const lines = actors.flatMap((actor) => lifeline(actor, steps, x(actor), states[0].processes[actor] === 'absent'));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${steps.length * HIGH}` }, ...lines, ...rows);
  const head = element('div', {}, ...heads);
  const node = element('div', { class: 'lab-sequence', role: 'img', tabindex: 0, 'aria-label': t('lab.sequence') }, head, picture);
  head.style.inlineSize = picture.style.inlineSize = `${width / 16}rem`;
  picture.style.blockSize = `${(steps.length * HIGH) / 16}rem`;
  return { node, rows };
}

/** Dotted while its process is absent, dead or held. @type {(actor: string, steps: Step[], x: number, isAbsent: boolean) => SVGElement[]} */
function lifeline(actor, steps, x, isAbsent) {
  let y = 0;
  let state = isAbsent ? 'life down' : 'life';
  const until = (/** @type {number} */ end) => svg('path', { d: `M${x} ${y}V${(y = end)}`, class: state });
  const lines = steps.flatMap(({ kind, actor: who }, at) => {
    if (who !== actor || !(kind in SHAPES)) return [];
    const line = until((at + 0.5) * HIGH);
    state = SHAPES[kind] === START ? 'life' : 'life down';
    return [line];
  });
  return [...lines, until(steps.length * HIGH)];
}

/** @param {Step} step @param {(actor: string) => number} x */
function drawStep(step, x) {
  const { from, to, both, failed } = arrowOf(step);
  const y = HIGH / 2;
  const label = step.point?.startsWith('C') ? step.point : '';
  if (from === to) {
    const mark = svg('path', { d: `M${x(from)} ${y}${SHAPES[step.kind] ?? 'm0-4 4 4-4 4-4-4z'}`, class: `mark ${step.kind}` });
    return [mark, svg('text', { x: x(from) + 10, y: y + 4 }, label)];
  }
  const way = Math.sign(x(to) - x(from));
  const [start, end] = [x(from) + 4 * way, x(to) - 4 * way];
  const middle = (start + end) / 2;
  const head = (/** @type {number} */ back) => `m${back}-4l${-back} 4l${back} 4`;
  const line = svg('path', { d: `M${start} ${y}H${end}${head(-6 * way)}${both ? `M${start} ${y}${head(6 * way)}` : ''}`, class: failed ? 'way failed' : 'way' });
  const cross = failed ? [svg('path', { d: `M${middle} ${y}${CROSS}`, class: 'mark killed' })] : [];
  return [line, ...cross, svg('text', { x: middle, y: y - 5, 'text-anchor': 'middle' }, label)];
}
