// The frame around the views: navigation, language, and the state in the link.

import { LANGUAGES, language, loadTexts, onLanguage, preferredLanguage, remember, setLanguage, t, translate } from '../i18n/i18n.js';
import { announce } from './announce.js';
import { formatHash, parseHash } from './hash.js';
import { styleSheet } from './style-sheet.js';

/**
 * @typedef {object} Context what a view may use of the shell
 * @property {import('../i18n/i18n.js').Translate} t
 * @property {string} lang the language right now
 * @property {(listener: (language: string) => void) => () => void} onLanguage returns the way to stop it
 * @property {(state: import('./hash.js').HashState, how?: {replace?: boolean}) => void} go
 *   `replace` writes the link without a step in the history and without calling `update`
 * @property {(text: string) => void} announce
 */
/** @typedef {{update?: (state: Required<import('./hash.js').HashState>) => void, unmount: () => void}} View */
/** @typedef {{mount: (host: HTMLElement, context: Context) => View}} ViewModule */

/** Loaded when first opened: nobody waits for a view that is not asked for. @type {Record<string, () => Promise<ViewModule>>} */
const VIEWS = {
  shop: () => import('../shop/shop.js'),
  lab: () => import('../lab/lab.js'),
  guide: () => import('../guide/guide.js'),
};

const host = /** @type {HTMLElement} */ (document.getElementById('view'));
const languages = /** @type {HTMLElement} */ (document.getElementById('languages'));

/** @type {Context} */
const context = { t, get lang() { return language(); }, onLanguage, go, announce };
let shown = '';
/** @type {View | null} */
let view = null;

export async function startShell() {
  const { params } = parseHash(location.hash);
  await setLanguage(preferredLanguage(params.lang));
  await loadTexts('shell', 'pipeline');
  drawFrame();
  onLanguage(drawFrame);
  addEventListener('hashchange', follow);
  document.getElementById('skip')?.addEventListener('click', (event) => {
    event.preventDefault(); // its fragment would be taken for a view
    host.focus();
  });
  await follow();
}

/** @param {import('./hash.js').HashState} state @param {{replace?: boolean}} [how] */
function go(state, { replace = false } = {}) {
  const { lang } = parseHash(location.hash).params;
  const hash = formatHash({ ...state, params: { ...state.params, ...(lang ? { lang } : {}) } });
  keepPlace(state);
  if (replace) history.replaceState(null, '', hash);
  else location.hash = hash;
}

/** The lab's link in the navigation leads back to where one was in it. @param {import('./hash.js').HashState} state */
function keepPlace({ view: name, params = {} }) {
  const { lang, run, ...kept } = params;
  if (name === 'lab' && kept.failure) document.querySelector('[data-view-link="lab"]')?.setAttribute('href', formatHash({ view: name, params: kept }));
}

/** Shows what the link says. */
async function follow() {
  const state = parseHash(location.hash);
  keepPlace(state);
  if (state.params.lang in LANGUAGES && state.params.lang !== language()) await setLanguage(state.params.lang);
  if (!(state.view in VIEWS)) state.view = 'recorded' in document.body.dataset ? 'lab' : 'shop'; // a copy has no live shop
  if (state.view === shown) view?.update?.(state);
  else await open(state);
}

/** @param {Required<import('./hash.js').HashState>} state */
async function open(state) {
  const isFirst = shown === '';
  shown = state.view;
  view?.unmount();
  view = null;
  host.replaceChildren();
  host.dataset.view = shown;
  drawFrame();
  try {
    const [module] = await Promise.all([VIEWS[shown](), loadTexts(shown), styleSheet(`${shown}.css`)]);
    if (shown !== state.view) return; // somebody went on meanwhile
    view = module.mount(host, context);
    view.update?.(parseHash(location.hash));
  } catch (error) {
    if (shown !== state.view) return;
    console.error(error);
    shown = ' '; // a second click tries again
    host.replaceChildren(Object.assign(document.createElement('p'), { className: 'banner', role: 'alert', textContent: t('shell.failed') }));
  }
  if (!isFirst) {
    scrollTo(0, 0);
    host.focus({ preventScroll: true });
  }
}

function drawFrame() {
  translate(document);
  document.title = shown in VIEWS ? `${t(`shell.${shown}`)} · Once Shop` : 'Once Shop';
  for (const link of document.querySelectorAll('[data-view-link]')) {
    if (link.getAttribute('data-view-link') === shown) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  languages.replaceChildren(...Object.entries(LANGUAGES).map(languageButton));
}

/** @param {[string, string]} entry */
function languageButton([code, name]) {
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', lang: code, textContent: name, ariaPressed: String(code === language()) });
  button.addEventListener('click', async () => {
    remember(code);
    const state = parseHash(location.hash);
    const linked = { ...state, view: shown.trim() || 'shop', params: { ...state.params, lang: code } };
    history.replaceState(null, '', formatHash(linked));
    await setLanguage(code);
    /** @type {HTMLElement | null} */ (languages.querySelector('[aria-pressed="true"]'))?.focus();
  });
  return button;
}
