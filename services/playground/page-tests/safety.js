import assert from 'node:assert/strict';
import { test } from 'node:test';
import { order, placeOrder } from './shop-page.js';

/** Of an order: it may have 64 characters. */
const MARKUP = '<img src=x onerror="document.title=\'owned\'">';

/** @param {import('./browser.js').Visit} visit */
export function safety(visit) {
  test('what a user typed is shown as text, and no element comes of it', () => visit('#/shop', async (page) => {
    await page.getByLabel('Customer id').fill(MARKUP);
    const id = await placeOrder(page);
    await order(page, id, MARKUP).waitFor();
    await page.locator('#timeline', { hasText: MARKUP }).waitFor();
    assert.equal(await page.locator('img').count(), 0);
    assert.equal(await page.title(), 'Shop · Once Shop');
  }));

  test('a script that gets into the page all the same does not run', () => visit('#/shop', async (page) => {
    const blocked = await page.evaluate(() => new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
      document.addEventListener('ran', () => resolve('nothing'));
      document.head.append(Object.assign(document.createElement('script'), { textContent: 'document.dispatchEvent(new Event("ran"))' }));
    }));
    assert.equal(blocked, 'script-src-elem');
  }, { forgive: /Content Security Policy/ }));

  test('every document, script and style sheet comes with a policy that allows nothing from elsewhere and nothing inline', () => visit('#/shop', async (page) => {
    for (const path of ['', 'app.js', 'style.css', 'guide/en/1.html']) {
      const headers = await page.evaluate(async (asked) => Object.fromEntries((await fetch(asked)).headers), path);
      const policy = headers['content-security-policy'] ?? '';
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/, path);
      assert.doesNotMatch(policy, /unsafe|\*|https?:/, path);
    }
  }));

  test('three views in two languages ask no other host', () => visit('#/shop', async (page) => {
    /** @type {string[]} */
    const hosts = [];
    page.on('request', (request) => hosts.push(new URL(request.url()).host));
    for (const lang of ['en', 'fa']) {
      for (const view of ['shop', 'lab', 'guide', 'guide/1']) {
        await page.evaluate((hash) => { location.hash = hash; }, `#/${view}?lang=${lang}`);
        await page.locator(`html[lang="${lang}"] main[data-view="${view.split('/')[0]}"] :is(h1, h2)`).first().waitFor();
      }
    }
    assert.ok(hosts.length > 20);
    assert.deepEqual([...new Set(hosts)], [new URL(page.url()).host]);
  }));
}
