/** Random responses: whatever the lean client accepts, the one over undici accepts too, as the same. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ClientTransport } from '../../../../src/transport/client.ts';
import { LeanClient } from '../../../../src/transport/lean/client/client.ts';
import { NodeClient } from '../../../../src/transport/node/client/client.ts';
import { BODY, destinationOf, Heard, RawServer, TIMEOUTS } from './fixture.ts';

interface Outcome {
  readonly status: number;
  readonly content: string;
}

/** Throws an AssertionError that has the seed, where they differ. Returns how many responses were accepted. */
export async function clientDifferential(seed: number, runs: number): Promise<number> {
  await using pair = await Pair.start();
  let accepted = 0;
  for (const responses of [wire, mutated]) {
    await fc.assert(
      fc.asyncProperty(responses, fc.array(fc.nat(), { maxLength: 3 }), async (text, cuts) => {
        const parts = parted(text, cuts);
        const lean = await pair.lean(parts);
        if (lean === null) return;
        accepted += 1;
        assert.deepEqual(await pair.undici(parts), lean, JSON.stringify(text));
      }),
      { numRuns: runs, seed },
    );
  }
  return accepted;
}

/** Null where a response was refused, or broke off. */
class Pair implements AsyncDisposable {
  readonly #server: RawServer;
  readonly #client = new LeanClient();

  private constructor(server: RawServer) {
    this.#server = server;
  }

  static async start(): Promise<Pair> {
    return new Pair(await RawServer.start());
  }

  lean(parts: readonly string[]): Promise<Outcome | null> {
    return this.#ask(this.#client, parts);
  }

  async undici(parts: readonly string[]): Promise<Outcome | null> {
    const client = new NodeClient();
    const outcome = await this.#ask(client, parts);
    await client.close();
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#server[Symbol.asyncDispose]();
  }

  async #ask(client: ClientTransport, parts: readonly string[]): Promise<Outcome | null> {
    const heard = new Heard();
    const destination = destinationOf({ origin: this.#server.origin() });
    client.send({ destination, body: BODY, timeouts: TIMEOUTS }, heard);
    await this.#serve(parts);
    return (await heard.over) === 'end' ? { status: heard.status, content: heard.content } : null;
  }

  /** Says the parts, each in a write of its own, and closes: so every response has an end, and no connection a second one. */
  async #serve(parts: readonly string[]): Promise<void> {
    const connection = await this.#server.next();
    await connection.requests(1);
    for (const part of parts) {
      connection.say(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    connection.end();
    await connection.closed;
  }
}

const statusLine = fc.constantFrom(
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200',
  'HTTP/1.1 200 ',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 503 caf\xe9',
  'HTTP/1.1 20 OK',
  'HTTP/2.0 200 OK',
);
const informational = fc.constantFrom(
  '',
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100\r\n\r\n',
  'HTTP/1.1 102 Processing\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
);
const fieldLine = fc.constantFrom(
  'content-length: 5',
  'Content-Length:5',
  'content-length: 05',
  'content-length: 5, 5',
  'content-length: -5',
  'transfer-encoding: chunked',
  'Transfer-Encoding:\tCHUNKED',
  'transfer-encoding: gzip, chunked',
  'transfer-encoding: identity',
  'connection: close',
  'connection: keep-alive',
  'keep-alive: timeout=5',
  'content-type: text/plain',
  'x-empty:',
  'x-obs: \xff',
  'x: \0',
  'x : y',
  ' folded',
  'no colon',
);
const lineEnd = fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r');
const content = fc.constantFrom(
  '',
  'hello',
  'hello, and more',
  '5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nx: y\r\n\r\n',
  '2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
  '0005\r\nhello\r\n000\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '5\nhello\r\n0\r\n\r\n',
  '5\r\nhello\n0\r\n\r\n',
  '5\r\nhell\r\n0\r\n\r\n',
  'ffffffffffffffff\r\nhello',
  '0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
);

const wire = fc
  .tuple(informational, statusLine, fc.array(fc.tuple(fieldLine, lineEnd), { maxLength: 4 }), content)
  .map(([before, line, fields, content]) => {
    const head = fields.map(([field, end]) => field + end).join('');
    return `${before}${line}\r\n${head}\r\n${content}`;
  });

/** One byte is another, is missing, or stands twice. */
const mutated = fc
  .tuple(wire, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.nat(2))
  .map(([text, place, byte, how]) => {
    const at = place % text.length;
    const inserted = how === 0 ? String.fromCharCode(byte) : how === 1 ? '' : text.slice(at, at + 1).repeat(2);
    return text.slice(0, at) + inserted + text.slice(at + 1);
  });

function parted(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % text.length))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}
