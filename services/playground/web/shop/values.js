// How a value looks: ids, times, numbers, statuses.

import { shortId } from '../pipeline/scene.js';
import { element, pill } from './element.js';

/** @import { Translate, Value } from './types.js' */

const MOST_LINES = 3;

/** Where an order may still be cancelled. */
export const CANCELLABLE = ['PendingPublish', 'Published', 'Confirmed'];

/** Each status by tone; the tone has a colour and a shape. @type {Record<string, string>} */
export const TONES = {
  PendingPublish: 'wait', Pending: 'wait', restarting: 'wait', 'not ready': 'wait',
  Published: 'move', frozen: 'paused',
  Confirmed: 'good', Sent: 'good', Reserved: 'good', running: 'good', ready: 'good',
  Rejected: 'bad', Dead: 'bad', unreachable: 'bad', stopped: 'bad',
  Cancelling: 'ending',
};

/** @param {Value} value */
export function id(value) {
  if (value === null || value === '') return none();
  const text = String(value);
  return element('code', { title: text }, shortId(text));
}

/** @param {Value} value */
export function status(value) {
  const text = String(value ?? 'unknown');
  return pill(TONES[text] ?? 'ended', text);
}

/** @param {Value} value the time as RFC 3339, or as PostgreSQL writes it */
export function moment(value) {
  return new Date(String(value).replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).getTime();
}

/** @param {Value} value */
export function time(value) {
  if (value === null) return none();
  const at = new Date(moment(value));
  if (Number.isNaN(at.getTime())) return String(value);
  const day = at.toDateString() === new Date().toDateString() ? '' : `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} `;
  return element('time', { datetime: at.toISOString(), title: String(value), dir: 'ltr' }, day + timeOfDay(at));
}

/** @param {Value} value */
export function text(value) {
  return value === null || value === '' ? none() : element('bdi', {}, String(value));
}

const wholeNumbers = new Intl.NumberFormat('en');

/** The lines of an order, the first few of them. @param {Value} value @param {Translate} t */
export function lines(value, t) {
  if (value === null || value === '') return none();
  const all = String(value).split(', ');
  const rest = all.length - MOST_LINES;
  const seen = all.slice(0, MOST_LINES).map((line) => element('bdi', { class: 'line', dir: 'ltr' }, line));
  return element('span', { class: 'order-lines', title: rest > 0 ? String(value) : null }, ...seen, ...(rest > 0 ? [t('shop.more-lines', { n: rest })] : []));
}

/** @param {Value} value */
export function number(value) {
  return typeof value === 'number' ? wholeNumbers.format(value) : text(value);
}

/** @param {Date} at @param {boolean} [milliseconds] */
export function timeOfDay(at, milliseconds = true) {
  const parts = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits);
  return parts.join(':') + (milliseconds ? `.${String(at.getMilliseconds()).padStart(3, '0')}` : '');
}

/** @param {number} part */
function twoDigits(part) {
  return String(part).padStart(2, '0');
}

function none() {
  return element('span', { class: 'none' }, '–');
}
