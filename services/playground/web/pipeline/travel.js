// Messages that move along the lines.

import { label, svg } from './svg.js';

/** @import { Journey, Point } from './types.js' */

const MILLISECONDS = 600;
const MOST = 8;
const lessMotion = matchMedia('(prefers-reduced-motion: reduce)');

/**
 * One envelope for all that took the same way; those for the way back leave when the others have arrived.
 * @param {Element} layer @param {Record<string, Point[]>} lines @param {Journey[]} journeys
 */
export function travel(layer, lines, journeys) {
  if (lessMotion.matches) return;
  /** @type {Map<string, {points: [number, number][], labels: string[], back: boolean}>} */
  const ways = new Map();
  for (const { lines: names, label: words } of journeys) {
    const points = names.flatMap((name) => lines[name] ?? []);
    const way = ways.get(names.join()) ?? { points, labels: [], back: names.some((name) => name.endsWith('Back')) };
    way.labels.push(words);
    ways.set(names.join(), way);
  }
  const both = [...ways.values()].some(({ back }) => back) && [...ways.values()].some(({ back }) => !back);
  for (const { points, labels, back } of [...ways.values()].slice(0, MOST)) {
    if (points.length > 1) send(layer, points, labels.length > 1 ? `× ${labels.length}` : labels[0], both && back ? MILLISECONDS : 0);
  }
}

/** @param {Element} layer @param {[number, number][]} points @param {string} words @param {number} delay */
function send(layer, points, words, delay) {
  const width = 26 + 7 * words.length;
  const envelope = svg('g', { class: 'envelope' },
    svg('rect', { x: -width / 2, y: -11, width, height: 22, rx: 4 }),
    svg('path', { d: `M${7 - width / 2} -4h11v8h-11zl5.5 4.5 5.5-4.5` }),
    label(22 - width / 2, 4, words, 'aside'));
  layer.append(envelope);
  const moving = envelope.animate(frames(points), { duration: MILLISECONDS, delay, easing: 'ease-in-out', fill: 'backwards' });
  moving.onfinish = moving.oncancel = () => envelope.remove();
}

/** Each point at its share of the way. @param {[number, number][]} points */
function frames(points) {
  const lengths = points.map(([x, y], at) => (at === 0 ? 0 : Math.hypot(x - points[at - 1][0], y - points[at - 1][1])));
  const whole = lengths.reduce((sum, one) => sum + one, 0);
  let gone = 0;
  return points.map(([x, y], at) => {
    gone += lengths[at];
    return { transform: `translate(${x}px, ${y}px)`, offset: whole === 0 ? at / (points.length - 1) : Math.min(1, gone / whole) };
  });
}
