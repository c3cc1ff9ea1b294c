// How a scene names things.

/** @typedef {import('./types.js').Scene} Scene */

export const THERE = 'inventory-service.orders';
export const BACK = 'order-service.stock';

/** Ids that are no longer than this are names. */
const LONGEST_NAME = 12;
const SHORT_ID = 6;

/** @param {Scene} scene @param {string} name */
export function queueOf(scene, name) {
  return scene.queues?.find(({ queue }) => queue === name);
}

/** Ids of version 7 begin with the time and look alike there; their ends differ. @param {unknown} id */
export function shortId(id) {
  const text = String(id);
  return text.length > LONGEST_NAME ? `…${text.slice(-SHORT_ID)}` : text;
}
