// The names of the two queues in a scene.

/** @typedef {import('./types.js').Scene} Scene */

export const THERE = 'inventory-service.orders';
export const BACK = 'order-service.stock';

/** @param {Scene} scene @param {string} name */
export function queueOf(scene, name) {
  return scene.queues?.find(({ queue }) => queue === name);
}
