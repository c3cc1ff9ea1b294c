// The step at which a run went wrong: from its state on, the harm of the verdict is in the tables until the end.

/** @import { Scene, Step, Trace } from './types.js' */
/** @typedef {Trace['because'][number]} Reason */

/** Whether a state shows the harm. @type {Record<string, (state: Scene, reason: Reason, trace: Trace) => boolean>} */
const HARM = {
  'no-effect': isLost,
  'no-order': ({ reservations = [] }, { order }, { states }) =>
    reservations.some((row) => row.order === order) && !states.at(-1)?.orders?.some((row) => row.order === order),
  'cancelled-but-reserved': ({ orders = [], reservations = [] }, { order }) =>
    orders.some((row) => row.order === order && row.status.startsWith('Cancel')) && reservations.some((row) => row.order === order && row.status === 'Reserved'),
  'reserved-twice': ({ stock = [], reservations = [] }) =>
    stock.reduce((sum, { reserved }) => sum + reserved, 0) > reservations.filter(({ status }) => status === 'Reserved').length,
  'ordered-twice': ({ orders = [] }, _, { equation }) => orders.length > equation.wanted,
  'texted-twice': ({ textMessages = [] }) => textMessages.some(({ times }) => times > 1),
};

/** Nobody holds the message in his hand any more. @param {Step} step */
const isDropped = ({ kind, point = '' }) => kind === 'killed' || point === 'direct-publish-failed';

/** Nothing, where no table shows it. @param {Trace} trace @returns {number | undefined} */
export function damageAt(trace) {
  const { because, steps, states, verdict } = trace;
  if (verdict === 'stuck') return steps.length - 1;
  const reason = because.find(({ code }) => code in HARM);
  if (!reason) return undefined;
  const first = steps.map(({ state }) => HARM[reason.code](states[state], reason, trace)).lastIndexOf(false) + 1;
  if (reason.code !== 'no-effect') return steps[first] && first;
  return steps[first] && Math.max(first, steps.findIndex((step, at) => at >= first && isDropped(step)));
}

/** The order is there, and no message tells of it any more. @param {Scene} state @param {Reason} reason */
function isLost({ orders = [], ordersOutbox = [], queues = [], reservations = [] }, { order }) {
  const isOf = (/** @type {{order?: string}} */ row) => row.order === order;
  return orders.some(isOf) && !reservations.some(isOf) && !queues.some(({ messages = [] }) => messages.some(isOf))
    && !ordersOutbox.some((row) => isOf(row) && row.status === 'Pending');
}
