// Requests to the page's server, and their answers in words.

import { t } from '../i18n/i18n.js';

/** @import { Answer } from './types.js' */

/** How often one request is sent when no service answers. */
const ATTEMPTS = 5;
const PAUSE_MILLISECONDS = 400;
/** From here on somebody wants to know that it waits. */
const SLOW_MILLISECONDS = 700;

/** The answers of a gateway whose service is away: the same request may succeed in a moment. */
const AWAY = [502, 503, 504];

/**
 * Sends it, and again while nobody answers, unless that could do harm: an order bears it by its idempotency key,
 * a second cancel is refused.
 *
 * @param {string} path relative: the page may live under any path
 * @param {{method?: string, body?: unknown, headers?: Record<string, string>, once?: boolean, onWait?: (attempt: number) => void}} [request]
 * @returns {Promise<Answer>}
 */
export async function post(path, { method = 'POST', body, headers = {}, once = false, onWait } = {}) {
  const request = {
    method,
    headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  for (let attempts = 1; ; attempts += 1) {
    const slow = setTimeout(() => onWait?.(attempts), SLOW_MILLISECONDS);
    const response = await fetch(path, request).catch(() => null);
    clearTimeout(slow);
    const away = response === null || AWAY.includes(response.status);
    if (!away || once || attempts === ATTEMPTS) return { ...(await inWords(response)), status: response?.status ?? 0, attempts };
    onWait?.(attempts + 1);
    await new Promise((resume) => setTimeout(resume, PAUSE_MILLISECONDS));
  }
}

/** A key that no other request has. */
export function idempotencyKey() {
  if (crypto.randomUUID) return crypto.randomUUID(); // missing where the page isn't served securely
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {Response | null} response */
async function inWords(response) {
  if (response === null) return { ok: false, body: null, problem: t('shell.no-answer'), errors: [] };
  const body = await response.json().catch(() => null);
  if (response.ok) return { ok: true, body, problem: '', errors: [] };
  const problem = String(body?.detail ?? body?.title ?? response.statusText);
  return { ok: false, body, problem: `${problem} (${response.status})`, errors: Array.isArray(body?.errors) ? body.errors : [] };
}
