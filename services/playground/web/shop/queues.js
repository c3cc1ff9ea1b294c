// The broker's queues, each on its way: there or back. A dead-letter queue stands beside its queue.

import { element } from './element.js';
import { highlight, unmark } from './highlight.js';
import { counted, number } from './values.js';

const places = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-queues]')]);

/** What is shown, by queue. @type {Map<string, {item: HTMLElement, drawn: string}>} */
const items = new Map();

for (const place of places) {
  place.append(element('li', { class: 'note' }, 'No queue yet: the services declare it when they first connect.'));
}

/** @param {import('./live.js').Queue[]} queues */
export function showQueues(queues) {
  for (const [name, { item }] of items) {
    if (queues.some(({ queue }) => queue === name)) continue;
    unmark(item);
    item.remove();
    items.delete(name);
  }
  for (const queue of queues) showQueue(queue);
  for (const place of places) {
    const note = /** @type {HTMLElement} */ (place.firstElementChild);
    note.hidden = place.children.length > 1;
  }
}

/** @param {import('./live.js').Queue} queue */
function showQueue(queue) {
  const drawn = JSON.stringify(queue);
  const known = items.get(queue.queue);
  if (known?.drawn === drawn) return;
  const item = known?.item ?? placeOf(queue.queue).appendChild(element('li'));
  item.replaceChildren(
    element('code', {}, queue.queue),
    element('span', { class: 'ready' }, element('b', {}, number(queue.ready)), ' waiting'),
    element('span', { class: 'facts' }, consumers(queue.consumers)),
  );
  item.classList.toggle('waiting', queue.ready > 0);
  items.set(queue.queue, { item, drawn });
  if (known) highlight(item);
}

/** @param {string} queue */
function placeOf(queue) {
  return places.find((place) => queue.startsWith(place.dataset.queues ?? '')) ?? places[0];
}

/**
 * The queue in SQL does not know its consumers.
 * @param {number | null} count
 */
function consumers(count) {
  if (count === null) return '';
  return count === 0 ? 'no consumer' : counted(count, 'consumer');
}
