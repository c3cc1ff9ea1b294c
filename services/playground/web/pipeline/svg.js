// Makes parts of the picture. Text goes in as text, never as markup.

/**
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} [attributes] null and undefined are left out
 * @param {...(Node | string)} children
 */
export function svg(name, attributes = {}, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS('http://www.w3.org/2000/svg', name));
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

const PERSIAN = /[\u0600-\u06ff]/;

/**
 * The picture runs from left to right in every language; Persian words in it are isolated, so that they read
 * from right to left.
 *
 * @param {number} x @param {number} y @param {string} words @param {string} style class names @param {number} [room] in pixels
 */
export function label(x, y, words, style, room = Infinity) {
  const persian = PERSIAN.test(words);
  const cut = fit(words, room, style);
  const whole = cut === words ? [] : [svg('title', {}, words)];
  return svg('text', { x, y, class: persian ? `${style} persian` : style }, persian ? `\u2067${cut}\u2069` : cut, ...whole);
}

/** @param {string} words @param {string} style */
export function widthOf(words, style) {
  pen.font = fontOf(style);
  return pen.measureText(words).width;
}

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
/** @type {Map<string, string>} */
const fonts = new Map();

/** Cuts words that are wider than their room: a picture does not wrap. @param {string} words @param {number} room @param {string} style */
export function fit(words, room, style) {
  if (room === Infinity || widthOf(words, style) <= room) return words;
  let kept = words;
  while (kept.length > 1 && widthOf(`${kept}…`, style) > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** The style sheet says the font; asked once for each style. @param {string} style */
function fontOf(style) {
  const known = fonts.get(style);
  if (known) return known;
  const probe = document.body.appendChild(svg('svg', { class: 'pl', width: 0, height: 0 }, svg('text', { class: style })));
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(/** @type {Element} */ (probe.firstElementChild));
  probe.remove();
  const font = `${fontWeight} ${fontSize} ${fontFamily}`;
  fonts.set(style, font);
  return font;
}

/** Each tone has a shape of its own, 10 by 10, so that none is told by its colour alone. @type {Record<string, string>} */
const SHAPES = {
  good: 'M1 5.5 4 8.5 9 1.5',
  bad: 'M1.5 1.5 8.5 8.5M8.5 1.5 1.5 8.5',
  wait: 'M9 5A4 4 0 1 1 9 4.9',
  move: 'M2 1 9 5 2 9Z',
  ending: 'M5 .5 9.5 5 5 9.5 .5 5Z',
  ended: 'M1 5H9',
  paused: 'M3 1V9M7 1V9',
};

/** @param {number} x @param {number} y @param {string} tone */
export function shape(x, y, tone) {
  const filled = tone === 'move' || tone === 'ending';
  return svg('path', { d: SHAPES[tone] ?? SHAPES.ended, class: filled ? 'shape filled' : 'shape', transform: `translate(${x} ${y})` });
}
