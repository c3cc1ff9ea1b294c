// Draws the eye to what has just changed.

const FADE_MILLISECONDS = 1600;

const lessMotion = matchMedia('(prefers-reduced-motion: reduce)');

/**
 * Marks it for a moment. With reduced motion the mark stays still and then goes away at once.
 *
 * @param {HTMLElement} changed
 */
export function highlight(changed) {
  const mark = getComputedStyle(document.documentElement).getPropertyValue('--mark');
  changed.animate([{ backgroundColor: mark, offset: 0 }], { // and back to its own colour
    duration: FADE_MILLISECONDS,
    easing: lessMotion.matches ? 'steps(1, end)' : 'ease-out',
  });
}
