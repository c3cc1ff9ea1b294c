// The strip of processes, and the state of each beside its place in the flow.

import { element } from './element.js';
import { highlight, unmark } from './highlight.js';
import { counted, status } from './values.js';

const strip = /** @type {HTMLElement} */ (document.getElementById('processes'));

/** What the strip shows, by name. @type {Map<string, {card: HTMLElement, drawn: string}>} */
const cards = new Map();

/** @param {import('./live.js').Process[]} processes */
export function showProcesses(processes) {
  for (const [name, { card }] of cards) {
    if (processes.some((process) => process.name === name)) continue;
    unmark(card);
    card.remove();
    cards.delete(name);
  }
  for (const process of processes) showProcess(process);
}

/** @param {import('./live.js').Process} process */
function showProcess(process) {
  const drawn = JSON.stringify(process);
  const known = cards.get(process.name);
  if (known?.drawn === drawn) return;
  const card = known?.card ?? strip.appendChild(element('li'));
  card.replaceChildren(...contents(process));
  cards.set(process.name, { card, drawn });
  if (known) highlight(card);
  for (const place of document.querySelectorAll('[data-process]')) {
    if (place.getAttribute('data-process') === process.name) place.replaceChildren(status(process.state));
  }
}

/** @param {import('./live.js').Process} process */
function contents({ name, url, pid, state, restarts }) {
  return [
    element('strong', {}, name),
    status(state),
    element('span', { class: 'facts' },
      pid === null || pid === undefined ? 'no pid' : `pid ${pid}`, ' · ',
      restarts ? counted(restarts, 'restart') : 'no restarts'),
    address(url),
  ];
}

/** @param {string} url */
function address(url) {
  const shown = url.replace(/^https?:\/\//, '');
  return /^https?:\/\//.test(url) ? element('a', { href: url }, shown) : element('span', {}, shown);
}
