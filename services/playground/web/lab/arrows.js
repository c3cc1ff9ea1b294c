// Between whom a step happens: what the sequence diagram draws.

/** @import { Arrow, Step } from './types.js' */

const ORDER = ['client', 'order-service', 'orders-db', 'orders-relay', 'orders-relay-2', 'broker', 'inventory-service', 'inventory-db', 'inventory-relay', 'text-gateway'];
const RARE = ['orders-relay-2', 'text-gateway'];
const WRITES = ['C2', 'C3', 'C4', 'C5', 'C6', 'C10', 'C12', 'C13', 'C14', 'C16', 'C19', 'C20', 'C22', 'inbox-row-committed', 'taken-again'];
const SENDS = ['C7', 'C8', 'C9', 'C17', 'C23', 'acked-too-soon', 'direct-publish-answered', 'direct-publish-failed', 'dropped-by-the-broker'];
/** There and back: published, and confirmed. */
const ANSWERED = ['C8', 'direct-publish-answered', 'dropped-by-the-broker'];
const RECEIVES = ['C11', 'C18'];

/** @param {Step[]} steps */
export const lifelines = (steps) => ORDER.filter((actor) => !RARE.includes(actor) || steps.some((step) => step.actor === actor));

/** @type {(step: Step) => Arrow} */
export function arrowOf({ actor, kind, point = '', source }) {
  if (kind === 'request') return { from: actor, to: 'order-service' };
  if (kind === 'answer' || kind === 'no-answer') return { from: 'order-service', to: actor, failed: kind === 'no-answer' };
  if (actor === 'text-gateway') return { from: 'inventory-service', to: actor, failed: kind === 'refused-copy' };
  if (['ready', 'healed', 'verdict'].includes(kind)) return { from: '', to: '' };
  const place = actor === 'lab' ? 'broker' : actor;
  // Whoever publishes by himself writes no outbox row at C3.
  const isBare = point === 'C3' && source?.file.includes('publish_');
  if (kind !== 'passed' || isBare) return { from: place, to: place };
  if (WRITES.includes(point)) return { from: actor, to: actor.startsWith('order') ? 'orders-db' : 'inventory-db' };
  if (RECEIVES.includes(point)) return { from: 'broker', to: actor };
  return { from: actor, to: SENDS.includes(point) ? 'broker' : actor, both: ANSWERED.includes(point), failed: point.endsWith('failed') };
}
