// How a value looks: ids, times, numbers, statuses.

import { element } from './element.js';

/** Ids of version 7 begin with the time and look alike there; their ends differ. */
const SHORT_ID = 8;

/**
 * Each status by tone; the tone has a colour and a shape.
 * @type {Record<string, string>}
 */
const TONES = {
  PendingPublish: 'wait', Pending: 'wait', restarting: 'wait', 'not ready': 'wait',
  Published: 'move', external: 'move',
  Confirmed: 'good', Sent: 'good', Reserved: 'good', running: 'good', ready: 'good',
  Rejected: 'bad', Dead: 'bad', unreachable: 'bad',
  Cancelling: 'ending',
  Cancelled: 'ended', Released: 'ended', Discarded: 'ended',
};

/** @param {import('./live.js').Value} value */
export function id(value) {
  if (value === null || value === '') return none();
  const text = String(value);
  const short = text.length > SHORT_ID + 4 ? `…${text.slice(-SHORT_ID)}` : text;
  return element('code', { title: text }, short);
}

/** @param {import('./live.js').Value} value */
export function status(value) {
  const text = String(value ?? 'unknown');
  return element('span', { class: 'pill', 'data-tone': TONES[text] ?? 'ended' }, text);
}

/** @param {import('./live.js').Value} value the time as RFC 3339, or as PostgreSQL writes it */
export function time(value) {
  if (value === null) return none();
  const text = String(value);
  const moment = new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
  if (Number.isNaN(moment.getTime())) return text;
  const shown = isToday(moment) ? timeOfDay(moment) : `${dayOf(moment)} ${timeOfDay(moment)}`;
  return element('time', { datetime: moment.toISOString(), title: text }, shown);
}

/** @param {import('./live.js').Value} value */
export function text(value) {
  return value === null || value === '' ? none() : String(value);
}

const wholeNumbers = new Intl.NumberFormat('en');

/** @param {import('./live.js').Value} value */
export function number(value) {
  return typeof value === 'number' ? wholeNumbers.format(value) : text(value);
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${wholeNumbers.format(count)} ${count === 1 ? one : many}`;
}

/**
 * @param {Date} moment
 * @param {boolean} [milliseconds]
 */
export function timeOfDay(moment, milliseconds = true) {
  const parts = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(twoDigits);
  const fraction = String(moment.getMilliseconds()).padStart(3, '0');
  return parts.join(':') + (milliseconds ? `.${fraction}` : '');
}

/** @param {Date} moment */
function isToday(moment) {
  return moment.toDateString() === new Date().toDateString();
}

/** @param {Date} moment */
function dayOf(moment) {
  return `${moment.getFullYear()}-${twoDigits(moment.getMonth() + 1)}-${twoDigits(moment.getDate())}`;
}

/** @param {number} part */
function twoDigits(part) {
  return String(part).padStart(2, '0');
}

function none() {
  return element('span', { class: 'none', title: 'none' }, '–');
}
