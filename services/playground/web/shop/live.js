// The stream of snapshots: what the tables, the queues and the processes look like right now.

/** @import { Connection, Snapshot } from './types.js' */

/** EventSource gives up after an HTTP error; then we begin anew after this long. */
const RETRY_MILLISECONDS = 1000;

/** How many times as long as one snapshot took, the page is left alone before the next. */
const REST = 2;

/**
 * Listens until the returned function is called. Only the newest snapshot is handed on, in a frame of its own:
 * what a page that is busy or hidden has missed, the next one shows anyway.
 *
 * @param {{onSnapshot: (snapshot: Snapshot) => void, onState: (state: Connection) => void}} handlers
 */
export function listen({ onSnapshot, onState }) {
  /** The newest snapshot, not yet handed on. @type {string | null} */
  let waiting = null;
  let busy = false;
  let ended = false;
  /** @type {EventSource} */
  let source;
  onState('connecting');
  connect();
  return () => {
    ended = true;
    source.close();
  };

  function connect() {
    if (ended) return;
    source = new EventSource('api/live');
    source.onopen = () => onState('open');
    source.onmessage = (event) => {
      waiting = event.data;
      if (!busy) begin();
    };
    source.onerror = () => {
      onState('lost');
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MILLISECONDS);
    };
  }

  function begin() {
    busy = true;
    requestAnimationFrame(handOn); // a hidden page has no frames
  }

  function handOn() {
    const newest = /** @type {string} */ (waiting);
    const begun = performance.now();
    waiting = null;
    setTimeout(() => rest(performance.now() - begun)); // runs when the frame has been painted
    if (!ended) onSnapshot(JSON.parse(newest));
  }

  /** Leaves most of the time to the person, however slow the machine. @param {number} took milliseconds */
  function rest(took) {
    setTimeout(() => {
      busy = false;
      if (waiting !== null) begin();
    }, REST * took);
  }
}
