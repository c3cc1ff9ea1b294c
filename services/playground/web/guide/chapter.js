// A chapter: the server's fragment, with life in its predictions, experiments and links to code.

import { element } from '../shop/element.js';
import { readSource } from '../lab/server.js';
import { experiment } from './experiment.js';

/** @typedef {import('../shell/shell.js').Context} Context */
/** @typedef {import('../lab/source.js').SourcePanel} SourcePanel */

/** @param {string} fragment @param {Context} context @param {SourcePanel} panel @returns {Node[]} */
export function chapterText(fragment, context, panel) {
  const body = document.importNode(new DOMParser().parseFromString(fragment, 'text/html').body, true);
  body.querySelector('h1')?.setAttribute('tabindex', '-1');
  body.querySelector('blockquote')?.classList.add('guide-question');
  for (const code of body.querySelectorAll('code')) code.setAttribute('dir', 'ltr');
  for (const block of all(body, 'pre')) Object.assign(block, { dir: 'ltr', tabIndex: 0 }); // long lines scroll, with the keyboard too
  for (const table of all(body, 'table')) scrolling(table);
  for (const place of all(body, '.experiment')) enliven(place, context);
  for (const code of all(body, 'code[data-source]')) code.replaceWith(sourceLink(code, context, panel));
  return [...body.childNodes];
}

/** @param {HTMLElement} table */
function scrolling(table) {
  const frame = element('div', { class: 'guide-table', tabindex: 0 });
  table.replaceWith(frame);
  frame.append(table);
}

/** @param {HTMLElement} place @param {Context} context */
function enliven(place, context) {
  const prediction = /** @type {HTMLElement} */ (place.previousElementSibling);
  const { question = '', options = '', of = 'reservations' } = prediction.dataset;
  const { mistakes = '', failure = '' } = place.dataset;
  prediction.remove();
  place.replaceWith(experiment({
    question,
    options: options.split(', '),
    of: of === 'textMessages' ? of : 'reservations',
    mistakes: mistakes === 'none' ? [] : mistakes.split(', '),
    failure,
  }, context));
}

/** Stays text where the file is not served. @param {HTMLElement} code @param {Context} context @param {SourcePanel} panel */
function sourceLink(code, context, panel) {
  const { source: file = '', function: name = '' } = code.dataset;
  const link = element('button', { type: 'button', class: 'guide-source', title: file }, code.cloneNode(true));
  link.addEventListener('click', async () => {
    const text = await readSource(file).catch(() => null);
    if (text === null) {
      link.replaceWith(code);
      context.announce(context.t('guide.no-source', { file }));
      return;
    }
    const found = text.split('\n').findIndex((line) => new RegExp(`\\bfn ${name}\\b`).test(line));
    panel.open({ file, line: found + 1 });
  });
  return link;
}

/** @param {ParentNode} root @param {string} selector */
const all = (root, selector) => /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(selector));
