// Draws the eye to what has just changed.

const FADE_MILLISECONDS = 1600;

/** Where more than this changes at once, marks would say nothing and cost much. */
const MOST_AT_ONCE = 10;

/** The style sheet says the colour; naming it here, not reading it, keeps the browser from measuring. */
const FROM_MARK_TO_OWN_COLOUR = [{ backgroundColor: 'var(--mark)', offset: 0 }];

const lessMotion = matchMedia('(prefers-reduced-motion: reduce)');

/** The mark of each element, to begin it anew rather than lay another over it. @type {WeakMap<HTMLElement, Animation>} */
const marks = new WeakMap();

/**
 * Marks them for a moment, unless they are many. With reduced motion a mark stays still and then goes
 * away at once.
 *
 * @param {...HTMLElement} changed
 */
export function highlight(...changed) {
  if (changed.length <= MOST_AT_ONCE) changed.forEach(mark);
  else changed.forEach(unmark);
}

/** Ends its mark, if it has one. @param {HTMLElement} marked */
export function unmark(marked) {
  marks.get(marked)?.cancel();
  marks.delete(marked);
}

/** @param {HTMLElement} changed */
function mark(changed) {
  unmark(changed);
  const fading = changed.animate(FROM_MARK_TO_OWN_COLOUR, {
    duration: FADE_MILLISECONDS,
    easing: lessMotion.matches ? 'steps(1, end)' : 'ease-out',
  });
  fading.onfinish = () => marks.delete(changed);
  marks.set(changed, fading);
}
