/** The API reference at `/docs`: the OpenAPI document as a page, without a request to anywhere else. */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { IncomingRequest } from '../transport/server.ts';
import type { Reply } from './reply.ts';

export const REFERENCE_PATH = '/docs';
export const REFERENCE_SCRIPT_PATH = '/docs/redoc.js';

/** Redoc in one file: where the build has put it, or in a checkout where the packages of its site are. */
const SCRIPTS = ['../reference/redoc.standalone.js', '../../site/node_modules/redoc/bundles/redoc.standalone.js'];

/** Redoc writes its styles into the page, and searches in a worker that it makes of its own code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = [
  'content-security-policy',
  POLICY,
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
] as const;

/** Addresses are relative: a proxy may serve the gateway below a path of its own. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference: Model Gateway</title>
<style>body { margin: 0 } noscript, .absent { display: block; font: 16px system-ui, sans-serif; margin: 3rem }</style>
</head>
<body>
<noscript>The reference needs scripts. The document itself: <a href="openapi.json">openapi.json</a>.</noscript>
CONTENT
</body>
</html>
`;
const REDOC = `<redoc spec-url="openapi.json" required-props-first sort-props-alphabetically="false" path-in-middle-panel hide-loading json-sample-expand-level="2"></redoc>
<script src="docs/redoc.js"></script>`;
const ABSENT = `<p class="absent">The reference is part of the package and of the image. In a checkout, install it with
<code>npm ci --prefix site</code> and start again. The document itself: <a href="openapi.json">openapi.json</a>.</p>`;

const compress = promisify(gzip);

interface Script {
  readonly plain: Buffer;
  readonly compressed: Buffer;
}

/** The one thing that Redoc loads from elsewhere: a mark in its footer, whose link stays. */
const FOREIGN_IMAGE = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const NO_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=';

/** Null where it is not installed. Read and compressed with the first request. */
let script: Promise<Script | null> | undefined;

async function readScript(): Promise<Script | null> {
  for (const path of SCRIPTS) {
    const plain = await readFile(new URL(path, import.meta.url)).catch(() => null);
    if (plain === null) continue;
    const ours = Buffer.from(plain.toString('latin1').replaceAll(FOREIGN_IMAGE, NO_IMAGE), 'latin1');
    return { plain: ours, compressed: await compress(ours) };
  }
  return null;
}

export async function sendReference(reply: Reply): Promise<void> {
  script ??= readScript();
  const content = (await script) === null ? ABSENT : REDOC;
  const page = PAGE.replace('CONTENT', () => content);
  reply.send(200, 'text/html; charset=utf-8', Buffer.from(page), [...HEADERS, 'cache-control', 'no-cache']);
}

/** False where there is none. */
export async function sendReferenceScript({ headers }: IncomingRequest, reply: Reply): Promise<boolean> {
  script ??= readScript();
  const found = await script;
  if (found === null) return false;
  const zipped = /(?:^|[\s,])gzip(?:[\s,;]|$)/.test(headers.get('accept-encoding') ?? '');
  const encoding = zipped ? ['content-encoding', 'gzip'] : [];
  reply.send(200, 'text/javascript; charset=utf-8', zipped ? found.compressed : found.plain, [
    ...HEADERS,
    ...encoding,
    'cache-control',
    'max-age=3600',
    'vary',
    'accept-encoding',
  ]);
  return true;
}
