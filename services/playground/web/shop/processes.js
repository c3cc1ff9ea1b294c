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
function contents(process) {
  const head = [element('strong', {}, process.name), status(process.state)];
  return process.restarts === undefined ? [...head, ...elsewhere(process)] : [...head, ...child(process)];
}

/**
 * A process that the page has started itself, on this machine.
 * @param {import('./live.js').Process} process
 */
function child({ url, pid, restarts }) {
  const facts = [
    pid === null || pid === undefined ? 'no pid' : `pid ${pid}`, ' · ',
    restarts ? counted(restarts, 'restart') : 'no restarts',
  ];
  return [element('span', { class: 'facts' }, ...facts), element('a', { href: url }, place(url))];
}

/**
 * A process that runs elsewhere. Its address is the one by which the page's server reaches it, often in a
 * network of their own: it is no link for people.
 * @param {import('./live.js').Process} process
 */
function elsewhere({ url, reason }) {
  const address = element('span', { class: 'facts address' }, place(url));
  return reason === undefined ? [address] : [address, element('span', { class: 'facts reason' }, reason)];
}

/** @param {string} url */
function place(url) {
  return url.replace(/^http:\/\//, '');
}
