import assert from 'node:assert/strict';
import { test } from 'node:test';

/** @import { Page } from 'playwright-core' */

const MOST_BYTES = 150_000;
/** What a reader opens one by one, and what is no file of the page. */
const NOT_COUNTED = /\/guide\/(en|fa)\/|\/traces\/|\/api\//;

/** @param {import('./browser.js').Visit} visit */
export function weight(visit) {
  for (const lang of ['en', 'fa']) {
    test(`a first visit of all three views (${lang}) transfers less than 150 KB`, (t) => {
      /** @type {Map<string, number>} */
      const bytes = new Map();
      return visit(`#/shop?lang=${lang}`, async (page) => {
        await page.locator('[data-table="stock"] tbody tr').first().waitFor();
        await page.locator('[data-view-link="lab"]').click();
        await page.locator('.lab-run').waitFor();
        await page.locator('[data-view-link="guide"]').click();
        await page.locator('.guide-overview').waitFor();
        const counted = [...bytes].filter(([url]) => !NOT_COUNTED.test(url));
        const sum = counted.reduce((all, [, one]) => all + one, 0);
        t.diagnostic(`${counted.length} files, ${sum} bytes`);
        assert.ok(counted.length > 50);
        assert.ok(sum < MOST_BYTES, `${sum} bytes`);
      }, { prepare: (page) => weigh(page, bytes) });
    });
  }
}

/** Notes what each answer weighs on the wire, its head included. @param {Page} page @param {Map<string, number>} bytes */
async function weigh(page, bytes) {
  const network = await page.context().newCDPSession(page);
  /** @type {Map<string, string>} */
  const urls = new Map();
  network.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url));
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => bytes.set(urls.get(requestId) ?? '', encodedDataLength));
  await network.send('Network.enable');
}
