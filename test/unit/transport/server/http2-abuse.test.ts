/** Clients of HTTP/2 that hold on to what they take, or flood, written as bare frames. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, constants } from 'node:http2';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { echo, type Handler, type ServerFixture, sendText } from './fixture.ts';
import { received, secureServer, session, tls } from './secure-fixture.ts';

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const END_STREAM_AND_HEADERS = 5;
const INITIAL_WINDOW_SIZE = 4;
const { NGHTTP2_CANCEL } = constants;

/** `GET /` of `https://x`, by the static table of HPACK. */
const HEAD = Buffer.from([0x82, 0x84, 0x87, 0x41, 1, 'x'.charCodeAt(0)]);

function frame(type: number, flags: number, stream: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Requests as a client numbers them, from the first. */
function requests(count: number, behind: (stream: number) => Uint8Array = () => Buffer.alloc(0)): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => {
      const stream = 2 * index + 1;
      return Buffer.concat([frame(HEADERS, END_STREAM_AND_HEADERS, stream, HEAD), behind(stream)]);
    }),
  );
}

/** A connection of which the client has said that its window is `window` bytes. */
async function rawSession(t: TestContext, port: number, window: number): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: tls.cert, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  const setting = Buffer.concat([Buffer.from([0, INITIAL_WINDOW_SIZE]), uint32(window)]);
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0, setting)]));
  return socket;
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function bufferBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** Another client, whose requests are answered until the attackers are gone. */
async function servedUntilAlone(bystander: ClientHttp2Session, end: ServerFixture): Promise<number> {
  let answers = 0;
  for (; end.server.connections > 1; answers += 1) {
    assert.equal((await received(bystander.request({ ':path': '/bystander' }))).text, 'served');
    await turn();
  }
  return answers;
}

describe('[F46] a client of HTTP/2 that', () => {
  const LIMITS = { headersTimeoutMs: 2_000, requestTimeoutMs: 2_000 };
  const STREAMS = 40;
  const ANSWER_BYTES = 1_000_000;
  /** `node:http2` accepts no further stream of a client for which it keeps 10 MB. */
  const HELD_BYTES = 5 * ANSWER_BYTES;
  let asked = 0;

  /** Whole answers and those that were streamed, in turn. */
  const large: Handler = (request, response) => {
    asked += 1;
    if (request.target === '/bystander') sendText(response, 'served');
    else if (asked % 2 === 0) response.send(200, [], Buffer.alloc(ANSWER_BYTES));
    else {
      response.writeHead(200, []);
      response.end(Buffer.alloc(ANSWER_BYTES));
    }
  };

  for (const [what, window, reads] of [
    ['never opens its window', 0, true],
    ['never reads', 0x7f_ff_ff_ff, false],
  ] as const) {
    test(`${what} is closed within the time limit, and its memory is free again; others are served`, async (t) => {
      const end = await secureServer(t, large, LIMITS);
      const bystander = await session(t, end.port);
      assert.equal((await received(bystander.request({ ':path': '/bystander' }))).text, 'served');
      const before = bufferBytes();
      const socket = await rawSession(t, end.port, window);
      if (reads) socket.resume();
      else socket.pause();
      socket.write(requests(STREAMS));
      const closed = once(socket, 'close');
      while (process.memoryUsage().arrayBuffers < before + HELD_BYTES) await turn();
      assert.ok((await servedUntilAlone(bystander, end)) > 0);
      if (!reads) socket.resume();
      await closed;
      while (bufferBytes() > before + ANSWER_BYTES) await turn();
    });
  }

  test('takes one of its responses and not the other loses that one alone', async (t) => {
    const end = await secureServer(t, large, LIMITS);
    const client = await session(t, end.port);
    // What is not taken of one stream leaves room for the others.
    client.setLocalWindowSize(2 * ANSWER_BYTES);
    const untaken = client.request({ ':path': '/' });
    untaken.on('error', () => {});
    const closed = new Promise((resolve) => untaken.once('close', resolve));
    untaken.pause();
    let stop = false;
    const going = (async () => {
      while (!stop) assert.equal((await received(client.request({ ':path': '/bystander' }))).text, 'served');
    })();
    // It is read only now, so that the end of the stream is seen.
    while (untaken.rstCode === 0 && !untaken.closed) await turn();
    untaken.resume();
    await closed;
    stop = true;
    await going;
    assert.equal(end.server.connections, 1);
  });

  test('floods with pings and never reads is closed; others are served', async (t) => {
    const end = await secureServer(t, large, LIMITS);
    const bystander = await session(t, end.port);
    assert.equal((await received(bystander.request({ ':path': '/bystander' }))).text, 'served');
    const socket = await rawSession(t, end.port, 65_535);
    socket.pause();
    const pings = Buffer.concat(Array.from({ length: 10_000 }, () => frame(PING, 0, 0, Buffer.alloc(8))));
    const flood = setInterval(() => {
      if (!socket.writableNeedDrain) socket.write(pings);
    }, 0);
    t.after(() => clearInterval(flood));
    assert.ok((await servedUntilAlone(bystander, end)) > 0);
  });

  test('opens streams and resets them at once is closed; others are served', async (t) => {
    let begun = 0;
    const end = await secureServer(
      t,
      (request, response) => {
        begun += 1;
        if (request.target === '/bystander') sendText(response, 'served');
        else echo(request, response);
      },
      LIMITS,
    );
    const bystander = await session(t, end.port);
    assert.equal((await received(bystander.request({ ':path': '/bystander' }))).text, 'served');
    const socket = await rawSession(t, end.port, 65_535);
    socket.resume();
    const COUNT = 20_000;
    socket.write(requests(COUNT, (stream) => frame(RST_STREAM, 0, stream, uint32(NGHTTP2_CANCEL))));
    const answers = await servedUntilAlone(bystander, end);
    assert.ok(begun - answers < 500, `${begun - answers} of ${COUNT} requests were begun`);
  });
});
