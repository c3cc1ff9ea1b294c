// The loop on a wide screen: the way there above, the way back below.

import { BAND, CARD, GAP, GUTTER, NODE_HEAD, PAD, RELAY, SLOT_HEAD, slot, slotHeight } from './measures.js';

/** @import { Box, Layout, Point, Slot, Wanted } from './types.js' */

/** @param {number} width @param {Wanted} wanted @returns {Layout} */
export function wide(width, { twoRelays, gateway }) {
  const at = columns(width);
  const rows = width > 1560 ? 4 : 3;
  const band = NODE_HEAD + slotHeight(rows);
  const bottom = band + BAND;
  const middle = band + BAND / 2;
  const height = bottom + slotHeight(rows) + PAD;
  const relay = (/** @type {number} */ x, /** @type {number} */ y) =>
    ({ x: x + (at.between - at.relay) / 2, y, w: at.relay, h: RELAY });
  /** @type {Record<string, Box>} */
  const nodes = {
    client: { x: 0, y: NODE_HEAD + 8, w: at.client, h: 64 },
    'order-service': { x: at.orders, y: 0, w: at.a - at.orders, h: height },
    'orders-relay': relay(at.a, middle - RELAY / 2),
    broker: { x: at.broker, y: 0, w: at.b - at.broker, h: height },
    'inventory-service': { x: at.inventory, y: 0, w: width - at.inventory, h: height },
    'inventory-relay': relay(at.b, middle - RELAY / 2),
  };
  if (twoRelays) nodes['orders-relay-2'] = relay(at.a, middle + RELAY / 2 + 12);
  if (gateway) nodes['text-gateway'] = { x: 0, y: bottom, w: at.client, h: SLOT_HEAD + 2 * (CARD + GAP) + 4 };
  const slots = slotsIn(nodes, rows, bottom);
  const exchange = { x: at.broker + PAD, y: middle - 15, w: nodes.broker.w - 2 * PAD, h: 30 };
  /** @type {Record<string, [number, number]>} */
  const captions = {
    'order-service': [slots.orders.x + 7, middle + 4],
    'inventory-service': [slots.inventoryInbox.x + 7, middle + 4],
  };
  return { width, height, nodes, slots, exchange, captions, lines: linesBetween(nodes, exchange, slots, twoRelays) };
}

/** The left edges of the columns: more air where there is more room. @param {number} width */
function columns(width) {
  const air = Math.min(1, (width - 1120) / 320);
  const client = 84 + 16 * air;
  const hop = 34 + 22 * air;
  const relay = 104 + 20 * air;
  const between = relay + 2 * (18 + 12 * air);
  const rest = width - client - hop - 2 * between;
  const orders = client + hop;
  const a = orders + rest * 0.37;
  const broker = a + between;
  const b = broker + rest * 0.25;
  return { client, relay, between, orders, a, broker, b, inventory: b + between };
}

/** @param {Record<string, Box>} nodes @param {number} rows @param {number} bottom */
function slotsIn(nodes, rows, bottom) {
  const { 'order-service': orders, broker, 'inventory-service': inventory } = nodes;
  const wOrders = (orders.w - 2 * PAD - GUTTER) / 2;
  const wInventory = (inventory.w - 2 * PAD - GUTTER) / 2;
  const right = PAD + GUTTER;
  const replies = rows - 2;
  /** @type {Record<string, Slot>} */
  const slots = {
    orders: slot(orders.x + PAD, NODE_HEAD, wOrders, rows),
    ordersOutbox: slot(orders.x + right + wOrders, NODE_HEAD, wOrders, rows),
    ordersInbox: slot(orders.x + PAD, bottom, orders.w - 2 * PAD, rows, 2),
    there: slot(broker.x + PAD, NODE_HEAD, broker.w - 2 * PAD, rows),
    back: slot(broker.x + PAD, bottom, broker.w - 2 * PAD, replies),
    parked: slot(broker.x + PAD, bottom + slotHeight(replies), broker.w - 2 * PAD, 1),
    inventoryInbox: slot(inventory.x + PAD, NODE_HEAD, wInventory, rows),
    reservations: slot(inventory.x + right + wInventory, NODE_HEAD, wInventory, rows),
    inventoryOutbox: slot(inventory.x + PAD, bottom, wInventory, rows),
    stock: slot(inventory.x + right + wInventory, bottom, wInventory, rows),
  };
  const gateway = nodes['text-gateway'];
  if (gateway) slots.textMessages = { ...slot(6, gateway.y, gateway.w - 12, 2), h: gateway.h };
  return slots;
}

/** @param {Record<string, Box>} nodes @param {Box} exchange @param {Record<string, Box>} slots @param {boolean} twoRelays */
function linesBetween(nodes, exchange, slots, twoRelays) {
  const { client, 'order-service': orders, 'orders-relay': relay, broker, 'inventory-service': inventory, 'inventory-relay': replyRelay } = nodes;
  const [a, b] = [orders.x + orders.w, broker.x + broker.w];
  const middle = exchange.y + exchange.h / 2;
  const first = slots.orders.y + SLOT_HEAD + CARD / 2;
  const low = slots.ordersInbox.y + SLOT_HEAD + CARD / 2 + 8;
  const back = twoRelays ? middle + RELAY * 1.5 + 34 : low;
  const half = broker.x + broker.w / 2;
  /** @type {Record<string, Point[]>} */
  const lines = {
    request: [[client.x + client.w, first], [orders.x, first]],
    claim: [[a, first], [relay.x + relay.w / 2, first], [relay.x + relay.w / 2, relay.y]],
    publish: [[relay.x + relay.w, middle], [exchange.x, middle]],
    route: [[half, exchange.y], [half, slots.there.y + slots.there.h]],
    deliver: [[b, first], [inventory.x, first]],
    claimBack: [[inventory.x, low], [replyRelay.x + replyRelay.w / 2, low], [replyRelay.x + replyRelay.w / 2, replyRelay.y + RELAY]],
    publishBack: [[replyRelay.x, middle], [b - PAD, middle]],
    routeBack: [[half, exchange.y + exchange.h], [half, slots.back.y]],
    deliverBack: [[broker.x, back], [a, back]],
  };
  const second = nodes['orders-relay-2'];
  if (second) {
    const y = second.y + RELAY / 2;
    lines['claim-2'] = [[a, y], [second.x, y]];
    lines['publish-2'] = [[second.x + second.w, y], [broker.x - 8, y], [broker.x - 8, middle + 9], [exchange.x, middle + 9]];
  }
  const gateway = nodes['text-gateway'];
  if (gateway) lines.text = [[orders.x, gateway.y + 40], [gateway.w, gateway.y + 40]];
  return lines;
}
