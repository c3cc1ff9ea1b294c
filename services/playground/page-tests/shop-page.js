// What the tests do and look for in the shop.

/** @import { Page } from 'playwright-core' */

/** Places one order and returns its id. @param {Page} page */
export async function placeOrder(page) {
  await stockIsKnown(page);
  const answered = page.waitForResponse((response) => response.url().endsWith('/api/orders') && response.status() === 201);
  await click(page, 'Place order');
  const { orderId } = await (await answered).json();
  await result(page, 'accepted');
  return String(orderId);
}

/** Waits for the first look at the stock: before it there is no SKU to order. @param {Page} page */
export function stockIsKnown(page) {
  return page.locator('[name="lines[0].sku"]:enabled').waitFor();
}

/** @param {Page} page @param {string} name */
export function click(page, name) {
  return page.getByRole('button', { name, exact: true }).click();
}

/** Waits until the page has said it. @param {Page} page @param {string} words */
export function result(page, words) {
  return page.locator('#result', { hasText: words }).waitFor();
}

/** Waits for a counter below the picture. @param {Page} page @param {string} name @param {string} value */
export function counter(page, name, value) {
  return page.locator(`[data-counter="${name}"] dd`).getByText(value, { exact: true }).waitFor();
}

/** An order's row in the table. @param {Page} page @param {string} id @param {string} [words] */
export function order(page, id, words) {
  return tableRow(page, 'orders', id, words);
}

/** @param {Page} page @param {string} table @param {string} id @param {string} [words] */
export function tableRow(page, table, id, words) {
  return page.locator(`[data-table="${table}"] tbody tr`, { has: page.locator(`code[title="${id}"]`), hasText: words });
}

/** @param {Page} page @param {string} name @param {string | RegExp} words */
export function process(page, name, words) {
  return page.locator('#processes li', { has: page.getByText(name, { exact: true }), hasText: words });
}
