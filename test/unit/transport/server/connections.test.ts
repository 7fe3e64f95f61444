/** The server's side of a connection: requests in their order, bodies, limits, and every way that a client can leave. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from '../../../../src/transport/server.ts';
import { pending } from '../../../support/pending.ts';
import { contentOf, echo, type GatedServer, gatedServer, RawPeer, sendText, serverFixture } from './fixture.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/**
 * A connection whose request is being served. Where the time-outs are short and this process was held up, the server may
 * have refused it before it read anything: then there is another, and what was refused is forgotten.
 */
async function arrived(
  { end, next }: GatedServer,
  sent: string,
): Promise<{ readonly peer: RawPeer; readonly response: ServerResponse }> {
  for (;;) {
    const peer = await RawPeer.connect(end.port);
    peer.send(sent);
    const first = await Promise.race([next(), peer.untilEnd()]);
    if (typeof first !== 'string') return { peer, response: first.response };
    assert.deepEqual(end.refused.splice(0), ['too_slow']);
  }
}

describe('a connection', () => {
  test('is kept: requests one after the other, with a date and how long it is kept', async () => {
    await using end = await serverFixture(echo);
    const peer = await RawPeer.connect(end.port);
    for (const path of ['/one', '/two']) {
      peer.text = '';
      const text = await peer.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).until(/\.$/);
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(text, /\r\ncontent-type: text\/plain\r\n/);
      assert.match(text, /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/);
      assert.match(text, /\r\nConnection: keep-alive\r\nKeep-Alive: timeout=75\r\n/);
      assert.ok(text.endsWith(`\r\n\r\nGET ${path} .`));
    }
    peer.socket.destroy();
  });

  test('takes bodies by their length and in chunks, wherever they are cut', async () => {
    await using end = await serverFixture(echo);
    const requests = [
      'POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello',
      'POST /chunks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nt: v\r\n\r\n',
    ].join('');
    const expected = ['POST /length hello.', 'POST /chunks hello!.'];
    for (const size of [1, 7, requests.length]) {
      const peer = await RawPeer.connect(end.port);
      for (let at = 0; at < requests.length; at += size) {
        peer.send(requests.slice(at, at + size));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await peer.until(/!\.$/);
      assert.deepEqual(peer.text.match(/POST \S+ \w+!?\./g), expected);
      peer.socket.destroy();
    }
  });

  test('has its pipelined requests answered one at a time', async () => {
    const { end, next, arrivals } = await gatedServer();
    await using _ = end;
    const peer = await RawPeer.connect(end.port);
    peer.send(`GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi${GET}`);
    const first = await next();
    assert.equal(arrivals(), 1);
    sendText(first.response, 'first');
    const second = await next();
    assert.equal(arrivals(), 2);
    assert.equal(String(await contentOf(second.request)), 'hi');
    sendText(second.response, 'second');
    sendText((await next()).response, 'third');
    const text = await peer.until(/third$/);
    assert.deepEqual(text.match(/first|second|third/g), ['first', 'second', 'third']);
    peer.socket.destroy();
  });

  test('may bring some requests at once, thousands of times', async () => {
    await using end = await serverFixture((_request, response) => sendText(response, 'x'));
    const peer = await RawPeer.connect(end.port);
    const ROUNDS = 1_000;
    for (let round = 0; round < ROUNDS; round++) {
      peer.text = '';
      await peer.send(GET.repeat(10)).until(/(HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\nx){10}$/);
    }
    const text = await peer.send(`${GET.repeat(10)}GET / HTTP/1.0\r\n\r\n`).untilEnd();
    assert.equal(text.split('HTTP/1.1 200 OK\r\n').length - 1, 10 + 10 + 1);
  });

  test('is not read without end while a request of it is answered', async () => {
    const { end, next } = await gatedServer();
    await using _ = end;
    const peer = await RawPeer.connect(end.port);
    const bytes = 32 * 1_024 * 1_024;
    peer.send(GET);
    const first = await next();
    peer.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
    const drained = once(peer.socket, 'drain');
    peer.socket.write(Buffer.alloc(bytes));
    assert.equal(await pending(drained), true);
    sendText(first.response, 'first');
    const second = await next();
    assert.equal((await contentOf(second.request))?.length, bytes);
    sendText(second.response, 'second');
    await peer.until(/second$/);
    peer.socket.destroy();
  });
});

describe('a client that goes away', () => {
  for (const [how, leave] of [
    ['closes', (peer: RawPeer) => peer.socket.destroy()],
    ['resets', (peer: RawPeer) => peer.socket.resetAndDestroy()],
    ['closes its side alone', (peer: RawPeer) => peer.socket.end()],
  ] as const) {
    test(`is noticed while it waits for the answer (${how})`, async () => {
      const { end, next } = await gatedServer();
      await using _ = end;
      const peer = await RawPeer.connect(end.port, true);
      peer.send(GET);
      const { response } = await next();
      const gone = new Promise<void>((resolve) => response.onClose(resolve));
      leave(peer);
      await gone;
      assert.equal(response.closed, true);
      // Nothing of this may throw, or reach anybody.
      sendText(response, 'late');
      response.writeHead(200, []);
      assert.equal(response.write(Buffer.from('late')), true);
      response.end(Buffer.from('late'));
      await peer.closed;
      assert.doesNotMatch(peer.text, /late/);
    });

    test(`is noticed in the middle of a stream (${how})`, async () => {
      const { end, next } = await gatedServer();
      await using _ = end;
      const peer = await RawPeer.connect(end.port, true);
      peer.send(GET);
      const { response } = await next();
      response.writeHead(200, []);
      response.write(Buffer.from('some'));
      await peer.until(/some/);
      const gone = new Promise<void>((resolve) => response.onClose(resolve));
      leave(peer);
      await gone;
      await peer.closed;
    });

    test(`is noticed in the middle of its body (${how})`, async () => {
      const { end, next } = await gatedServer();
      await using _ = end;
      const peer = await RawPeer.connect(end.port, true);
      peer.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe');
      const { request, response } = await next();
      const content = contentOf(request);
      leave(peer);
      assert.equal(await content, null);
      assert.equal(response.closed, true);
      assert.equal(await contentOf(request), null, 'and it is not waited for again');
      await peer.closed;
    });
  }

  test('that had its answer is not one, and what is done to that answer later does not touch its connection', async () => {
    const { end, next } = await gatedServer();
    await using _ = end;
    const peer = await RawPeer.connect(end.port);
    peer.send(GET);
    const { response } = await next();
    response.onClose(() => assert.fail('it has its answer'));
    sendText(response, 'done');
    await peer.until(/done$/);
    response.destroy();
    peer.send(GET);
    sendText((await next()).response, 'again');
    await peer.until(/again$/);
    peer.socket.destroy();
    await peer.closed;
    assert.equal(response.closed, false);
  });
});

describe('a body', () => {
  test('that is expected to be wanted is asked for when it is', async () => {
    const { end, next } = await gatedServer();
    await using _ = end;
    const peer = await RawPeer.connect(end.port);
    peer.send('POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n');
    const { request, response } = await next();
    assert.equal(peer.text, '');
    const content = contentOf(request);
    await peer.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    peer.send('hi');
    assert.equal(String(await content), 'hi');
    sendText(response, 'done');
    assert.match(await peer.until(/done$/), /Connection: keep-alive/);
    peer.socket.destroy();
  });

  test('that is expected to be wanted and is not: the connection closes, as nobody knows what comes next', async () => {
    await using end = await serverFixture((_request, response) => sendText(response, 'no', 413));
    const peer = await RawPeer.connect(end.port);
    peer.send('POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    const text = await peer.untilEnd();
    assert.match(text, /^HTTP\/1\.1 413 [\s\S]*\r\nConnection: close\r\n[\s\S]*no$/);
    assert.doesNotMatch(text, /100 Continue/);
  });

  test('other expectations are not looked at', async () => {
    await using end = await serverFixture(echo);
    const peer = await RawPeer.connect(end.port);
    peer.send('POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nContent-Length: 2\r\n\r\nhi');
    assert.match(await peer.until(/hi\.$/), /^HTTP\/1\.1 200/);
    peer.socket.destroy();
  });

  test('that was not read before the answer is dropped, and the next request is answered', async () => {
    await using end = await serverFixture((request, response) => sendText(response, `${request.target} is answered`));
    const peer = await RawPeer.connect(end.port);
    peer.send('POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\nabc');
    await peer.until(/\/one is answered$/);
    peer.send(`${'x'.repeat(199_997)}POST /two HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    await peer.until(/\/two is answered$/);
    peer.send('0\r\n\r\nGET /three HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.doesNotMatch(await peer.until(/\/three is answered$/), /Connection: close/);
    peer.socket.destroy();
  });

  test('that is too long to be dropped ends the connection, and the answer arrives', async () => {
    await using end = await serverFixture((_request, response) => sendText(response, 'too long', 413));
    const peer = await RawPeer.connect(end.port);
    peer.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 ** 40}\r\n\r\n${'x'.repeat(500_000)}`);
    assert.match(await peer.untilEnd(), /^HTTP\/1\.1 413 [\s\S]*\r\nConnection: close\r\n[\s\S]*too long$/);
  });

  test('that has become malformed is refused while nothing has been answered', async () => {
    await using end = await serverFixture(echo);
    const peer = await RawPeer.connect(end.port);
    peer.send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n');
    assert.match(await peer.untilEnd(), /^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n\r\nmalformed$/);
  });
});

describe('a client that is too slow', () => {
  test('to take the rest of a finished answer is cut off', async () => {
    await using end = await serverFixture((_request, response) => response.send(200, [], Buffer.alloc(40_000_000)), {
      headersTimeoutMs: 60,
      requestTimeoutMs: 120,
    });
    const peer = await RawPeer.connect(end.port);
    peer.socket.pause();
    peer.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    while (end.server.connections === 0) await turn();
    while (end.server.connections > 0) await turn();
    peer.socket.destroy();
  });

  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n';
  for (const [what, sent] of [
    ['with its first head', 'GET / HT'],
    ['with a later head', `${head}helloGET / HT`],
    ['with its body', `${head}he`],
  ] as const) {
    test(`[R87] ${what} is refused and closed: its request has begun`, async () => {
      await using end = await serverFixture(echo, { headersTimeoutMs: 60, requestTimeoutMs: 120 });
      const peer = await RawPeer.connect(end.port);
      assert.match(await peer.send(sent).untilEnd(), /HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\ntoo_slow$/);
      assert.deepEqual(end.refused, ['too_slow']);
    });
  }

  test('[R87] to say anything is closed without a byte', async () => {
    await using end = await serverFixture(echo, { headersTimeoutMs: 60, requestTimeoutMs: 120 });
    const silent = await RawPeer.connect(end.port);
    assert.equal(await silent.untilEnd(), '');
    assert.deepEqual(end.refused, []);
    while (end.server.connections > 0) await turn();
  });

  test('with the rest of a body that was answered already is closed without a further word', async () => {
    const server = await gatedServer({ headersTimeoutMs: 60, requestTimeoutMs: 60 });
    await using end = server.end;
    const { peer, response } = await arrived(server, `${head}he`);
    sendText(response, 'early');
    assert.match(await peer.untilEnd(), /early$/);
    assert.deepEqual(end.refused, []);
  });

  test('to ask again is closed without a word; an answer may take as long as it takes', async () => {
    const server = await gatedServer({
      headersTimeoutMs: 40,
      requestTimeoutMs: 40,
      keepAliveTimeoutMs: 40,
    });
    await using end = server.end;
    const busy = await arrived(server, GET);
    const idle = await arrived(server, GET);
    sendText(idle.response, 'done');
    assert.match(await idle.peer.untilEnd(), /^HTTP\/1\.1 200 [\s\S]*done$/);
    sendText(busy.response, 'at last');
    assert.match(await busy.peer.untilEnd(), /^HTTP\/1\.1 200 [\s\S]*at last$/);
    assert.deepEqual(end.refused, []);
  });
});

describe('a server that closes', () => {
  test('closes idle connections, answers the last requests of others, and accepts no more', async () => {
    const { end, next } = await gatedServer();
    const peers = [await RawPeer.connect(end.port), await RawPeer.connect(end.port), await RawPeer.connect(end.port)];
    const [idle, busy, fresh] = peers as [RawPeer, RawPeer, RawPeer];
    idle.send(GET);
    sendText((await next()).response, 'done');
    await idle.until(/done$/);
    busy.send(GET);
    const running = await next();
    end.server.close();
    await idle.untilEnd();
    fresh.send(GET);
    sendText((await next()).response, 'fresh');
    assert.match(await fresh.untilEnd(), /\r\nConnection: close\r\n[\s\S]*fresh$/);
    sendText(running.response, 'last');
    assert.match(await busy.untilEnd(), /\r\nConnection: close\r\n[\s\S]*last$/);
    const refused = connect(end.port, '127.0.0.1');
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
  });

  test('can end connections with their next response before it closes, and still accepts others', async () => {
    const { end, next } = await gatedServer();
    const used = await RawPeer.connect(end.port);
    used.send(GET);
    sendText((await next()).response, 'first');
    assert.match(await used.until(/first$/), /\r\nConnection: keep-alive\r\n/i);
    end.server.endPersistence();
    const later = await RawPeer.connect(end.port);
    for (const peer of [used, later]) {
      peer.send(GET);
      sendText((await next()).response, 'last');
      assert.match(await peer.untilEnd(), /\r\nConnection: close\r\n[\s\S]*last$/);
    }
    end.server.close();
  });

  test('answers what was pipelined before it closes', async () => {
    const { end, next } = await gatedServer();
    const peer = await RawPeer.connect(end.port);
    peer.send(GET + GET);
    const first = await next();
    first.response.writeHead(200, []);
    first.response.write(Buffer.from('first'));
    end.server.close();
    first.response.end(Buffer.alloc(0));
    sendText((await next()).response, 'second');
    assert.match(await peer.untilEnd(), /keep-alive[\s\S]*first[\s\S]*\r\nConnection: close\r\n[\s\S]*second$/);
  });

  test('can cut all connections', async () => {
    const { end, next } = await gatedServer();
    const peer = await RawPeer.connect(end.port);
    peer.send(GET);
    const { response } = await next();
    const gone = new Promise<void>((resolve) => response.onClose(resolve));
    end.server.close();
    end.server.closeAllConnections();
    await gone;
    await peer.closed;
  });

  test('tells when it cannot listen', async () => {
    await using end = await serverFixture(echo);
    const other = await serverFixture(echo);
    other.server.close();
    await assert.rejects(end.server.listen({ host: '127.0.0.1', port: end.port }));
  });
});
