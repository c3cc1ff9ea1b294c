// Where everything stands, in pixels.

import { tall } from './tall.js';
import { wide } from './wide.js';

/** @import { Layout, Wanted } from './types.js' */

const WIDE_FROM = 1120;
const WIDEST_TALL = 760;

/** The way there above and the way back below; where that has no room, the same loop turned by a quarter. @param {number} width @param {Wanted} wanted @returns {Layout} */
export function layout(width, wanted) {
  return width >= WIDE_FROM ? wide(width, wanted) : tall(Math.min(width, WIDEST_TALL), wanted);
}
