// The state that a link carries: `#/lab?preset=naive&step=7`, `#/guide/3`.

/**
 * `page` is what follows the view's name, `''` where nothing does.
 * @typedef {{view: string, page?: string, params?: Record<string, string>}} HashState
 */

/** @param {string} hash @returns {Required<HashState>} */
export function parseHash(hash) {
  const [path, query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [view, page = ''] = path.split('/');
  return { view, page, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {HashState} state */
export function formatHash({ view, page = '', params = {} }) {
  const query = new URLSearchParams(params).toString().replaceAll('%2C', ',');
  return `#/${view}${page === '' ? '' : `/${page}`}${query === '' ? '' : `?${query}`}`;
}
