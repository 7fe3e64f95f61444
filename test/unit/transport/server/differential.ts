/**
 * Whatever the lean server accepts as a request, Node's parser accepts as the same one: generated connections, valid ones
 * and damaged ones, cut at random places. Where two parsers agree, nothing can be smuggled between them.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import fc from 'fast-check';
import { Connection, type ConnectionOwner } from '../../../../src/transport/lean/server/connection.ts';
import { LeanRequest } from '../../../../src/transport/lean/server/request.ts';
import { contentOf, sendText } from './fixture.ts';

/** Streams in one process: after so many turns of the event loop nothing moves any more. */
const TURNS = 24;

interface Seen {
  /** Requests whose content was read to its end: method, target, fields but the length, content. */
  readonly requests: string[];
  refused: boolean;
  /** The last request announced that it is the last; what follows it is not read. */
  closed: boolean;
}

function described(
  method: string | undefined,
  target: string | undefined,
  fields: readonly string[],
  body: Buffer,
): string {
  const others: string[][] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const [name = '', value = ''] = fields.slice(i, i + 2);
    if (name.toLowerCase() !== 'content-length') others.push([name, value]);
  }
  return JSON.stringify([method, target, others, body.toString('latin1')]);
}

function ours(end: Duplex): Seen {
  const seen: Seen = { requests: [], refused: false, closed: false };
  const owner: ConnectionOwner = {
    handler: {
      onRequest: async (request, response) => {
        assert.ok(request instanceof LeanRequest);
        seen.closed = !request.head.keepAlive;
        const body = await contentOf(request);
        if (body === null) return;
        seen.requests.push(described(request.method, request.target, request.headers.raw, body));
        sendText(response, 'ok');
      },
      refusal: () => {
        seen.refused = true;
        return { status: 400, headers: [], content: Buffer.alloc(0) };
      },
    },
    limits: { headerBytes: 32 * 1_024, headerCount: 200 },
    keepAliveLines: 'Connection: keep-alive\r\n',
    round: 0,
    headRoundsMax: 1,
    requestRoundsMax: 1,
    idleRoundsMax: 1,
    persistent: true,
    closing: false,
    connectionClosed: () => {},
  };
  new Connection(end as Socket, owner, false);
  return seen;
}

function nodes(end: Duplex): Seen {
  const seen: Seen = { requests: [], refused: false, closed: false };
  const server = createServer({ maxHeaderSize: 64 * 1_024, requireHostHeader: false }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      seen.requests.push(described(request.method, request.url, request.rawHeaders, Buffer.concat(pieces)));
      response.end('ok');
    });
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  // The socket is left open: what was taken before the fault still comes to its end.
  server.on('clientError', () => {});
  server.emit('connection', end);
  return seen;
}

async function feed(serve: (end: Duplex) => Seen, chunks: readonly Buffer[]): Promise<Seen> {
  const [client, end] = duplexPair();
  client.on('error', () => {});
  end.on('error', () => {});
  client.resume();
  const seen = serve(end);
  for (const chunk of chunks) {
    if (client.writable) client.write(chunk);
    await turn();
  }
  for (let i = 0; i < TURNS; i++) await turn();
  client.destroy();
  end.destroy();
  return seen;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function compare(bytes: Buffer, places: readonly number[]): Promise<Seen> {
  const at = [...new Set(places.map((place) => place % bytes.length))].filter((x) => x > 0).sort((a, b) => a - b);
  const chunks = [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
  const mine = await feed(ours, chunks);
  const node = await feed(nodes, chunks);
  const text = JSON.stringify(bytes.toString('latin1'));
  assert.deepEqual(mine.requests, node.requests.slice(0, mine.requests.length), text);
  if (!mine.refused && !mine.closed) assert.equal(node.requests.length, mine.requests.length, text);
  return mine;
}

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,10}$/);
const text = fc.stringMatching(/^[!-~]([ -~]{0,12}[!-~])?$/);
const line = fc.oneof(
  fc.tuple(token, text).map(([name, value]) => `X-${name}: ${value}`),
  fc.constantFrom(
    'Accept: */*',
    'Connection: keep-alive',
    // Not together with `Connection: Upgrade`, behind which Node drops what came in the same chunk.
    'Upgrade: websocket',
    'Expect: 100-continue',
    'Expect: else',
    'TE: trailers',
    'Content-Type:application/json',
    'X-Tab:\ta\tb\t',
    'X-High: \xe4\xff',
    'X-Empty:',
  ),
);
const target = fc.oneof(
  fc.constantFrom('/', '*', '/v1/chat/completions?a=b', 'http://a.b:80/x'),
  fc.stringMatching(/^\/[!"$-~]{0,16}$/),
);
const content = fc.stringMatching(/^[ -~\r\n\xff]{0,40}$/);
const body = fc.oneof(
  fc.constant({ line: '', bytes: '' }),
  content.map((bytes) => ({ line: `Content-Length: ${bytes.length}\r\n`, bytes })),
  fc
    .record({ pieces: fc.array(content, { maxLength: 3 }), extra: fc.constantFrom('', ';a=b', ';a="b"') })
    .map((one) => ({
      line: 'Transfer-Encoding: chunked\r\n',
      bytes: `${one.pieces
        .filter((piece) => piece !== '')
        .map((piece) => `${piece.length.toString(16)}${one.extra}\r\n${piece}\r\n`)
        .join('')}0\r\n\r\n`,
    })),
);
const request = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'),
    target,
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    lines: fc.array(line, { maxLength: 4 }),
    body,
  })
  .map((one) => {
    const framed = one.version === '1.0' && one.body.line.startsWith('T') ? { line: '', bytes: '' } : one.body;
    const lines = ['Host: x', ...one.lines].map((field) => `${field}\r\n`).join('');
    return `${one.method} ${one.target} HTTP/${one.version}\r\n${lines}${framed.line}\r\n${framed.bytes}`;
  });
/** As one client sends them: the same head again and again, with the length of each content. */
const alike = fc
  .record({
    target,
    lines: fc.array(line, { maxLength: 3 }),
    more: fc.array(line, { maxLength: 3 }),
    contents: fc.array(content, { minLength: 3, maxLength: 6 }),
  })
  .map((one) => {
    const lines = (some: readonly string[]): string => some.map((field) => `${field}\r\n`).join('');
    const before = `POST ${one.target} HTTP/1.1\r\nHost: x\r\n${lines(one.lines)}Content-Length: `;
    return one.contents.map((bytes) => `${before}${bytes.length}\r\n${lines(one.more)}\r\n${bytes}`).join('');
  });
const requests = fc.oneof(
  fc.array(request, { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
  alike,
);
const places = fc.array(fc.nat(), { maxLength: 6 });

/** What parsers are known to disagree about. */
const DAMAGE = [
  ...['\r', '\n', '\r\n', '\0', ' ', '\t', ':', ';', ',', '0', '1', 'f', '\x0b', '\x7f', '\xff', '-', '+', '_', 'x'],
  ...['\r\n ', '\r\n\t', '\n\n', '\r\n\r\n', ' :', '\r\nHost: y', '\r\nContent-Length: 3', '\r\nContent-Length:'],
  ...['\r\nTransfer-Encoding: chunked', '\r\nTransfer-Encoding: identity', '\r\nTransfer-Encoding : chunked'],
  ...['\r\ncontent-length: 0', '\r\nContent-Length: 1, 1', '\r\nConnection: close', '\r\nX: y', 'chunked', ', chunked'],
  ...['0\r\n\r\n', '\r\n0\r\n\r\n', 'GET / HTTP/1.1\r\n', ' HTTP/1.1', ' HTTP/1.0', ' HTTP/2.0', 'http://', '%00', '#'],
] as const;
const edit = fc.record({
  kind: fc.constantFrom('insert', 'delete', 'replace', 'double'),
  at: fc.nat(),
  bytes: fc.constantFrom(...DAMAGE),
  length: fc.integer({ min: 1, max: 6 }),
  /** At the end of a line, where framing is decided. */
  atLine: fc.boolean(),
});

function damaged(
  whole: string,
  edits: readonly { kind: string; at: number; bytes: string; length: number; atLine: boolean }[],
): string {
  let now = whole;
  for (const { kind, at, bytes, length, atLine } of edits) {
    const spot = at % (now.length + 1);
    const lineEnd = now.indexOf('\r\n', spot);
    const from = atLine && lineEnd !== -1 ? lineEnd : spot;
    const taken = kind === 'insert' ? 0 : kind === 'delete' ? length : kind === 'replace' ? bytes.length : 0;
    const added = kind === 'delete' ? '' : kind === 'double' ? now.slice(from, from + length) : bytes;
    now = now.slice(0, from) + added + now.slice(from + taken);
  }
  return now;
}

export interface Agreement {
  readonly accepted: number;
  readonly refused: number;
}

/** Throws where the two disagree. A third of the `runs` are valid connections, all of which both must accept. */
export async function serverDifferential(seed: number, runs: number): Promise<Agreement> {
  await fc.assert(
    fc.asyncProperty(requests, places, async (whole, cuts) => {
      const mine = await compare(Buffer.from(whole, 'latin1'), cuts);
      assert.equal(mine.refused, false, JSON.stringify(whole));
      assert.ok(mine.requests.length > 0);
    }),
    { seed, numRuns: Math.ceil(runs / 3) },
  );
  let refused = 0;
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(requests, fc.array(edit, { minLength: 1, maxLength: 3 }), places, async (whole, edits, cuts) => {
      const bytes = Buffer.from(damaged(whole, edits), 'latin1');
      if (bytes.length === 0) return;
      const mine = await compare(bytes, cuts);
      if (mine.refused) refused += 1;
      else accepted += 1;
    }),
    { seed, numRuns: runs },
  );
  return { accepted, refused };
}
