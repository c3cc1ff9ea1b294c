// Requests to the services, and their answers in words.

/** How often one request is sent when no service answers. */
const ATTEMPTS = 5;
const PAUSE_MILLISECONDS = 400;

/** The answers of a gateway whose service is away: the same request may succeed in a moment. */
const AWAY = [502, 503, 504];

/**
 * @typedef {{field: string, message: string}} FieldError
 * @typedef {{ok: true, body: any, attempts: number}
 *   | {ok: false, problem: string, errors: FieldError[], attempts: number}} Answer
 */

/**
 * Sends it, and again while nobody answers. Every call must bear that: an order does by its
 * idempotency key, a second cancel is refused.
 *
 * @param {string} path
 * @param {{body?: unknown, headers?: Record<string, string>}} [request]
 * @returns {Promise<Answer>}
 */
export async function post(path, { body, headers = {} } = {}) {
  const request = {
    method: 'POST',
    headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
  for (let attempts = 1; ; attempts += 1) {
    const response = await fetch(path, request).catch(() => null);
    const away = response === null || AWAY.includes(response.status);
    if (!away || attempts === ATTEMPTS) return { ...(await inWords(response)), attempts };
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
  if (response === null) {
    return { ok: /** @type {const} */ (false), problem: 'The shop does not answer.', errors: [] };
  }
  const body = await response.json().catch(() => null);
  if (response.ok) return { ok: /** @type {const} */ (true), body };
  const errors = Array.isArray(body?.errors) ? body.errors : [];
  const problem = sentence(String(body?.detail ?? body?.title ?? response.statusText), errors);
  return { ok: /** @type {const} */ (false), problem: `${problem} (${response.status})`, errors };
}

/**
 * Begins with a capital, but a field keeps its name.
 *
 * @param {string} words
 * @param {FieldError[]} errors
 */
function sentence(words, errors) {
  if (errors.some(({ field }) => words.startsWith(field))) return words;
  return words.charAt(0).toUpperCase() + words.slice(1);
}
