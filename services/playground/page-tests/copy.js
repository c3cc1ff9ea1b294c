import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { step } from './lab-page.js';

/** @param {import('./browser.js').Visit} visit @param {() => Promise<string>} written */
export function copy(visit, written) {
  let url = '';
  before(async () => { url = await written(); });

  test('a recorded experiment is replayed', () => visit('#/lab?preset=naive&failure=crash-after-commit', async (page) => {
    await page.locator('.lab-verdict', { hasText: 'LOST (zombie record)' }).waitFor();
    await page.getByRole('button', { name: 'Step forward' }).click();
    assert.equal(await step(page), '2');
    assert.equal(await page.getByRole('button', { name: 'Run', exact: true }).count(), 0);
    await page.locator('.lab-failure select').selectOption('crash-before-mark');
    await page.locator('.lab-result pre', { hasText: 'crash-before-mark' }).waitFor();
  }, { url }));

  test('it opens the lab first', () => visit('', async (page) => {
    await page.locator('main[data-view="lab"] .lab-run').waitFor();
  }, { url }));

  test('every cell of the matrix has its verdict', () => visit('#/lab', async (page) => {
    await page.locator('[role="gridcell"][data-verdict="lost"]').first().waitFor();
    assert.ok(await page.getByRole('gridcell').count() >= 270);
    assert.equal(await page.locator('[role="gridcell"][data-verdict=""]').count(), 0);
  }, { url }));

  test('the source of a step is there', () => visit('#/lab?preset=all&failure=none', async (page) => {
    await page.locator('.lab-steps li', { hasText: 'claims the row' }).getByRole('link').first().click();
    await page.locator('.lab-source .here').waitFor();
  }, { url }));

  test('a prediction of the guide is compared with the recorded run', () => visit('#/guide/1', async (page) => {
    const first = page.locator('.guide-experiment').first();
    await first.getByRole('radio', { name: '0', exact: true }).check();
    await first.getByRole('button', { name: 'Show the recorded run' }).click();
    await first.locator('.guide-outcome', { hasText: 'As predicted. Reservations in this run: 0.' }).waitFor();
  }, { url }));

  test('the shop says that this is a copy, in both languages, and asks for no live shop', () => visit('#/shop', async (page) => {
    await page.locator('.banner', { hasText: 'cargo run' }).waitFor();
    await page.getByRole('button', { name: 'فارسی' }).click();
    await page.locator('html[lang="fa"] .banner', { hasText: 'cargo run' }).waitFor();
  }, { url }));
}
