// What the lab asks of the server. The exported site answers the GETs from files.

import { t } from '../i18n/i18n.js';

/** @import { Lab, Progress, Trace } from './types.js' */

/** @type {() => Promise<Lab>} */
export const readLab = () => json('lab.json');

/** @type {(row: string, failure: string) => Promise<Trace>} */
export const readTrace = (row, failure) => json(`traces/${row}/${failure}.json`);

/** @type {(mistakes: string[], failure: string) => Promise<Trace>} */
export const run = (mistakes, failure) =>
  json('api/lab/runs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ mistakes, failure }) });

/** Starts or stops the run of all cells. @param {'POST' | 'DELETE'} method */
export const runAll = (method) => ask('api/lab/matrix', { method });

/** @param {string} file */
export const readSource = async (file) => (await ask(`source/${file}`)).text();

/** Returns the way to stop it. @param {(progress: Progress) => void} show */
export function followMatrix(show) {
  const events = new EventSource('api/lab/matrix/events');
  events.onmessage = ({ data }) => show(JSON.parse(data));
  return () => events.close();
}

/** @param {string} path @param {RequestInit} [how] */
const json = async (path, how) => (await ask(path, how)).json();

/** @param {string} path @param {RequestInit} [how] */
async function ask(path, how) {
  const answer = await fetch(path, how).catch(() => { throw new Error(t('shell.no-answer')); });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.detail ?? problem.title ?? `${path}: ${answer.status}`);
}
