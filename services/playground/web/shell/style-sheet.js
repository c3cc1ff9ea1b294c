/** Adds a view's style sheet once, and waits for it, so that nothing is seen undressed. @param {string} path */
export function styleSheet(path) {
  if (document.querySelector(`link[href="${path}"]`)) return Promise.resolve();
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: path });
  return new Promise((resolve) => {
    link.onload = resolve;
    link.onerror = resolve; // plain, but there
    document.head.append(link);
  });
}
