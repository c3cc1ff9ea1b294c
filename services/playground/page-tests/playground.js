// Starts the program whose page is tested: the whole shop, on free ports, with a data folder of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROGRAM = process.env.PLAYGROUND ?? fileURLToPath(new URL('../../../target/debug/playground', import.meta.url));

/** The services, their relays and the page, counted from the first. */
const PORTS = [0, 1, 2, 3, 10];
/** Below the ports that the system gives to outgoing connections. */
const LOWEST = 20_000;
const HIGHEST = 32_000;

const OPEN = 'Once Shop is open.';
const STOP_MILLISECONDS = 20_000;

/** @returns {Promise<{url: string, stop: () => Promise<void>}>} */
export async function startPlayground() {
  const data = await mkdtemp(join(tmpdir(), 'once-shop-page-'));
  const base = await freePorts();
  // It stops when its standard input ends: also when these tests are killed.
  const program = spawn(PROGRAM, ['--data', data, '--port-base', String(base), '--stop-with-stdin']);
  const ended = once(program, 'close').finally(() => rm(data, { recursive: true }));
  await opened(program, ended);
  return {
    url: `http://127.0.0.1:${base + 10}/`,
    async stop() {
      program.stdin.end();
      const tooLong = setTimeout(() => program.kill('SIGKILL'), STOP_MILLISECONDS);
      await ended;
      clearTimeout(tooLong);
    },
  };
}

/** @param {import('node:child_process').ChildProcessWithoutNullStreams} program @param {Promise<unknown>} ended */
async function opened({ stdout, stderr }, ended) {
  let said = '';
  const open = new Promise((resolve) => {
    const hear = (/** @type {Buffer} */ words) => {
      said = (said + words).slice(-10_000);
      if (said.includes(OPEN)) resolve(true);
    };
    stdout.on('data', hear);
    stderr.on('data', hear);
  });
  const isOpen = await Promise.race([open, ended.then(() => false)]);
  if (!isOpen) throw new Error(`${PROGRAM} ended before it opened:\n${said}`);
}

async function freePorts() {
  for (;;) {
    const base = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    const free = await Promise.all(PORTS.map((offset) => isFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
