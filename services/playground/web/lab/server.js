// What the lab asks of the server. The exported site answers the GETs from files.

/**
 * @typedef {{file: string, line: number}} Source
 * @typedef {{id: string, mistakes: string[]}} Row a preset, or a row of the matrix
 * @typedef {Record<string, Record<string, {verdict: string, milliseconds: number}>>} Cells by row and failure
 * @typedef {{mode: 'live' | 'export', mistakes: {id: string, protection: string, source?: Source}[], failures: {id: string}[],
 *   presets: Row[], rows: Row[], expected: Record<string, Record<string, string>>, cells?: Cells, commands?: unknown}} Lab
 *   `cells` are the recorded verdicts of an exported site
 * @typedef {{at: number, actor: string, kind: string, point?: string, order?: string, message?: string, what?: string,
 *   status?: number, source?: Source, state: number}} Step
 * @typedef {{mistakes: string[], failure: string, verdict: string, because: {code: string, order?: string, times?: number}[],
 *   equation: {wanted: number, accepted: number, reservations: number, textMessages?: number}, milliseconds: number,
 *   command?: string, steps: Step[], states: import('../pipeline/scene.js').State[]}} Trace
 * @typedef {{running: boolean, done: number, total: number, cells: Cells}} Progress
 */

/** @returns {Promise<Lab>} */
export const readLab = () => json('lab.json');

/** @param {string} row @param {string} failure @returns {Promise<Trace>} */
export const readTrace = (row, failure) => json(`traces/${row}/${failure}.json`);

/** @param {string[]} mistakes @param {string} failure @returns {Promise<Trace>} */
export const run = (mistakes, failure) =>
  json('api/lab/runs', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ mistakes, failure }),
  });

/** @param {'POST' | 'DELETE'} method starts or stops the run of all cells */
export const runAll = (method) => ask('api/lab/matrix', { method });

/** @param {string} file */
export const readSource = async (file) => (await ask(`source/${file}`)).text();

/** @param {(progress: Progress) => void} show @returns {() => void} the way to stop it */
export function followMatrix(show) {
  const events = new EventSource('api/lab/matrix/events');
  events.onmessage = ({ data }) => show(JSON.parse(data));
  return () => events.close();
}

/** @param {string} path @param {RequestInit} [how] */
async function json(path, how) {
  return (await ask(path, how)).json();
}

/** @param {string} path @param {RequestInit} [how] */
async function ask(path, how) {
  const answer = await fetch(path, how);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.detail ?? problem.title ?? `${path}: ${answer.status}`);
}
