// The processes and the broker, and what one can do to them here.

import { post } from './api.js';
import { button, code, element, pill } from './element.js';
import { processId } from './scene.js';
import { TONES } from './values.js';

/** @import { Process, Say, Snapshot, Translate } from './types.js' */

/** @param {Translate} t @param {Say} say */
export function controls(t, say) {
  const list = element('ul', { class: 'processes', id: 'processes' });
  /** What the list shows, by id. @type {Map<string, {card: HTMLElement, drawn: string}>} */
  const cards = new Map();
  return { list, show };

  /** @param {Snapshot} snapshot */
  function show({ processes = [], broker }) {
    for (const process of processes) {
      const id = processId(process);
      const parts = () => [process.restarts === undefined ? elsewhere(process) : child(process)];
      draw(id, process.name, process, `api/processes/${id}`, parts);
    }
    if (broker) draw('broker', t('pipeline.broker'), broker, 'api/broker', () => []);
  }

  /**
   * @param {string} id @param {string} name @param {{state: string, can?: string[], command?: string | null}} what
   * @param {string} path @param {() => Node[]} facts
   */
  function draw(id, name, what, path, facts) {
    const drawn = JSON.stringify(what);
    const known = cards.get(id);
    if (known?.drawn === drawn) return;
    const card = known?.card ?? list.appendChild(element('li'));
    const focused = /** @type {HTMLElement | null} */ (card.querySelector(':focus'))?.dataset.act;
    const actions = (what.can ?? []).filter((act) => makesSense(act, what.state)).map((act) => button(t(`shop.do.${act}`), () => tell(path, act, name), {
      'data-act': act, 'aria-label': id === 'broker' ? null : t('shop.do-to', { act: t(`shop.do.${act}`), name }), 'aria-disabled': what.state === 'restarting' ? 'true' : null,
    }));
    card.replaceChildren(
      element('strong', {}, name), pill(TONES[what.state] ?? 'ended', t(`pipeline.state.${what.state}`)), ...facts(),
      ...(actions.length > 0 ? [element('div', { class: 'row' }, ...actions)] : []),
      ...(what.command ? [element('p', { class: 'facts' }, t('shop.command'), ' ', code(what.command))] : []));
    cards.set(id, { card, drawn });
    if (focused) (/** @type {HTMLElement | null} */ (card.querySelector(`[data-act="${focused}"]`)) ?? card.querySelector('button'))?.focus();
  }

  /** @param {string} path @param {string} act @param {string} name */
  async function tell(path, act, name) {
    const answer = await post(`${path}/${act}`, { once: true });
    if (answer.ok) say('wait', t(`shop.done.${act}`, { name }));
    else say('bad', answer.problem);
  }

  /** One that the page has started itself, on this machine. @param {Process} process */
  function child({ url, pid, restarts = 0 }) {
    return element('p', { class: 'facts' }, t('shop.pid', { pid: pid === null || pid === undefined ? '–' : String(pid), n: restarts }), ' · ',
      element('a', { href: url, dir: 'ltr' }, url.replace(/^http:\/\//, '')));
  }

  /** One that runs elsewhere: its address is in a network of its own, no link for people. @param {Process} process */
  function elsewhere({ url, reason }) {
    return element('p', { class: 'facts' }, code(url.replace(/^http:\/\//, '')), ...(reason === undefined ? [] : [` ${reason}`]));
  }
}

/** `can` says what works here; the state, what works now. @param {string} act @param {string} state */
function makesSense(act, state) {
  switch (act) {
    case 'freeze': return state !== 'frozen';
    case 'thaw': return state === 'frozen';
    case 'stop': return state !== 'stopped';
    case 'start': return state === 'stopped';
    default: return true;
  }
}
