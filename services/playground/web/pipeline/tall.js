// The loop on a narrow screen: the way there runs down the left side, the way back up the right side.

import { CARD, GAP, GUTTER, NODE_HEAD, PAD, RELAY, SLOT_HEAD, slot, slotHeight } from './measures.js';

/** @import { Box, Layout, Point, Slot, Wanted } from './types.js' */

/** Lines pass the broker outside, left and right. */
const LANE = 14;
const AIR = 22;
const ROWS = 3;
const CLIENT = 64;

/** @param {number} width @param {Wanted} wanted @returns {Layout} */
export function tall(width, { twoRelays, gateway }) {
  const w = width - 2 * LANE;
  const column = (w - 2 * PAD - GUTTER) / 2;
  const left = LANE + PAD;
  const right = left + column + GUTTER;
  const service = NODE_HEAD + 2 * slotHeight(ROWS) + PAD;
  const orders = { x: LANE, y: CLIENT + 34, w, h: service };
  const relayAt = orders.y + service + AIR;
  const broker = { x: LANE, y: relayAt + (twoRelays ? 2 * RELAY + 12 : RELAY) + AIR, w, h: NODE_HEAD + slotHeight(1) + 40 + slotHeight(ROWS) + PAD };
  const replyAt = broker.y + broker.h + AIR;
  const inventory = { x: LANE, y: replyAt + RELAY + AIR, w, h: service };
  /** @type {Record<string, Box>} */
  const nodes = {
    client: { x: left, y: 0, w: column, h: CLIENT },
    'order-service': orders,
    'orders-relay': { x: left, y: relayAt, w: column, h: RELAY },
    broker,
    'inventory-service': inventory,
    'inventory-relay': { x: right, y: replyAt, w: column, h: RELAY },
  };
  if (twoRelays) nodes['orders-relay-2'] = { x: left, y: relayAt + RELAY + 12, w: column, h: RELAY };
  if (gateway) nodes['text-gateway'] = { x: right, y: 0, w: column, h: SLOT_HEAD + CARD + GAP };
  const exchange = { x: left, y: broker.y + NODE_HEAD + slotHeight(1) + 4, w: w - 2 * PAD, h: 30 };
  const slots = slotsIn(nodes, exchange, left, right, column);
  /** @type {Record<string, [number, number]>} */
  const captions = { 'order-service': [right - 40, orders.y + 23], 'inventory-service': [right - 26, inventory.y + 23] };
  return { width, height: inventory.y + service, nodes, slots, exchange, captions, lines: linesBetween(nodes, exchange, slots, width) };
}

/** @param {Record<string, Box>} nodes @param {Box} exchange @param {number} left @param {number} right @param {number} column */
function slotsIn(nodes, exchange, left, right, column) {
  const orders = nodes['order-service'].y + NODE_HEAD;
  const inventory = nodes['inventory-service'].y + NODE_HEAD;
  const below = slotHeight(ROWS);
  const tallest = Math.floor((2 * below - slotHeight(0)) / (CARD + GAP));
  /** @type {Record<string, Slot>} */
  const slots = {
    orders: slot(left, orders, column, ROWS),
    ordersOutbox: slot(left, orders + below, column, ROWS),
    ordersInbox: slot(right, orders, column, tallest),
    back: slot(left, nodes.broker.y + NODE_HEAD, exchange.w, 1, 2),
    there: slot(left, exchange.y + exchange.h + 6, column, ROWS),
    parked: slot(right, exchange.y + exchange.h + 6, column, ROWS),
    inventoryInbox: slot(left, inventory, column, ROWS),
    reservations: slot(left, inventory + below, column, ROWS),
    inventoryOutbox: slot(right, inventory, column, ROWS),
    stock: slot(right, inventory + below, column, ROWS),
  };
  const gateway = nodes['text-gateway'];
  if (gateway) slots.textMessages = { ...slot(right + 4, 0, column - 8, 1), h: gateway.h };
  return slots;
}

/** @param {Record<string, Box>} nodes @param {Box} exchange @param {Record<string, Box>} slots @param {number} width */
function linesBetween(nodes, exchange, slots, width) {
  const { client, 'order-service': orders, 'orders-relay': relay, broker, 'inventory-service': inventory, 'inventory-relay': replyRelay } = nodes;
  const down = client.x + client.w / 2;
  const up = replyRelay.x + replyRelay.w / 2;
  const middle = exchange.y + exchange.h / 2;
  const [leftLane, rightLane] = [LANE / 2 - 1, width - LANE / 2 + 1];
  const half = (down + up) / 2;
  /** @type {Record<string, Point[]>} */
  const lines = {
    request: [[down, client.h], [down, orders.y]],
    claim: [[down, orders.y + orders.h], [down, relay.y]],
    publish: [[relay.x, relay.y + RELAY / 2], [leftLane, relay.y + RELAY / 2], [leftLane, middle], [exchange.x, middle]],
    route: [[down, exchange.y + exchange.h], [down, slots.there.y]],
    deliver: [[down, broker.y + broker.h], [down, inventory.y]],
    claimBack: [[up, inventory.y], [up, replyRelay.y + RELAY]],
    publishBack: [[replyRelay.x + replyRelay.w, replyRelay.y + RELAY / 2], [rightLane, replyRelay.y + RELAY / 2], [rightLane, middle], [exchange.x + exchange.w, middle]],
    routeBack: [[half, exchange.y], [half, slots.back.y + slots.back.h - 6]],
    deliverBack: [[up, broker.y], [up, orders.y + orders.h]],
  };
  const second = nodes['orders-relay-2'];
  if (second) {
    const x = second.x + second.w + 6;
    lines['claim-2'] = [[x, orders.y + orders.h], [x, second.y + RELAY / 2], [second.x + second.w, second.y + RELAY / 2]];
    lines['publish-2'] = [[second.x, second.y + RELAY / 2], [leftLane + 4, second.y + RELAY / 2], [leftLane + 4, middle + 8], [exchange.x, middle + 8]];
  }
  const gateway = nodes['text-gateway'];
  if (gateway) lines.text = [[up, orders.y], [up, gateway.h]];
  return lines;
}
