// The page for everybody: by keyboard, with a screen reader, on small and large screens, in two languages, with less motion.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { announced, run } from './lab-page.js';
import { order, stockIsKnown } from './shop-page.js';

/** @import { Page } from 'playwright-core' */

const axe = createRequire(import.meta.url)('axe-core');

/** What each view shows when it is there. @type {[string, string, (page: Page) => Promise<unknown>][]} */
const VIEWS = [
  ['shop', '#/shop?', (page) => page.locator('[data-table="stock"] tbody tr').first().waitFor()],
  ['lab, with a result', '#/lab?preset=naive&failure=crash-after-commit&step=5&', run],
  ['list of chapters', '#/guide?', (page) => page.locator('.guide-overview').waitFor()],
  ['chapter', '#/guide/1?', (page) => page.locator('.guide-experiment').first().waitFor()],
];
const LANGUAGES = { en: 'English', fa: 'Persian' };
const WIDTHS = [360, 1920];

/** @param {import('./browser.js').Visit} visit */
export function everybody(visit) {
  for (const [name, link, ready] of VIEWS) {
    for (const [lang, language] of Object.entries(LANGUAGES)) {
      test(`${name}, ${language}: fits a narrow and a wide screen, and axe finds nothing in light and dark`, () => visit(`${link}lang=${lang}`, async (page) => {
        await ready(page);
        for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
          await page.emulateMedia({ colorScheme });
          assert.deepEqual(await violations(page), [], colorScheme);
        }
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 });
          assert.equal(await overflow(page), 0, `${width} px`);
        }
        await page.setViewportSize({ width: WIDTHS[0], height: 800 });
        assert.deepEqual(await violations(page), [], 'narrow');
      }));
    }
  }

  test('the language switch changes everything at once, keeps what was typed, and is remembered', () => visit('#/shop', async (page) => {
    await page.getByLabel('Customer id').fill('c-7');
    await page.getByRole('button', { name: 'فارسی' }).click();
    await page.locator('html[lang="fa"][dir="rtl"]').waitFor();
    await page.getByRole('heading', { name: 'فروشگاهی که' }).waitFor();
    assert.equal(await page.getByLabel('شناسهٔ مشتری').inputValue(), 'c-7');
    await page.goto(page.url().split('#')[0]);
    await page.locator('html[lang="fa"]').waitFor();
    await page.getByRole('button', { name: 'English' }).click();
    await page.locator('html[lang="en"][dir="ltr"]').waitFor();
  }));

  test('messages travel along the lines, but not for those who want less motion', async () => {
    for (const reducedMotion of /** @type {const} */ (['no-preference', 'reduce'])) {
      await visit('#/lab?preset=all&failure=none', async (page) => {
        await run(page);
        await page.evaluate(countEnvelopes);
        const last = page.locator('.lab-steps li').last();
        while (await last.getAttribute('aria-current') === null) await page.getByRole('button', { name: 'Step forward' }).click();
        await announced(page, /compares the databases/);
        const envelopes = await page.evaluate(() => /** @type {any} */ (window).envelopes);
        if (reducedMotion === 'reduce') assert.equal(envelopes, 0);
        else assert.ok(envelopes > 2);
      }, { reducedMotion });
    }
  });

  test('by keyboard alone: an order is placed', () => visit('#/shop', async (page) => {
    await stockIsKnown(page);
    await tabTo(page, '[data-times="1"]');
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/orders'));
    await page.keyboard.press('Enter');
    const { orderId } = await (await answered).json();
    await order(page, orderId, 'Confirmed').waitFor();
  }));

  test('by keyboard alone: an experiment is run, and a cell of the matrix is replayed', () => visit('#/lab?preset=all&failure=none', async (page) => {
    await page.locator('.lab-run').waitFor();
    await tabTo(page, '.lab-run > [data-key="run"]');
    await page.keyboard.press('Space');
    await announced(page, /^EXACTLY ONE EFFECT\./);
    await tabTo(page, '.lab-failure select', 'Shift+Tab');
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => location.hash.includes('failure=client-retry'));
    await tabTo(page, '[role="gridcell"]');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.includes('failure=none'));
    await page.locator('[role="gridcell"][aria-selected="true"]', { hasText: 'once' }).waitFor();
    await page.locator('.lab-replay').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    assert.match(String(await page.locator(':focus').getAttribute('aria-label')), /No idempotency key, Client retries/);
  }));

  test('the first stop of the keyboard skips to the content', () => visit('#/shop', async (page) => {
    await stockIsKnown(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.locator(':focus').textContent(), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator(':focus').getAttribute('id'), 'view');
  }));
}

/** @param {Page} page */
async function violations(page) {
  await page.evaluate(axe.source); // as a debugger does: no policy of the page stands in its way
  const { violations: found } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
  return found.flatMap((/** @type {any} */ { id, nodes }) => nodes.map((/** @type {any} */ node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary}`));
}

/** Pixels that stick out at the side. @param {Page} page */
function overflow(page) {
  return page.evaluate(() => new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(Math.max(0, document.documentElement.scrollWidth - innerWidth))));
  }));
}

/** Goes on with Tab until it is there; each stop on the way must be seen. @param {Page} page @param {string} selector @param {string} [key] */
async function tabTo(page, selector, key = 'Tab') {
  for (let stops = 0; stops < 100; stops += 1) {
    await page.keyboard.press(key);
    const focus = page.locator(':focus');
    const { is, outline, html } = await focus.evaluate((node, wanted) => ({
      is: node.matches(wanted), outline: getComputedStyle(node).outlineStyle, html: node.outerHTML.slice(0, 100),
    }), selector);
    assert.notEqual(outline, 'none', `no focus is seen at ${html}`);
    if (is) return;
  }
  assert.fail(`${selector} is not reached with ${key}`);
}

function countEnvelopes() {
  const counted = Object.assign(window, { envelopes: 0 });
  new MutationObserver((records) => {
    for (const { addedNodes } of records) for (const node of addedNodes) if (node instanceof Element && node.matches('.envelope')) counted.envelopes += 1;
  }).observe(document, { childList: true, subtree: true });
}
