// The form that places orders. It checks nothing itself: what the service says about bad input is shown.

import { idempotencyKey, post } from './api.js';
import { orderLines } from './order-lines.js';
import { showResult } from './result.js';
import { counted } from './values.js';

/** @returns {{offer: (stock: import('./live.js').Table | undefined) => void}} */
export function orderForm() {
  const form = /** @type {HTMLFormElement} */ (document.getElementById('order-form'));
  const customer = /** @type {HTMLInputElement} */ (document.getElementById('customer-id'));
  const lines = orderLines();
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const times = Number(event.submitter?.dataset.times ?? 1);
    const order = { customerId: customer.value, lines: lines.values() };
    if (times > 1) showResult('wait', `Placing ${counted(times, 'order')}.`);
    const answers = await Promise.all(Array.from({ length: times }, () => place(order)));
    report(answers);
    markInvalid(form, answers.flatMap((answer) => (answer.ok ? [] : answer.errors)));
  });
  return { offer: lines.offer };
}

/** @param {unknown} order */
function place(order) {
  return post('/api/orders', { body: order, headers: { 'Idempotency-Key': idempotencyKey() } });
}

/** @param {import('./api.js').Answer[]} answers */
function report(answers) {
  const accepted = answers.filter((answer) => answer.ok);
  const refused = answers.find((answer) => !answer.ok);
  if (refused && !refused.ok) {
    const some = answers.length > 1 ? `${accepted.length} of ${answers.length} accepted. ` : '';
    showResult('bad', `${some}${refused.problem}`, refused.errors);
  } else {
    showResult('good', `${acceptance(accepted)}${patience(answers)}`);
  }
}

/** @param {any[]} accepted */
function acceptance(accepted) {
  if (accepted.length > 1) return `${counted(accepted.length, 'order')} accepted.`;
  const { orderId, status } = accepted[0].body ?? {};
  return `Order …${String(orderId).slice(-8)} accepted: ${status}.`;
}

/** @param {import('./api.js').Answer[]} answers */
function patience(answers) {
  const most = Math.max(...answers.map(({ attempts }) => attempts));
  return most > 1 ? ` It took ${most} attempts with the same key.` : '';
}

/**
 * Points at the fields that the service named.
 *
 * @param {HTMLFormElement} form
 * @param {import('./api.js').FieldError[]} errors
 */
function markInvalid(form, errors) {
  const named = new Set(errors.map(({ field }) => field));
  for (const input of form.querySelectorAll('input, select')) {
    const name = input.getAttribute('name') ?? '';
    if (named.has(name)) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }
}
