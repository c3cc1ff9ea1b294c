// Orders at a steady rate, until somebody stops them.

import { element } from './element.js';

/** @import { Translate } from './types.js' */

/** More requests than this don't wait at once: a shop that is away gets no crowd of its own. */
const MOST_OPEN = 30;

/** @param {Translate} t @param {{rate: number}} draft @param {() => Promise<{ok: boolean}>} place */
export function steadyRate(t, draft, place) {
  const counts = { accepted: 0, refused: 0, open: 0 };
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const slider = /** @type {HTMLInputElement} */ (element('input', { type: 'range', id: 'rate', min: 1, max: 25, value: draft.rate }));
  const shown = element('output', { for: 'rate' });
  const toggle = element('button', { type: 'button', 'aria-pressed': 'false' }, t('shop.steady-start'));
  const tally = element('p', { class: 'tally' });
  slider.addEventListener('input', () => {
    draft.rate = Number(slider.value);
    draw();
    if (timer !== undefined) start();
  });
  toggle.addEventListener('click', () => {
    if (timer === undefined) start();
    else stop();
  });
  draw();
  const field = element('div', { class: 'field steady' },
    element('label', { for: 'rate' }, t('shop.rate')), element('div', { class: 'row' }, slider, shown, toggle), tally);
  return { field, stop };

  function start() {
    clearInterval(timer);
    timer = setInterval(one, 1000 / draft.rate);
    draw();
  }

  function stop() {
    clearInterval(timer);
    timer = undefined;
    draw();
  }

  async function one() {
    if (counts.open >= MOST_OPEN) return;
    counts.open += 1;
    const { ok } = await place();
    counts.open -= 1;
    counts[ok ? 'accepted' : 'refused'] += 1;
    draw();
  }

  function draw() {
    const words = t('shop.per-second', { n: draft.rate });
    shown.textContent = words;
    slider.setAttribute('aria-valuetext', words);
    toggle.setAttribute('aria-pressed', String(timer !== undefined));
    toggle.textContent = t(timer === undefined ? 'shop.steady-start' : 'shop.steady-stop');
    tally.textContent = counts.accepted + counts.refused === 0 ? '' : t('shop.tally', counts);
  }
}
