// Between whom a step happens: what the sequence diagram draws.

/** @import { Arrow, Step } from './types.js' */

const ORDER = ['client', 'order-service', 'orders-db', 'orders-relay', 'orders-relay-2', 'broker', 'inventory-service', 'inventory-db', 'inventory-relay', 'text-gateway'];
const RARE = ['orders-relay-2', 'text-gateway'];
const WRITES = ['C2', 'C3', 'C4', 'C5', 'C6', 'C10', 'C12', 'C13', 'C14', 'C16', 'C19', 'C20', 'C22', 'marked-too-soon'];
const SENDS = ['C7', 'C8', 'C9', 'C17', 'C23', 'published-directly', 'acked-too-soon'];
const RECEIVES = ['C11', 'C18'];

/** @param {Step[]} steps */
export const lifelines = (steps) => ORDER.filter((actor) => !RARE.includes(actor) || steps.some((step) => step.actor === actor));

/** @type {(step: Step) => Arrow} */
export function arrowOf({ actor, kind, point = '' }) {
  if (kind === 'request') return { from: actor, to: 'order-service' };
  if (kind === 'answer' || kind === 'no-answer') return { from: 'order-service', to: actor, failed: kind === 'no-answer' };
  if (actor === 'text-gateway') return { from: 'inventory-service', to: actor, failed: kind === 'refused-copy' };
  const place = actor === 'lab' ? (kind === 'cleaned' ? 'inventory-db' : 'broker') : actor;
  if (kind !== 'passed') return { from: place, to: place };
  if (WRITES.includes(point)) return { from: actor, to: actor.startsWith('order') ? 'orders-db' : 'inventory-db' };
  if (RECEIVES.includes(point)) return { from: 'broker', to: actor };
  // C8 has been there and back: published, and confirmed.
  return { from: actor, to: SENDS.includes(point) ? 'broker' : actor, both: point === 'C8' };
}
