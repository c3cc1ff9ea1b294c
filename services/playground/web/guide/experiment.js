// Predict, run, compare. What counts is the run: no answer is written down anywhere.

import { element } from '../shop/element.js';
import { result } from '../lab/result.js';
import { rowOf, toLink } from '../lab/choice.js';
import { readLab, readTrace, run } from '../lab/server.js';
import { formatHash } from '../shell/hash.js';

/** @typedef {import('../shell/shell.js').Context} Context */
/** @typedef {import('../i18n/i18n.js').Translate} Translate */
/** @typedef {import('../lab/types.js').Lab} Lab */
/** @typedef {import('../lab/types.js').Trace} Trace */
/** @typedef {{question: string, options: string[], of: 'reservations' | 'textMessages', mistakes: string[], failure: string}} Experiment `of`: what is predicted */

/** What the reader has predicted and seen, by experiment: another language shows it again. @type {Map<string, {predicted: string, trace?: Trace}>} */
const seen = new Map();
let names = 0;

/** @param {Experiment} given @param {Context} context */
export function experiment(given, context) {
  const { t } = context;
  const key = `${given.mistakes.join(',')}/${given.failure}`;
  const outcome = element('div', { class: 'guide-outcome' });
  // Never `disabled`: the keyboard's focus would be lost while it runs.
  const start = element('button', { type: 'button', class: 'primary', 'aria-disabled': 'true' }, t('guide.run'));
  const hint = element('p', { class: 'guide-hint' }, t('guide.predict-first'));
  /** @type {Lab | null} */
  let lab = null;

  const fields = predictions(given, t, seen.get(key)?.predicted, (predicted) => {
    seen.set(key, { ...seen.get(key), predicted });
    redraw();
  });

  async function go() {
    const before = seen.get(key);
    if (!lab || !before || start.ariaDisabled === 'true') return;
    start.ariaDisabled = 'true';
    hint.textContent = t('lab.running');
    context.announce(t('lab.running'));
    try {
      const trace = await traceOf(given, lab);
      seen.set(key, { ...before, trace });
      redraw();
      context.announce([...outcome.querySelectorAll('.say, .lab-verdict')].map((node) => node.textContent).join(' '));
    } catch (error) {
      redraw();
      hint.textContent = t('lab.error', { reason: /** @type {Error} */ (error).message });
      context.announce(hint.textContent);
    }
  }

  function redraw() {
    const { predicted, trace } = seen.get(key) ?? {};
    start.ariaDisabled = String(!predicted || !lab);
    start.textContent = t(lab?.mode === 'export' ? 'guide.show' : trace ? 'guide.again' : 'guide.run');
    hint.textContent = predicted ? '' : t('guide.predict-first');
    outcome.replaceChildren(...(predicted && trace && lab ? compared(given, predicted, trace, lab, t) : []));
  }

  start.addEventListener('click', go);
  labOnce().then((found) => { lab = found; redraw(); }, () => {
    start.remove();
    hint.replaceChildren(t('guide.needs-lab'), ' ', element('code', { dir: 'ltr' }, command(given)));
  });
  return element('section', { class: 'guide-experiment card lab' },
    setting(given, t), fields, element('div', { class: 'guide-start' }, start, hint), outcome);
}

/** @type {Promise<Lab> | null} */
let asked = null;

/** Many experiments ask once; a failure is asked again with the next chapter. */
function labOnce() {
  asked ??= readLab().catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** @param {Experiment} given @param {Lab} lab */
async function traceOf({ mistakes, failure }, lab) {
  if (lab.mode !== 'export') return run(mistakes, failure);
  return readTrace(rowOf(mistakes, lab) ?? mistakes.join(','), failure);
}

/** What is switched off, and what fails. @param {Experiment} given @param {Translate} t */
function setting({ mistakes, failure }, t) {
  const off = mistakes.length === 0 ? t('guide.no-mistake') : mistakes.map((id) => t(`lab.mistake.${id}`)).join(' + ');
  return element('dl', { class: 'guide-setting' },
    element('div', {}, element('dt', {}, t('guide.mistake')), element('dd', { 'data-tone': mistakes.length === 0 ? 'good' : 'bad', class: 'say' }, off)),
    element('div', {}, element('dt', {}, t('guide.failure')), element('dd', {}, t(`lab.failure.${failure}`))));
}

/**
 * @param {Experiment} given @param {Translate} t
 * @param {string | undefined} chosen @param {(predicted: string) => void} choose
 */
function predictions({ question, options }, t, chosen, choose) {
  const name = `prediction-${++names}`;
  const choices = options.map((option) => {
    const radio = /** @type {HTMLInputElement} */ (element('input', { type: 'radio', name, value: option }));
    radio.checked = option === chosen;
    radio.addEventListener('change', () => choose(option));
    return element('label', {}, radio, optionWords(option, t));
  });
  return element('fieldset', {}, element('legend', {}, question), element('div', { class: 'guide-options' }, ...choices));
}

/** `3+` is three or more. @param {string} option @param {Translate} t */
const optionWords = (option, t) => t(option.endsWith('+') ? 'guide.or-more' : 'guide.number', { n: Number.parseInt(option, 10) });

/** @param {Experiment} given @param {string} predicted @param {Trace} trace @param {Lab} lab @param {Translate} t */
function compared({ of }, predicted, trace, lab, t) {
  const n = trace.equation[of] ?? 0;
  const isRight = predicted.endsWith('+') ? n >= Number.parseInt(predicted, 10) : n === Number(predicted);
  const words = t(isRight ? 'guide.right' : 'guide.wrong', { predicted: optionWords(predicted, t), of: t(`guide.of.${of}`), n });
  const replay = formatHash({ view: 'lab', params: toLink({ mistakes: trace.mistakes, failure: trace.failure, step: 0 }, lab) });
  return [
    element('p', { class: 'say', 'data-tone': isRight ? 'good' : 'wait' }, words),
    result(trace, t, element('p', {}, element('a', { href: replay }, t('guide.replay')))),
  ];
}

/** @param {Experiment} given */
function command({ mistakes, failure }) {
  const without = mistakes.length === 0 ? '' : ` --without ${mistakes.join(',')}`;
  return `cargo run -- lab run ${failure}${without}`;
}
