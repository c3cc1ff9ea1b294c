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

/** A word with a shape and a colour. @param {string} tone @param {string} words */
export function pill(tone, words) {
  return element('span', { class: 'pill', 'data-tone': tone }, words);
}

/**
 * A button that does one thing at a time. While it is busy it keeps the focus, which a disabled one would drop.
 * @param {string} words @param {() => unknown} act @param {Record<string, string | null>} [attributes]
 */
export function button(words, act, attributes = {}) {
  const made = element('button', { type: 'button', class: 'small', ...attributes }, words);
  made.addEventListener('click', async () => {
    if (made.ariaDisabled === 'true') return;
    made.ariaDisabled = 'true';
    try {
      await act();
    } finally {
      made.ariaDisabled = null;
    }
  });
  return made;
}

/** Words of a program in words of a person. @param {string} words */
export function code(words) {
  return element('code', { dir: 'ltr' }, words);
}
