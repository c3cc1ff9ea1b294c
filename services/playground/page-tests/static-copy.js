// The copy of the page that needs no programs: the playground writes it, and records every experiment for it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROGRAM } from './playground.js';
import { serve } from './static-site.js';

/** As on a web server where the page is not alone. */
const UNDER = '/teaching/once-shop/';

/** Begins to write it. One experiment at a time: other tests go on beside it. */
export async function startExport() {
  const folder = await mkdtemp(join(tmpdir(), 'once-shop-copy-'));
  const program = spawn(PROGRAM, ['export', folder, '--at-once', '1'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (words) => { said = (said + words).slice(-5_000); });
  /** @type {Promise<unknown>} */
  const ended = once(program, 'close').catch((error) => { said += error; });
  let site = { url: '', stop: () => {} };
  return {
    /** Where it is served, once it is written. */
    async url() {
      await ended;
      if (program.exitCode !== 0) throw new Error(`the export failed:\n${said}`);
      if (site.url === '') site = await serve(folder, UNDER);
      return site.url;
    },
    async stop() {
      site.stop();
      program.kill();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
