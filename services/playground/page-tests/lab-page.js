// What the tests do and look for in the lab.

import assert from 'node:assert/strict';
import { eventually } from './eventually.js';

/** @import { Locator, Page } from 'playwright-core' */

/** Runs what is chosen and returns the verdict. @param {Page} page */
export async function run(page) {
  await page.locator('.lab-run > [data-key="run"]').click();
  return String(await page.locator('.lab-verdict').textContent()); // the last one's went away with the click
}

/** @param {Page} page @param {string} words */
export function verdict(page, words) {
  return page.locator('.lab-verdict', { hasText: words }).waitFor();
}

/** @param {Page} page @param {string} failure */
export async function chooseFailure(page, failure) {
  await page.locator('.lab-failure select').selectOption(failure);
}

/** The step that the replay shows. @param {Page} page */
export function step(page) {
  return page.locator('.lab-controls input').inputValue();
}

/** Waits until screen readers have been told. @param {Page} page @param {RegExp} words */
export function announced(page, words) {
  return eventually(async () => assert.match(String(await page.locator('#announcer').textContent()), words));
}

/** Whether all of it is on the screen. @param {Locator} place */
export function isInSight(place) {
  return place.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
}
