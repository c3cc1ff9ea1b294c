import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from './eventually.js';
import { click, counter, order, placeOrder, process, result, stockIsKnown, tableRow } from './shop-page.js';

/** A service that is away answers so, and the page asks again. */
const AWAY = /status of 50[234]/;
/** Of orders that wait: a relay that runs has sent them before the next look. */
const MORE_THAN_USUAL = 3;

/** @param {import('./browser.js').Visit} visit */
export function shop(visit) {
  test('an order that is placed is confirmed, and its way is told step by step', () => visit('#/shop', async (page) => {
    const id = await placeOrder(page);
    await order(page, id, 'Confirmed').waitFor();
    await page.locator('#timeline', { hasText: 'Order confirmed, in the same transaction' }).waitFor();
    await tableRow(page, 'reservations', id, 'Reserved').waitFor();
  }));

  test('an order that is cancelled ends as Cancelled, and its stock is released', () => visit('#/shop', async (page) => {
    const id = await placeOrder(page);
    await order(page, id, 'Confirmed').waitFor();
    await order(page, id).getByRole('button', { name: 'Cancel' }).click();
    await order(page, id, 'Cancelled').waitFor();
    await tableRow(page, 'reservations', id, 'Released').waitFor();
  }));

  test('a refusal says why, and that it is right where stock is short', () => visit('#/shop', async (page) => {
    await stockIsKnown(page);
    await page.locator('[name="lines[0].sku"]').selectOption('LIMITED');
    await page.locator('[name="lines[0].quantity"]').fill('50');
    await placeOrder(page);
    await page.locator('#timeline', { hasText: 'Refused: not enough stock' }).waitFor();
    await page.locator('#timeline', { hasText: 'Refusing is the right answer' }).waitFor();
    await page.evaluate(() => fetch('api/orders', {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'Idempotency-Key': crypto.randomUUID() },
      body: JSON.stringify({ customerId: 'c-42', lines: ['A', 'B', 'C', 'D', 'E'].map((sku) => ({ sku: `NO-SUCH-${sku}`, quantity: 1 })) }),
    }));
    await page.locator('#timeline', { hasText: 'Refused: there is no such SKU' }).waitFor();
    await page.locator('#timeline', { hasText: '2 more' }).waitFor();
  }));

  test('a relay that is killed while orders flow leaves a backlog, is started again, and the backlog ends', () => visit('#/shop', async (page) => {
    await stockIsKnown(page);
    await page.locator('#rate').fill('25');
    await click(page, 'Start');
    await eventually(async () => { // it is started again within a blink
      await click(page, 'kill -9: orders relay');
      assert.ok(Number(await page.locator('[data-counter="backlog"] dd').textContent()) >= MORE_THAN_USUAL);
    });
    await click(page, 'Stop');
    await process(page, 'orders relay', /[1-9] restarts?\b/).and(process(page, 'orders relay', 'running')).waitFor();
    await counter(page, 'backlog', '0');
    const rows = page.locator('[data-table="orders"] tbody tr');
    await eventually(async () => assert.equal(await rows.filter({ hasText: 'Confirmed' }).count(), await rows.filter({ hasNotText: 'Cancelled' }).count()));
  }, { forgive: /status of (409|50[234])/ })); // a relay that is dead already can't be killed

  test('a frozen relay lets orders wait, and a thawed one sends them all', () => visit('#/shop', async (page) => {
    await click(page, 'Freeze: orders relay');
    await process(page, 'orders relay', 'frozen').waitFor();
    const id = await placeOrder(page);
    await counter(page, 'backlog', '1');
    await order(page, id, 'PendingPublish').waitFor();
    await click(page, 'Thaw: orders relay');
    await order(page, id, 'Confirmed').waitFor();
    await counter(page, 'backlog', '0');
  }));

  test('without a broker an order is accepted and waits; with the broker it is confirmed', () => visit('#/shop', async (page) => {
    await click(page, 'Stop the broker');
    await process(page, 'broker', 'stopped').waitFor();
    const id = await placeOrder(page);
    await order(page, id, 'PendingPublish').waitFor();
    await click(page, 'Start the broker');
    await order(page, id, 'Confirmed').waitFor();
  }));

  test('a message that is sent again is a known duplicate, and there is one reservation', () => visit('#/shop', async (page) => {
    const id = await placeOrder(page);
    await order(page, id, 'Confirmed').waitFor();
    const before = Number(await page.locator('[data-counter="duplicates"] dd').textContent());
    await page.locator('#timeline li', { hasText: /Sent, and confirmed/ }).getByRole('button').click();
    await result(page, 'Sent once more under the same id');
    await counter(page, 'duplicates', String(before + 1));
    assert.equal(await tableRow(page, 'reservations', id).count(), 1);
    await tableRow(page, 'reservations', id, 'Reserved').waitFor();
  }));

  test('an unreadable message is parked with its reason, and discarded by hand', () => visit('#/shop', async (page) => {
    await counter(page, 'parked', '0');
    await click(page, 'Send an unreadable message');
    const parked = page.locator('#letters li', { hasText: 'malformed' });
    await parked.first().waitFor();
    while (await parked.count() > 0) {
      const left = await parked.count();
      await parked.first().getByRole('button', { name: 'Discard' }).click();
      await eventually(async () => assert.ok(await parked.count() < left));
    }
    await counter(page, 'parked', '0');
    await page.locator('#letters', { hasText: 'Nothing is dead or parked.' }).waitFor();
  }));

  test('an order that comes while its service is killed is accepted once', () => visit('#/shop', async (page) => {
    await page.getByLabel('Customer id').fill('patient');
    await click(page, 'kill -9: order-service');
    const id = await placeOrder(page);
    await order(page, id, 'Confirmed').waitFor();
    assert.equal(await page.locator('[data-table="orders"] tbody tr', { hasText: 'patient' }).count(), 1);
  }, { forgive: AWAY }));
}
