// What the pipeline draws. Lists are in the order of writing; every list may be missing or empty.

/**
 * `label` is shown instead of the id where ids are long.
 *
 * @typedef {'Placed' | 'PendingPublish' | 'Published' | 'Confirmed' | 'Rejected' | 'Cancelling' | 'Cancelled'} OrderStatus
 * @typedef {{order: string, status: string, label?: string}} OrderRow
 * @typedef {{message: string, type: string, order: string, status: string, claimedBy?: string | null,
 *   tries?: number, label?: string}} OutboxRow `status` is Pending, Sent, Dead or Discarded
 * @typedef {{message: string, order?: string, label?: string}} InboxRow
 * @typedef {{message: string, type: string, order?: string, deliveries?: number, unacked?: boolean, label?: string}} QueuedMessage
 * @typedef {{queue: string, ready: number, unacked: number | null, messages?: QueuedMessage[]}} Queue
 * @typedef {{order: string, status: string, label?: string}} ReservationRow `status` is Reserved, Released or Rejected
 * @typedef {{sku: string, onHand: number, reserved: number}} StockRow
 * @typedef {{message: string | null, reason: string, label?: string}} ParkedRow
 * @typedef {{order: string, times: number, label?: string}} TextMessage
 */

/**
 * What the databases, the queues and the processes hold at one moment.
 *
 * @typedef {object} State
 * @property {Record<string, string>} processes by id (`order-service`, `orders-relay`, `orders-relay-2`,
 *   `inventory-service`, `inventory-relay`): running, killed, held, frozen, restarting, stopped, absent …
 * @property {string} broker running or stopped
 * @property {OrderRow[]} [orders]
 * @property {OutboxRow[]} [ordersOutbox]
 * @property {InboxRow[]} [ordersInbox]
 * @property {Queue[]} [queues] `inventory-service.orders`, `order-service.stock`
 * @property {InboxRow[]} [inventoryInbox]
 * @property {ReservationRow[]} [reservations]
 * @property {StockRow[]} [stock]
 * @property {OutboxRow[]} [inventoryOutbox]
 * @property {ParkedRow[]} [parked]
 * @property {TextMessage[]} [textMessages]
 */

/**
 * A state, and what only a live shop knows. `totals` are rows of whole tables by the state's list names,
 * where the lists hold the newest rows alone.
 *
 * @typedef {State & {
 *   counters?: {backlog: number | null, duplicates: number | null, dead: number | null, parked: number | null},
 *   totals?: Record<string, number>,
 *   details?: Record<string, string>,
 * }} Scene `details`: one short line below a process's name, by its id
 */

export const THERE = 'inventory-service.orders';
export const BACK = 'order-service.stock';

/** @param {Scene} scene @param {string} name */
export function queueOf(scene, name) {
  return scene.queues?.find(({ queue }) => queue === name);
}
