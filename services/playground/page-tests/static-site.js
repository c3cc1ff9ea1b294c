// A web server without programs, which serves a folder under a path of its own.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';

/** @type {Record<string, string>} */
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

/** @param {string} folder @param {string} under such as `/some/where/` */
export async function serve(folder, under) {
  const root = normalize(folder + sep);
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const file = join(root, decodeURIComponent(path).replace(under, ''));
    const found = path.startsWith(under) && file.startsWith(root) && request.method === 'GET' ? await readFile(file).catch(() => null) : null;
    if (found) response.setHeader('Content-Type', `${TYPES[extname(file)] ?? 'text/plain'}; charset=utf-8`);
    response.writeHead(found ? 200 : 404).end(found ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}${under}`, stop: () => server.close() };
}
