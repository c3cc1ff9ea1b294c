import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from './eventually.js';
import { announced, chooseFailure, isInSight, run, step, verdict } from './lab-page.js';

const EXPERIMENTS = [
  ['naive', 'crash-after-commit', 'LOST (zombie record)'],
  ['outbox-only', 'crash-before-mark', 'DUPLICATED'],
];

const TAKEN_TWICE = '.lab-picture [aria-label="KEYBOARD 2 · taken twice"]';

/** @param {import('./browser.js').Visit} visit */
export function lab(visit) {
  for (const [preset, failure, words] of EXPERIMENTS) {
    test(`${preset} and ${failure}: ${words}`, () => visit(`#/lab?preset=${preset}&failure=${failure}`, async (page) => {
      assert.equal(await run(page), words);
    }));
  }

  test('the shop leads to two experiments that run at once, and their verdicts are in sight', () => visit('#/shop', async (page) => {
    for (const [link, words] of [['Lose an order', 'LOST'], ['Reserve twice', 'DUPLICATED']]) {
      await page.getByRole('link', { name: link }).click();
      await verdict(page, words);
      await eventually(async () => assert.ok(await isInSight(page.locator('.lab-verdict'))));
      await page.goBack();
      await page.locator('main[data-view="shop"] .intro').waitFor();
    }
  }, { viewport: { width: 360, height: 800 } }));

  test('back leads to the run before, and the link of the lab to the last one', () => visit('#/lab', async (page) => {
    await page.locator('[data-key="lab.begin"]').click();
    await verdict(page, 'LOST');
    await page.locator('[data-key="lab.begin2"]').click();
    await verdict(page, 'DUPLICATED');
    await page.goBack();
    await verdict(page, 'LOST');
    await page.locator('[data-view-link="shop"]').click();
    await page.locator('main[data-view="shop"] .intro').waitFor();
    await page.locator('[data-view-link="lab"]').click();
    await verdict(page, 'LOST');
  }));

  test('one button leads to the moment it went wrong', () => visit('#/lab?without=no-inbox&failure=crash-before-mark', async (page) => {
    await run(page);
    await page.getByRole('button', { name: 'To the moment it went wrong' }).click();
    await page.locator(TAKEN_TWICE).waitFor();
    await page.getByRole('button', { name: 'Step back' }).click();
    await page.locator(TAKEN_TWICE).waitFor({ state: 'detached' });
  }));

  test('a switch says what its protection does, and what its mistake does', () => visit('#/lab?without=no-inbox', async (page) => {
    const inbox = page.locator('.lab-switches li', { has: page.getByRole('switch', { name: 'Inbox', exact: true }) });
    await inbox.getByText('A second delivery has a second effect.').waitFor();
    await inbox.getByRole('link', { name: 'take_again.rs' }).waitFor();
    await inbox.getByRole('switch').click();
    await inbox.getByText('A second delivery has no effect.').waitFor();
    assert.equal(await inbox.getByRole('link').count(), 0);
  }));

  test('all protections and each failure: EXACTLY ONE EFFECT', (t) => visit('#/lab?preset=all', async (page) => {
    const options = page.locator('.lab-failure option');
    await options.first().waitFor({ state: 'attached' });
    const failures = await options.evaluateAll((all) => all.map((option) => /** @type {HTMLOptionElement} */ (option).value));
    assert.equal(failures.length, 15);
    for (const failure of failures) {
      await t.test(`all and ${failure}`, async () => {
        await chooseFailure(page, failure);
        assert.equal(await run(page), 'EXACTLY ONE EFFECT');
        await page.locator('.lab-result pre', { hasText: failure }).waitFor();
      });
    }
  }));

  test('a verdict is announced, with its reason', () => visit('#/lab?preset=naive&failure=crash-after-commit', async (page) => {
    await run(page);
    await announced(page, /^LOST \(zombie record\)\. .*nothing was ever reserved/);
  }));

  test('a protection that is switched on changes the verdict of the same failure', () => visit('#/lab?without=no-inbox&failure=redelivery', async (page) => {
    assert.equal(await run(page), 'DUPLICATED');
    await page.getByRole('button', { name: 'Now switch “Inbox” on' }).click();
    await verdict(page, 'EXACTLY ONE EFFECT');
    assert.equal(await page.getByRole('switch', { name: 'Inbox', exact: true }).getAttribute('aria-checked'), 'true');
  }));

  test('a link restores preset, switches, failure, language and step', async () => {
    let link = '';
    await visit('#/lab?preset=outbox-only&failure=crash-before-mark', async (page) => {
      await run(page);
      await page.locator('.lab-steps li:nth-child(7)').getByRole('button').click();
      link = await page.evaluate(() => location.hash);
    });
    await visit(`${link}&lang=fa`, async (page) => {
      await page.locator('.lab-verdict').waitFor();
      assert.equal(await step(page), '7');
      assert.equal(await page.locator('[data-key="outbox-only"]').getAttribute('aria-pressed'), 'true');
      const off = page.locator('[role="switch"][aria-checked="false"]');
      assert.deepEqual((await off.evaluateAll((all) => all.map((one) => one.getAttribute('data-key')))).sort(),
        ['lab-idempotency-key', 'lab-inbox', 'lab-outside-key', 'lab-retry-limit', 'lab-version-order']);
      assert.equal(await page.locator('.lab-failure select').inputValue(), 'crash-before-mark');
      assert.equal(await page.locator('html').getAttribute('dir'), 'rtl');
    });
  });

  test('a replay goes forth and back, by buttons, by keys and by itself, and says each step', () => visit('#/lab?preset=outbox-only&failure=crash-before-mark', async (page) => {
    await run(page);
    await page.getByRole('button', { name: 'Step forward' }).click();
    assert.equal(await step(page), '2');
    await announced(page, /^Step 2 of /);
    await page.keyboard.press('ArrowRight');
    assert.equal(await step(page), '3');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Step back' }).click();
    assert.equal(await step(page), '1');
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(() => location.hash.endsWith('&step=4'));
    await page.getByRole('button', { name: 'Pause' }).click();
    const last = page.locator('.lab-steps li').last();
    await last.getByRole('button').click();
    await page.locator('.lab-steps li[aria-current="step"]', { hasText: 'compares the databases' }).waitFor();
    await page.locator('.lab-sequence [data-when="now"]').waitFor();
  }));

  test('the picture of a replay shows what was taken twice', () => visit('#/lab?preset=outbox-only&failure=crash-before-mark', async (page) => {
    await run(page);
    await page.locator('.lab-steps li').last().getByRole('button').click();
    await page.locator(TAKEN_TWICE).waitFor();
    await page.locator('.lab-steps li', { hasText: 'takes the stock a second time' }).waitFor();
    await page.locator('.lab-picture [aria-label="order-1 × 2"]').waitFor();
  }));

  test('a step opens the line of code that did it', () => visit('#/lab?failure=crash-before-mark', async (page) => {
    await run(page);
    const link = page.locator('.lab-steps li', { hasText: 'claims the row' }).getByRole('link');
    const [file, line] = String(await link.first().textContent()).split(':');
    await link.first().click();
    await page.getByRole('dialog', { name: new RegExp(`/${file}:${line}$`) }).waitFor();
    assert.equal(await page.locator('.lab-source .here').getAttribute('data-line'), line);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  }));
}
