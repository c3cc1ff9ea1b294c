// Between whom a step happens: what the sequence diagram draws.

/** @typedef {import('./server.js').Step} Step */
/** @typedef {{from: string, to: string, both?: boolean, failed?: boolean}} Arrow `from` and `to` are the same where nothing travels */

const ORDER = ['client', 'order-service', 'orders-db', 'orders-relay', 'orders-relay-2', 'broker', 'inventory-service', 'inventory-db', 'inventory-relay', 'text-gateway'];
const RARE = ['orders-relay-2', 'text-gateway'];
const WRITES = ['C2', 'C3', 'C4', 'C5', 'C6', 'C10', 'C12', 'C13', 'C14', 'C16', 'C19', 'C20', 'C22', 'marked-too-soon'];
const SENDS = ['C7', 'C9', 'C17', 'C23', 'published-directly', 'acked-too-soon'];
const RECEIVES = ['C11', 'C18'];

/** @param {Step[]} steps */
export const lifelines = (steps) => ORDER.filter((actor) => !RARE.includes(actor) || steps.some((step) => step.actor === actor));

/** @param {Step} step @returns {Arrow} */
export function arrowOf({ actor, kind, point = '' }) {
  if (kind === 'request') return { from: actor, to: 'order-service' };
  if (kind === 'answer' || kind === 'no-answer') return { from: 'order-service', to: actor, failed: kind === 'no-answer' };
  if (actor === 'text-gateway') return { from: 'inventory-service', to: actor, failed: kind === 'refused-copy' };
  if (actor === 'lab') {
    const place = kind === 'cleaned' ? 'inventory-db' : 'broker';
    return { from: place, to: place };
  }
  if (kind === 'passed') {
    if (WRITES.includes(point)) return { from: actor, to: actor.startsWith('order') ? 'orders-db' : 'inventory-db' };
    if (SENDS.includes(point)) return { from: actor, to: 'broker' };
    if (RECEIVES.includes(point)) return { from: 'broker', to: actor };
    // There and back: published, and confirmed.
    if (point === 'C8') return { from: actor, to: 'broker', both: true };
  }
  return { from: actor, to: actor };
}
