// Makes elements. Whatever comes in as a child is text or a node, never markup.

/**
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} [attributes] null and undefined are left out
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}
