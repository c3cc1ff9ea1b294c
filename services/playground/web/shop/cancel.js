// The button that cancels an order.

import { post } from './api.js';
import { element } from './element.js';
import { showResult } from './result.js';

const CANCELLABLE = ['PendingPublish', 'Published', 'Confirmed'];

/** @param {import('./tables.js').Row} row */
export function cancelButton(row) {
  if (!CANCELLABLE.includes(String(row.status))) return '';
  const orderId = String(row.orderId);
  const name = `order …${orderId.slice(-8)}`;
  const button = element('button', { type: 'button', class: 'small', 'aria-label': `Cancel ${name}` }, 'Cancel');
  button.addEventListener('click', async () => {
    if (button.ariaDisabled === 'true') return;
    button.ariaDisabled = 'true'; // a button that is really disabled would drop the focus
    await cancel(orderId, name);
    button.ariaDisabled = null;
  });
  return button;
}

/**
 * @param {string} orderId
 * @param {string} name
 */
async function cancel(orderId, name) {
  const answer = await post(`/api/orders/${encodeURIComponent(orderId)}/cancel`);
  if (answer.ok) showResult('good', `Cancelling ${name}.`);
  else showResult('bad', `Could not cancel ${name}: ${answer.problem}`, answer.errors);
}
