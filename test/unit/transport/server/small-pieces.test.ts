/** Bodies in pieces, and how small those are: all numbers of a usual size, a few of whatever size, and no thousands of tiny ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PIECE_BYTES_MIN, PIECES_OF_ANY_SIZE } from '../../../../src/lib/piece-tally.ts';
import { contentOf, echo, gatedServer, RawPeer, sendText, serverFixture } from './fixture.ts';
import { secureServer, session } from './secure-fixture.ts';

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

function chunks(count: number, bytes = 1): string {
  return `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(count);
}

test('a body in a few thousand chunks of 1 byte, and one of megabytes in small chunks, are what was sent', async () => {
  await using end = await serverFixture((request, response) => {
    void contentOf(request).then((body) => sendText(response, `${body?.length}.`));
  });
  const peer = await RawPeer.connect(end.port);
  for (const [count, bytes] of [
    [300, 1],
    [PIECES_OF_ANY_SIZE, 1],
    [50_000, PIECE_BYTES_MIN + 16],
    [4_000, 1_000],
    [60, 60_000],
  ] as const) {
    peer.text = '';
    await peer.send(HEAD + chunks(count, bytes) + END).until(new RegExp(`\\r\\n\\r\\n${count * bytes}\\.$`));
  }
  assert.deepEqual(end.refused, []);
  peer.socket.destroy();
});

test('small chunks among large ones arrive in their order', async () => {
  await using end = await serverFixture(echo);
  const peer = await RawPeer.connect(end.port);
  let sent = '';
  let body = HEAD;
  for (let i = 0; i < 3_000; i++) {
    const piece = String(i).padEnd(i % 50 === 0 ? 5_000 : (i % 7) + 4, '.');
    sent += piece;
    body += `${piece.length.toString(16)}\r\n${piece}\r\n`;
  }
  const text = await peer.send(`${body}1\r\n-\r\n${END}`).until(/-\.$/);
  assert.ok(text.endsWith(`\r\n\r\nPOST / ${sent}-.`));
  peer.socket.destroy();
});

test('thousands of chunks of 1 byte are refused, whether or not somebody reads them, and the connection ends', async () => {
  const { end, next } = await gatedServer();
  await using _end = end;
  for (const reads of [true, false]) {
    const peer = await RawPeer.connect(end.port);
    peer.send(HEAD);
    const { request } = await next();
    const body = reads ? contentOf(request) : null;
    peer.send(chunks(PIECES_OF_ANY_SIZE + 1));
    const text = await peer.untilEnd();
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n\r\ntiny_chunks$/);
    assert.equal(await body, null);
    peer.socket.destroy();
  }
  assert.deepEqual(end.refused, ['tiny_chunks', 'tiny_chunks']);
});

test('a body that is not wanted ends the connection once it has come in thousands of chunks of 1 byte', async () => {
  await using end = await serverFixture((_request, response) => sendText(response, 'no.', 401));
  const peer = await RawPeer.connect(end.port);
  await peer.send(HEAD).until(/^HTTP\/1\.1 401 [\s\S]*\r\nConnection: keep-alive\r\n[\s\S]*no\.$/);
  const text = await peer.send(chunks(PIECES_OF_ANY_SIZE + 1)).untilEnd();
  assert.match(text, /no\.$/, 'it has its answer, and no second one');
  peer.socket.destroy();
});

test('a body that is not wanted costs more than its bytes where its chunks are small', async () => {
  await using end = await serverFixture((_request, response) => sendText(response, 'no.', 401));
  const peer = await RawPeer.connect(end.port);
  await peer.send(HEAD).until(/no\.$/);
  const piece = Buffer.from(chunks(900, PIECE_BYTES_MIN));
  // Far less than as many bytes of content as are read otherwise.
  for (let sent = 0; sent < 20_000_000 && !peer.socket.destroyed; sent += piece.length) {
    if (!peer.socket.write(piece))
      await Promise.race([new Promise((done) => peer.socket.once('drain', done)), peer.closed]);
  }
  await peer.closed;
});

test('requests that are pipelined have no allowance of tiny chunks each', async () => {
  const { end, next } = await gatedServer();
  await using _end = end;
  const peer = await RawPeer.connect(end.port);
  peer.send((HEAD + chunks(PIECES_OF_ANY_SIZE - 1) + END).repeat(2));
  const { response } = await next();
  while (end.refused.length === 0 && !peer.socket.destroyed) {
    sendText(response, 'first.');
    await turn();
  }
  assert.deepEqual(end.refused, ['tiny_chunks']);
  peer.socket.destroy();
});

test('[F46] a stream of HTTP/2 in thousands of frames of 1 byte is refused; its connection goes on', async (t) => {
  const end = await secureServer(t, echo);
  const client = await session(t, end.port);
  const stream = client.request({ ':path': '/', ':method': 'POST' });
  stream.on('error', () => {});
  const answered = new Promise<number>((resolve) => {
    stream.once('response', (headers) => resolve(headers[':status'] ?? 0));
  });
  let status = 0;
  void answered.then((got) => {
    status = got;
  });
  // Written together, they would be one frame.
  for (let i = 0; status === 0 && i < 3 * PIECES_OF_ANY_SIZE; i++) {
    await new Promise((done) => stream.write('x', done));
  }
  assert.equal(await answered, 400);
  assert.deepEqual(end.refused, ['tiny_chunks']);
  const other = client.request({ ':path': '/' });
  other.setEncoding('utf8');
  let text = '';
  for await (const piece of other) text += piece;
  assert.equal(text, 'GET / .');
});
