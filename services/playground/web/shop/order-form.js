// The form that places orders: one, a burst, or a steady rate. It checks nothing itself: what the service says
// about bad input is shown.

import { shortId } from '../pipeline/scene.js';
import { idempotencyKey, post } from './api.js';
import { element } from './element.js';
import { orderLines } from './order-lines.js';
import { steadyRate } from './steady.js';

/** @import { Answer, FieldError, Translate } from './types.js' */

const BURST = 10;

/** What somebody has typed; it outlives a change of language. */
export const draft = { customerId: 'c-42', lines: [{ sku: '', quantity: '1' }], rate: 5 };

/** @param {Translate} t */
export function orderForm(t) {
  const lines = orderLines(t, draft.lines);
  const customer = /** @type {HTMLInputElement} */ (element('input', { id: 'customer-id', name: 'customerId', autocomplete: 'off', spellcheck: 'false', dir: 'ltr' }));
  customer.value = draft.customerId;
  customer.addEventListener('input', () => { draft.customerId = customer.value; });
  const result = element('div', { class: 'result', id: 'result', role: 'status' });
  const steady = steadyRate(t, draft, () => place());
  const form = /** @type {HTMLFormElement} */ (element('form', { id: 'order-form', novalidate: '' },
    element('div', { class: 'field' }, element('label', { for: 'customer-id' }, t('shop.customer')), customer),
    lines.field,
    element('div', { class: 'actions' },
      element('button', { type: 'submit', class: 'primary', 'data-times': 1 }, t('shop.place')),
      element('button', { type: 'submit', 'data-times': BURST, 'aria-label': t('shop.place-burst', { n: BURST }) }, t('shop.burst', { n: BURST }))),
    steady.field));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const times = Number(event.submitter?.dataset.times ?? 1);
    if (times > 1) say('wait', t('shop.placing', { n: times }));
    report(await Promise.all(Array.from({ length: times }, (_, at) => place(at === 0 ? waiting : undefined))));
  });
  return { parts: [form, result], offer: lines.offer, say, isBack, end: steady.stop };

  /** @param {number} n */
  function waiting(n) {
    say('wait', t('shop.waiting', { n }));
  }

  /** @param {(attempt: number) => void} [onWait] */
  function place(onWait) {
    return post('api/orders', { onWait, body: { customerId: draft.customerId, lines: lines.values() }, headers: { 'Idempotency-Key': idempotencyKey() } });
  }

  /** @param {Answer[]} answers */
  function report(answers) {
    const accepted = answers.filter(({ ok }) => ok);
    const refused = answers.find(({ ok }) => !ok);
    const attempts = Math.max(...answers.map((answer) => answer.attempts));
    const again = attempts > 1 ? ` ${t('shop.attempts', { n: attempts })}` : '';
    if (refused) say('bad', (answers.length > 1 ? `${t('shop.some', { n: accepted.length, all: answers.length })} ` : '') + refused.problem, refused.errors);
    else if (accepted.length > 1) say('good', t('shop.accepted-many', { n: accepted.length }) + again);
    else say('good', t('shop.accepted', { order: shortId(accepted[0].body?.orderId), status: String(accepted[0].body?.status) }) + again);
    const named = new Set(answers.flatMap(({ errors }) => errors).map(({ field }) => field));
    for (const input of form.querySelectorAll('input, select')) {
      if (named.has(input.getAttribute('name') ?? '')) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    }
  }

  /** What could not be reached answers again. */
  function isBack() {
    if (result.textContent?.includes(t('shell.no-answer'))) result.replaceChildren();
  }

  /** @param {'good' | 'bad' | 'wait'} tone @param {string} words @param {FieldError[]} [errors] */
  function say(tone, words, errors = []) {
    const list = errors.map(({ field, message }) => element('li', {}, element('code', { dir: 'ltr' }, field), ` ${message}`));
    result.replaceChildren(element('p', { class: 'say', 'data-tone': tone }, words), ...(list.length > 0 ? [element('ul', {}, ...list)] : []));
  }
}
