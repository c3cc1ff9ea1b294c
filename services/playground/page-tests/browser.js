// A real Chromium, and visits to the page in it. Whatever a visit does, its console stays clean and it asks no other host.

import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

/** @import { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core' */
/**
 * @typedef {BrowserContextOptions & {url?: string, forgive?: RegExp, prepare?: (page: Page) => Promise<void>}} How
 *   `forgive`: the one kind of complaint that belongs to the test; `prepare`: before the page is opened
 */
/** @typedef {ReturnType<typeof visitor>} Visit */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const WAIT_MILLISECONDS = 30_000;

export function startChromium() {
  const isRoot = process.getuid?.() === 0; // the browser's own sandbox refuses to run then
  const args = ['--disable-gpu', '--disable-quic', '--no-first-run', ...(isRoot ? ['--no-sandbox'] : [])];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? installed(), args });
}

function installed() {
  const places = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (!found) throw new Error(`no Chromium: none of ${NAMES.join(', ')} is in PATH; set CHROMIUM to its path`);
  return found;
}

/** Each visit is a visitor of its own, with nothing stored. @param {Browser} browser @param {string} home */
export function visitor(browser, home) {
  /** @param {string} hash @param {(page: Page) => Promise<void>} see @param {How} [how] */
  return async function visit(hash, see, { url = home, forgive, prepare, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB', ...options });
    context.setDefaultTimeout(WAIT_MILLISECONDS);
    const complaints = listen(context, new URL(url).origin);
    try {
      const page = await context.newPage();
      await prepare?.(page);
      await page.goto(url + hash);
      await see(page);
      assert.deepEqual(complaints.filter((words) => !forgive?.test(words)), [], 'the console is clean and nothing leaves the host');
    } finally {
      await context.close();
    }
  };
}

/** @param {BrowserContext} context @param {string} origin */
function listen(context, origin) {
  /** @type {string[]} */
  const complaints = [];
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  context.on('weberror', (error) => complaints.push(`thrown: ${error.error().stack}`));
  context.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && protocol !== 'data:') complaints.push(`a request to ${request.url()}`);
  });
  return complaints;
}
