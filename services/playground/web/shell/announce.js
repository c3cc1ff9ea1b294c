// Says something to screen readers.

const region = /** @type {HTMLElement} */ (document.getElementById('announcer'));

/** @param {string} text */
export function announce(text) {
  region.textContent = '';
  requestAnimationFrame(() => { region.textContent = text; }); // the same words twice would be said once
}
