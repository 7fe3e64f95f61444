import { createReadStream, statSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Answers with a file of the built site, whose addresses have no `.html`. */
export function fileOfSite(dist, url, response) {
  const path = normalize(decodeURIComponent(new URL(url, 'http://site.invalid').pathname));
  for (const name of [path, `${path}.html`, join(path, 'index.html')]) {
    const file = join(dist, name);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) continue;
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    createReadStream(file).pipe(response);
    return;
  }
  response.writeHead(404).end();
}
