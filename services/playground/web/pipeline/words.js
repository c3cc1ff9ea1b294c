// What changed, in words, for those who don't see the picture.

/** @import { Changes, Pile, Translate } from './types.js' */

const MOST = 4;

/** @param {HTMLElement} list @param {Changes} changes @param {Record<string, Pile>} piles @param {Translate} t */
export function inWords(list, { appeared, changed }, piles, t) {
  /** @type {string[]} */
  const sentences = [];
  for (const [name, { cards }] of Object.entries(piles)) {
    for (const card of cards) {
      if (appeared.has(card.key)) sentences.push(t('pipeline.appeared', { list: t(`pipeline.list.${name}`), name: card.name }));
      else if (changed.has(card.key)) sentences.push(t('pipeline.changed', { list: t(`pipeline.list.${name}`), name: card.name }));
    }
  }
  if (sentences.length === 0) return false;
  const rest = sentences.length - MOST;
  const said = rest > 0 ? [...sentences.slice(0, MOST), t('pipeline.more', { n: rest })] : sentences;
  list.replaceChildren(...said.map((words) => Object.assign(document.createElement('li'), { textContent: words })));
  return true;
}
