// Where everything stands, in pixels.

import { tall } from './tall.js';
import { wide } from './wide.js';

/**
 * @typedef {{x: number, y: number, w: number, h: number}} Box
 * @typedef {Box & {columns: number, most: number}} Slot a table or a queue; `most` cards fit
 * @typedef {[number, number][]} Line
 * @typedef {{twoRelays: boolean, gateway: boolean}} Wanted
 * @typedef {{width: number, height: number, nodes: Record<string, Box>, slots: Record<string, Slot>, exchange: Box,
 *   lines: Record<string, Line>, captions: Record<string, [number, number]>}} Layout `captions`: where a database says how many transactions wrote
 */

const WIDE_FROM = 1120;
const WIDEST_TALL = 760;

/** The way there above and the way back below; where that has no room, the same loop turned by a quarter. @param {number} width @param {Wanted} wanted @returns {Layout} */
export function layout(width, wanted) {
  return width >= WIDE_FROM ? wide(width, wanted) : tall(Math.min(width, WIDEST_TALL), wanted);
}
