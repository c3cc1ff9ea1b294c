// A panel with a source file, at the line that did a step.

import { element } from '../shop/element.js';
import { button } from './button.js';
import { readSource } from './server.js';

export class SourcePanel {
  node = /** @type {HTMLDialogElement} */ (element('dialog', { class: 'lab-source', dir: 'ltr', 'aria-labelledby': 'lab-source-name' }));
  /** @type {HTMLElement | null} */
  #before = null;

  /** @param {(key: string) => string} t */
  constructor(t) {
    this.t = t;
    this.node.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#close();
    });
  }

  /** @param {import('./server.js').Source} source */
  async open({ file, line }) {
    const text = await readSource(file).catch((/** @type {Error} */ error) => error.message);
    const lines = text.split('\n').map((words, at) => element('span', { class: at + 1 === line ? 'here' : null, 'data-line': at + 1 }, `${words}\n`));
    const code = element('pre', { tabindex: 0, 'aria-labelledby': 'lab-source-name' }, ...lines);
    const place = `${file}:${line}`;
    const copy = button(this.t('lab.copy'), async () => {
      await navigator.clipboard.writeText(place);
      copy.textContent = this.t('lab.copied');
    }, { class: 'small' });
    this.node.replaceChildren(
      element('div', { class: 'lab-source-head' },
        element('code', { id: 'lab-source-name' }, place), copy, button(this.t('lab.close'), () => this.#close(), { class: 'small' })),
      code,
    );
    if (!this.node.open) this.#before = /** @type {HTMLElement} */ (document.activeElement);
    this.node.show();
    code.focus();
    const here = lines[line - 1];
    if (here) code.scrollTop = here.offsetTop - code.clientHeight / 2;
  }

  #close() {
    this.node.close();
    this.#before?.focus();
  }
}
