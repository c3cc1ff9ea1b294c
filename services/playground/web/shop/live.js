// The stream of snapshots: what the tables, the queues and the processes look like right now.

/**
 * @typedef {string | number | null} Value
 * @typedef {{total: number, columns: string[], rows: Value[][]}} Table
 * @typedef {{name: string, url: string, pid: number | null, state: string, restarts: number}} Process
 * @typedef {{queue: string, ready: number, consumers: number | null}} Queue
 * @typedef {{processes?: Process[], queues?: Queue[], tables?: Record<string, Table>, errors?: string[]}} Snapshot
 * @typedef {'connecting' | 'open' | 'lost'} State
 */

/** EventSource gives up after an HTTP error; then we begin anew after this long. */
const RETRY_MILLISECONDS = 1000;

/**
 * Listens until the page is left.
 *
 * @param {{onSnapshot: (snapshot: Snapshot) => void, onState: (state: State) => void}} handlers
 */
export function listen({ onSnapshot, onState }) {
  onState('connecting');
  connect();

  function connect() {
    const source = new EventSource('/api/live');
    source.onopen = () => onState('open');
    source.onmessage = (event) => onSnapshot(JSON.parse(event.data));
    source.onerror = () => {
      onState('lost');
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MILLISECONDS);
    };
  }
}
