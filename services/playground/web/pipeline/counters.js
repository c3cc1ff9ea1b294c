// The numbers that say whether all is well.

/** @import { Scene, Translate } from './types.js' */

/** @type {['backlog', 'duplicates', 'dead', 'parked']} */
const NAMES = ['backlog', 'duplicates', 'dead', 'parked'];

/** @param {HTMLElement} root @param {Scene} scene @param {Translate} t */
export function counters(root, { counters: values }, t) {
  if (!values) return;
  const known = root.querySelector('.counters');
  const list = known ?? document.createElement('dl');
  const drawn = NAMES.map((name) => `${t(`pipeline.counter.${name}`)} ${values[name]}`).join();
  if (known && list.getAttribute('data-drawn') === drawn) return;
  list.className = 'counters';
  list.setAttribute('data-drawn', drawn);
  list.replaceChildren(...NAMES.map((name) => {
    const value = values[name];
    const pair = document.createElement('div');
    pair.dataset.counter = name;
    if (value && name !== 'duplicates') pair.dataset.tone = name === 'backlog' ? 'wait' : 'bad';
    const term = document.createElement('dt');
    const number = document.createElement('dd');
    term.textContent = t(`pipeline.counter.${name}`);
    number.textContent = value === null ? '–' : t('pipeline.count', { n: value });
    pair.append(term, number);
    return pair;
  }));
  if (!known) root.prepend(list);
}
