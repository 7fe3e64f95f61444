/** What a listener bounds. */
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Log, NO_LOG } from '../../../../src/core/log.ts';
import { ConnectionLimit } from '../../../../src/transport/server/connection-limit.ts';
import { echo, gatedServer, RawPeer, sendText, serverFixture } from './fixture.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** As those of a proxy of the operator's own, so that none is closed for another. */
const KEPT = { isProxy: () => true };

interface Line {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

function recorder(lines: Line[]): Log {
  const at =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push({ level, fields, message });
    };
  return { ...NO_LOG, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

describe('connections', () => {
  test('[F32] beyond the limit are answered with the reason and closed; others are served on', async () => {
    const lines: Line[] = [];
    await using end = await serverFixture(echo, { connections: 2 }, { ...KEPT, log: recorder(lines) });
    const served = [await RawPeer.connect(end.port), await RawPeer.connect(end.port)] as const;
    for (const peer of served) await peer.send(GET).until(/GET \/ \.$/);
    for (const sent of [GET, `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`]) {
      const excess = await RawPeer.connect(end.port);
      const text = await excess.send(sent).untilEnd();
      assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
      assert.match(text, /\r\nConnection: close\r\n\r\ntoo_many_connections$/);
      await excess.closed;
    }
    served[0].text = '';
    await served[0].send(GET).until(/GET \/ \.$/);
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields]),
      [['warn', { limit: 2, refused: 1 }]],
      'one line, not one for each',
    );
    assert.match(lines[0]?.message ?? '', /limits\.connections/);
    served[1].socket.destroy();
    while (end.server.connections > 1) await turn();
    const next = await RawPeer.connect(end.port);
    await next.send(GET).until(/GET \/ \.$/);
    next.socket.destroy();
    served[0].socket.destroy();
  });

  test('[F32] that are refused do not keep others from being served', async () => {
    await using end = await serverFixture(echo, { connections: 1 }, KEPT);
    const served = await RawPeer.connect(end.port);
    await served.send(GET).until(/GET \/ \.$/);
    // They send nothing, so their refusal waits.
    const refused = [await RawPeer.connect(end.port), await RawPeer.connect(end.port)];
    while (end.server.connections < 3) await turn();
    served.socket.destroy();
    while (end.server.connections > 2) await turn();
    const next = await RawPeer.connect(end.port);
    await next.send(GET).until(/^HTTP\/1\.1 200 [\s\S]*GET \/ \.$/);
    for (const peer of [next, ...refused]) peer.socket.destroy();
  });

  test('[F32] far beyond the limit are closed without an answer', async () => {
    await using end = await serverFixture(echo, { connections: 1 }, KEPT);
    const peers: RawPeer[] = [];
    for (let i = 0; i < 1 + 64; i++) peers.push(await RawPeer.connect(end.port));
    while (end.server.connections < peers.length) await turn();
    const dropped = await RawPeer.connect(end.port);
    assert.equal(await dropped.untilEnd(), '');
    assert.equal(end.server.connections, peers.length);
    for (const peer of peers) peer.socket.destroy();
  });

  test('[F32] that could not be accepted are logged', async () => {
    const lines: Line[] = [];
    let listener: Server | null = null;
    const onListen = (message: unknown): void => {
      listener = (message as { server: Server }).server;
    };
    const listening = channel('tracing:net.server.listen:asyncStart');
    listening.subscribe(onListen);
    await using end = await serverFixture(echo, {}, { log: recorder(lines) });
    listening.unsubscribe(onListen);
    assert.ok(listener);
    const failure = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' });
    (listener as Server).emit('error', failure);
    (listener as Server).emit('error', failure);
    assert.deepEqual(lines, [
      { level: 'error', fields: { err: failure, failures: 1 }, message: 'a connection could not be accepted' },
    ]);
    const peer = await RawPeer.connect(end.port);
    await peer.send(GET).until(/GET \/ \.$/);
    peer.socket.destroy();
  });
});

describe("one connection's pipelined requests", () => {
  test('[F33] yield: another client is served between them', async () => {
    // As many as may wait behind the one that is served.
    const COUNT = 17;
    let served = 0;
    let servedBefore = -1;
    await using end = await serverFixture((request, response) => {
      if (request.target === '/other') servedBefore = served;
      else served += 1;
      sendText(response, 'x');
    });
    const greedy = await RawPeer.connect(end.port);
    const other = await RawPeer.connect(end.port);
    while (end.server.connections < 2) await turn();
    greedy.send(GET.repeat(COUNT));
    other.send('GET /other HTTP/1.1\r\nHost: x\r\n\r\n');
    await other.until(/x$/);
    assert.ok(servedBefore < COUNT, `${servedBefore} of ${COUNT} were served before the other client`);
    while (served < COUNT) await once(greedy.socket, 'data');
    greedy.socket.destroy();
    other.socket.destroy();
  });

  test('[F33] are not read without end while the client never reads its responses', async () => {
    let served = 0;
    await using end = await serverFixture((_request, response) => {
      served += 1;
      response.send(200, [], Buffer.alloc(10_000));
    });
    const greedy = await RawPeer.connect(end.port);
    greedy.socket.pause();
    const COUNT = 100_000;
    greedy.send(GET.repeat(COUNT));
    let before = -1;
    // It stops being served when its buffers are full.
    while (served === 0 || served !== before) {
      before = served;
      for (let i = 0; i < 200; i++) await turn();
    }
    assert.ok(served < COUNT / 10, `${served} responses were made for a client that reads none`);
    const other = await RawPeer.connect(end.port);
    await other.send(GET).until(/^HTTP\/1\.1 200 /);
    other.socket.destroy();
    greedy.socket.destroy();
  });
});

describe('the head of a request', () => {
  test('[F25] is bounded in bytes and in fields, as set', async () => {
    for (const [limits, sent, fault] of [
      [{ headerBytes: 2_048 }, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(2_100)}\r\n\r\n`, 'too_large'],
      [{ headerCount: 10 }, `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(10)}\r\n`, 'too_many_fields'],
      [{}, `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(2_000)}\r\n`, 'too_many_fields'],
    ] as const) {
      await using end = await serverFixture(echo, limits);
      const peer = await RawPeer.connect(end.port);
      assert.match(await peer.send(sent).untilEnd(), new RegExp(`^HTTP/1\\.1 400 [\\s\\S]*${fault}$`));
    }
    await using end = await serverFixture(echo, { headerBytes: 2_048, headerCount: 10 });
    const peer = await RawPeer.connect(end.port);
    const fits = `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(8)}X: ${'y'.repeat(1_900)}\r\n\r\n`;
    await peer.send(fits).until(/GET \/ \.$/);
    peer.socket.destroy();
  });
});

test('[F24] a request that arrived while the process was held up for longer than it may take is served', async () => {
  await using end = await serverFixture(echo, { headersTimeoutMs: 400, requestTimeoutMs: 400 });
  for (const begun of ['', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n']) {
    const peer = await RawPeer.connect(end.port);
    while (end.server.connections === 0) await turn();
    peer.send(begun);
    if (begun !== '') await turn();
    peer.send(begun === '' ? GET : 'abc');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    assert.match(await peer.until(/^HTTP\/1\.1 \d+/), /^HTTP\/1\.1 200 /);
    peer.socket.destroy();
    while (end.server.connections > 0) await turn();
  }
  assert.deepEqual(end.refused, []);
});

test('a request tells the address of its client', async () => {
  const { end, next } = await gatedServer();
  await using _ = end;
  const peer = await RawPeer.connect(end.port);
  peer.send(GET);
  const { request, response } = await next();
  assert.equal(request.remoteAddress, '127.0.0.1');
  sendText(response, 'done');
  await peer.until(/done$/);
  peer.socket.destroy();
});

test('refused connections and failed accepts are logged once in five seconds, with how many there were', () => {
  const lines: Line[] = [];
  let nowMs = 0;
  const limit = new ConnectionLimit({ connections: 1, connectionsPerAddress: 1 }, recorder(lines), () => nowMs);
  assert.equal(limit.fault(0), null);
  for (let i = 0; i < 10; i++) assert.equal(limit.fault(1), 'too_many_connections');
  const error = new Error('accept EMFILE');
  for (let i = 0; i < 3; i++) limit.acceptFailed(error);
  for (let i = 0; i < 4; i++) assert.equal(limit.fault(0, 1), 'too_many_of_address');
  nowMs = 5_000;
  assert.equal(limit.mayKeep(65), false);
  limit.acceptFailed(error);
  assert.equal(limit.mayKeep(0, 9), false);
  assert.deepEqual(
    lines.map(({ fields }) => fields),
    [
      { limit: 1, refused: 1 },
      { err: error, failures: 1 },
      { limit: 1, refused: 1 },
      { limit: 1, refused: 10 },
      { err: error, failures: 3 },
      { limit: 1, refused: 4 },
    ],
  );
});
