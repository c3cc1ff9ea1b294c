// A panel with a source file, at the line that did a step.

import { element } from '../shop/element.js';
import { button } from './parts.js';
import { readSource } from './server.js';

/** @import { Open, Source } from './types.js' */

export class SourcePanel {
  node = /** @type {HTMLDialogElement} */ (element('dialog', { class: 'lab-source', dir: 'ltr', 'aria-labelledby': 'lab-source' }));
  /** @type {HTMLElement | null} */
  #before = null;

  /** @param {(key: string) => string} t */
  constructor(t) {
    this.t = t;
    this.node.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#close());
  }

  /** @param {Source} source */
  async open({ file, line }) {
    const text = await readSource(file).catch((/** @type {Error} */ { message }) => message);
    const lines = text.split('\n').map((words, at) =>
      element('span', { class: at + 1 === line ? 'here' : null, 'data-line': at + 1 }, `${words}\n`));
    const code = element('pre', { tabindex: 0, 'aria-labelledby': 'lab-source' }, ...lines);
    const place = `${file}:${line}`;
    const copy = button(this.t('lab.copy'), async () => {
      await navigator.clipboard.writeText(place);
      copy.textContent = this.t('lab.copied');
    });
    const close = button(this.t('lab.close'), () => this.#close());
    this.node.replaceChildren(element('div', {}, element('code', { id: 'lab-source' }, place), copy, close), code);
    if (!this.node.open) this.#before = /** @type {HTMLElement} */ (document.activeElement);
    this.node.show();
    code.focus();
    code.scrollTop = (lines[line - 1]?.offsetTop ?? 0) - code.clientHeight / 2;
  }

  #close() {
    this.node.close();
    this.#before?.focus();
  }
}

/** @param {Source} source @param {Open} open */
export function sourceLink(source, open) {
  const link = element('a', { href: `source/${source.file}`, dir: 'ltr' }, `${source.file.split('/').pop()}:${source.line}`);
  link.addEventListener('click', (event) => {
    event.preventDefault();
    open(source);
  });
  return link;
}
