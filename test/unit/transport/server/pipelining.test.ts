/** How much one connection can have waiting. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { WAITING_MAX } from '../../../../src/transport/server/http1-connection.ts';
import { gatedServer, RawPeer, sendText, serverFixture } from './fixture.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc';

/** How many requests `node:http` has made until this is disposed. */
function parsedRequests(): Disposable & { readonly count: number } {
  let count = 0;
  const onStart = (): void => {
    count += 1;
  };
  subscribe('http.server.request.start', onStart);
  return {
    get count() {
      return count;
    },
    [Symbol.dispose]: () => {
      unsubscribe('http.server.request.start', onStart);
    },
  };
}

function answersIn(text: string): number {
  return text.split('HTTP/1.1 200 OK').length - 1;
}

describe('[F42] a connection with more requests waiting than it may have', () => {
  for (const [name, request] of [
    ['without content', GET],
    ['with content', POST],
  ] as const) {
    test(`answers those that it has accepted, then the reason, and closes (${name})`, async () => {
      const { end, next, arrivals } = await gatedServer();
      await using _ = end;
      const peer = await RawPeer.connect(end.port);
      peer.send(request.repeat(2_000));
      for (let served = 0; served <= WAITING_MAX; served++) {
        const { response } = await next();
        sendText(response, 'answered');
      }
      const text = await peer.untilEnd();
      assert.equal(answersIn(text), 1 + WAITING_MAX);
      assert.match(text, /HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\nConnection: close\r\n\r\ntoo_many_waiting$/);
      await peer.closed;
      assert.equal(arrivals(), 1 + WAITING_MAX);
      assert.deepEqual(end.refused, ['too_many_waiting']);
    });
  }

  test('as many as may wait are answered, and the connection is kept', async () => {
    await using end = await serverFixture((_request, response) => sendText(response, 'answered'));
    const peer = await RawPeer.connect(end.port);
    for (let round = 1; round <= 3; round++) {
      peer.send(GET.repeat(1 + WAITING_MAX));
      while (answersIn(peer.text) < round * (1 + WAITING_MAX)) await turn();
    }
    peer.socket.destroy();
  });

  test('is not parsed any further, of what was read together as well; others are served meanwhile', async () => {
    const CONNECTIONS = 100;
    const { end, next, arrivals } = await gatedServer();
    await using _ = end;
    using parsed = parsedRequests();
    const peers: RawPeer[] = [];
    for (let i = 0; i < CONNECTIONS; i++) peers.push(await RawPeer.connect(end.port));
    const flood = GET.repeat(20_000);
    for (const peer of peers) peer.send(flood);
    while (arrivals() < CONNECTIONS) await turn();
    for (let i = 0; i < CONNECTIONS; i++) await next();
    const other = await RawPeer.connect(end.port);
    other.send(GET);
    sendText((await next()).response, 'of the other');
    await other.until(/of the other$/);
    // All that was sent is read and dropped meanwhile, or its connection is closed.
    while (peers.some(({ socket }) => socket.writableLength > 0 && !socket.destroyed)) await turn();
    assert.ok(parsed.count <= 1 + CONNECTIONS * (2 + WAITING_MAX), `${parsed.count} requests were made`);
    for (const { socket } of [...peers, other]) socket.destroy();
  });

  test('has its requests cancelled when its client closes it', async () => {
    const { end, next, arrivals } = await gatedServer();
    await using _ = end;
    const peer = await RawPeer.connect(end.port);
    peer.send(GET.repeat(2_000));
    const { response } = await next();
    peer.socket.end();
    await new Promise<void>((resolve) => {
      response.onClose(resolve);
    });
    await peer.closed;
    assert.equal(arrivals(), 1);
    while (end.server.connections > 0) await turn();
  });
});

test('[F42] what follows a request that was refused is not parsed either', async () => {
  await using end = await serverFixture((_request, response) => sendText(response, 'answered'));
  using parsed = parsedRequests();
  const peer = await RawPeer.connect(end.port);
  const text = await peer.send(`GET / HTTP/1.1\r\n\r\n${GET.repeat(2_000)}`).untilEnd();
  assert.match(text, /^HTTP\/1\.1 400 [\s\S]*no_host$/);
  await peer.closed;
  assert.ok(parsed.count <= 2, `${parsed.count} requests were made`);
});
