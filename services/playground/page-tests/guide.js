import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdict } from './lab-page.js';

const CHAPTERS = [1, 2, 3, 4, 5, 6, 7];

/** @param {import('./browser.js').Visit} visit */
export function guide(visit) {
  test('the reader predicts, runs, and sees both side by side', () => visit('#/guide/1', async (page) => {
    const first = page.locator('.guide-experiment').first();
    const start = first.getByRole('button', { name: 'Run it' });
    assert.equal(await start.getAttribute('aria-disabled'), 'true');
    await first.getByRole('radio', { name: '1', exact: true }).check();
    await start.click();
    await first.locator('.guide-outcome', { hasText: 'You predicted 1. Reservations in this run: 0.' }).waitFor();
    await first.locator('.lab-verdict', { hasText: 'LOST' }).waitFor();
    await first.getByRole('radio', { name: '0', exact: true }).check();
    await first.locator('.guide-outcome', { hasText: 'As predicted. Reservations in this run: 0.' }).waitFor();
  }));

  test('an experiment of the guide is replayed in the lab', () => visit('#/guide/1', async (page) => {
    const first = page.locator('.guide-experiment').first();
    await first.getByRole('radio', { name: '0', exact: true }).check();
    await first.getByRole('button', { name: 'Run it' }).click();
    await first.getByRole('link', { name: 'Replay it in the lab' }).click();
    await verdict(page, 'LOST');
    assert.equal(await page.locator('.lab-failure select').inputValue(), 'crash-after-commit');
  }));

  test('seven chapters stand in both languages, each with its question and its experiments', () => visit('#/guide', async (page) => {
    for (const lang of ['en', 'fa']) {
      for (const chapter of CHAPTERS) {
        await page.evaluate((hash) => { location.hash = hash; }, `#/guide/${chapter}?lang=${lang}`);
        await page.locator(`html[lang="${lang}"] .guide-contents li:nth-child(${chapter}) [aria-current="page"]`).waitFor();
        await page.locator('.guide-chapter .guide-question').waitFor();
        await page.locator('.guide-chapter .guide-experiment').first().waitFor();
      }
    }
  }));
}
