// The stream of snapshots: what the tables, the queues and the processes look like right now.

/**
 * @typedef {string | number | null} Value
 * @typedef {{total: number, columns: string[], rows: Value[][]}} Table
 * @typedef {{name: string, url: string, state: string, reason?: string, pid?: number | null, restarts?: number}} Process
 *   `pid` and `restarts` are there only if the page has started the process itself.
 * @typedef {{queue: string, ready: number, consumers: number | null}} Queue
 * @typedef {{processes?: Process[], queues?: Queue[], tables?: Record<string, Table>, errors?: string[]}} Snapshot
 * @typedef {'connecting' | 'open' | 'lost'} State
 */

/** EventSource gives up after an HTTP error; then we begin anew after this long. */
const RETRY_MILLISECONDS = 1000;

/** How many times as long as one snapshot took, the page is left alone before the next. */
const REST = 2;

/**
 * Listens until the page is left. Only the newest snapshot is handed on, in a frame of its own: what a page
 * that is busy or hidden has missed, the next one shows anyway.
 *
 * @param {{onSnapshot: (snapshot: Snapshot) => void, onState: (state: State) => void}} handlers
 */
export function listen({ onSnapshot, onState }) {
  /** The newest snapshot, not yet handed on. @type {string | null} */
  let waiting = null;
  let busy = false;
  onState('connecting');
  connect();

  function connect() {
    const source = new EventSource('/api/live');
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
    onSnapshot(JSON.parse(newest));
  }

  /** Leaves most of the time to the person, however slow the machine. @param {number} took milliseconds */
  function rest(took) {
    setTimeout(() => {
      busy = false;
      if (waiting !== null) begin();
    }, REST * took);
  }
}
