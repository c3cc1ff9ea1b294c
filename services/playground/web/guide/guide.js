// The guide: seven chapters beside the lab, each with experiments that really run.

import { loadTexts } from '../i18n/i18n.js';
import { SourcePanel } from '../lab/source.js';
import { element } from '../shop/element.js';
import { styleSheet } from '../shell/style-sheet.js';
import { chapterText } from './chapter.js';
import { contents, overview, turning } from './contents.js';

/** @typedef {import('../shell/shell.js').Context} Context */
/** @typedef {{n: number, slug: string, title: string, question: string}} Entry */

/** @param {HTMLElement} host @param {Context} context */
export function mount(host, context) {
  const root = element('div', { class: 'guide' });
  const panel = new SourcePanel(context.t);
  host.append(root, element('div', { class: 'lab' }, panel.node));
  // Verdicts look and read as in the lab.
  const labReady = Promise.all([loadTexts('lab'), styleSheet('lab.css')]);
  let page = 0;
  let turn = 0;
  let isFirst = true;

  async function show() {
    const now = ++turn;
    try {
      const [entries, text] = await Promise.all([readContents(context.lang), page > 0 ? readChapter(context.lang, page) : null, labReady]);
      if (now !== turn) return;
      root.replaceChildren(...(text === null ? [overview(entries, context.t)] : chapter(entries, text)));
      if (text !== null) document.title = `${entries[page - 1].title} · Once Shop`;
      if (!isFirst) /** @type {HTMLElement | null} */ (root.querySelector('h1'))?.focus();
      isFirst = false;
    } catch (error) {
      if (now !== turn) return;
      console.error(error);
      root.replaceChildren(element('p', { class: 'banner', role: 'alert' }, context.t('guide.failed')));
    }
  }

  /** @param {Entry[]} entries @param {string} text */
  function chapter(entries, text) {
    const article = element('article', { class: 'guide-chapter' }, ...chapterText(text, context, panel), turning(entries, page, context.t));
    return [contents(entries, page, context.t), article];
  }

  const stop = context.onLanguage(() => {
    isFirst = true; // the reader is at the language switch, and stays there
    show();
  });
  return {
    /** @param {{page: string}} state */
    update({ page: wanted }) {
      const next = /^[1-7]$/.test(wanted) ? Number(wanted) : 0;
      if (!isFirst && next === page) return;
      if (!isFirst) scrollTo(0, 0);
      page = next;
      show();
    },
    unmount() {
      turn++;
      stop();
    },
  };
}

/** @param {string} language @returns {Promise<Entry[]>} */
const readContents = async (language) => (await get(`guide/${language}/index.json`)).json();

/** @param {string} language @param {number} n */
const readChapter = async (language, n) => (await get(`guide/${language}/${n}.html`)).text();

/** @param {string} path */
async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
}
