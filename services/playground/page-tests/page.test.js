// Everything that is tested in a browser: one browser, one playground, a visit of its own for each test.

import { after, before, describe } from 'node:test';
import { startChromium, visitor } from './browser.js';
import { startPlayground } from './playground.js';
import { copy } from './copy.js';
import { everybody } from './everybody.js';
import { guide } from './guide.js';
import { lab } from './lab.js';
import { safety } from './safety.js';
import { shop } from './shop.js';
import { startExport } from './static-copy.js';
import { weight } from './weight.js';

describe('the page', () => {
  /** @type {Awaited<ReturnType<typeof startPlayground>>} */
  let playground;
  /** @type {Awaited<ReturnType<typeof startChromium>>} */
  let browser;
  /** @type {Awaited<ReturnType<typeof startExport>>} */
  let exported;
  before(async () => {
    exported = await startExport();
    playground = await startPlayground();
    browser = await startChromium();
  });
  after(() => Promise.all([browser?.close(), playground?.stop(), exported?.stop()]));

  /** @type {import('./browser.js').Visit} */
  const visit = (...how) => visitor(browser, playground.url)(...how);
  describe('the live shop', () => shop(visit));
  describe('the lab', () => lab(visit));
  describe('the guide', () => guide(visit));
  describe('safety', () => safety(visit));
  describe('for everybody', () => everybody(visit));
  describe('weight', () => weight(visit));
  describe('an exported copy', () => copy(visit, () => exported.url()));
});
