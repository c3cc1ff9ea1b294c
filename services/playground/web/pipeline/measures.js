// Sizes that both layouts share, in pixels.

/** @import { Slot } from './types.js' */

export const CARD = 36;
export const GAP = 6;
export const SLOT_HEAD = 22;
export const NODE_HEAD = 36;
export const PAD = 10;
/** Between the columns of a database: the bracket of a transaction runs here. */
export const GUTTER = 20;
export const BAND = 44;
export const RELAY = 58;
const MORE = 16;

/** @param {number} cards */
export function slotHeight(cards) {
  return SLOT_HEAD + cards * (CARD + GAP) + MORE;
}

/** @param {number} x @param {number} y @param {number} w @param {number} rows @param {number} [columns] @returns {Slot} */
export function slot(x, y, w, rows, columns = 1) {
  return { x, y, w, h: slotHeight(rows), columns, most: rows * columns };
}
