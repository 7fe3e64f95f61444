/** What a response looks like on the wire. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from '../../../../src/transport/server.ts';
import { pending } from '../../../support/pending.ts';
import { type Handler, RawPeer, sendText, serverFixture, TRANSPORTS } from './fixture.ts';

for (const kind of TRANSPORTS) {
  describe(`${kind}: a response that a client reads`, () => {
    const stream: Handler = (_request, response) => {
      response.writeHead(200, ['content-type', 'text/plain']);
      response.write(Buffer.from('some'));
      response.end(Buffer.from('more'));
    };

    test('HTTP/1.0: closed after it, kept where it asks for that, and a stream ends with the connection', async () => {
      await using whole = await serverFixture(kind, (_request, response) => sendText(response, 'whole'));
      const closing = await RawPeer.connect(whole.port);
      closing.send('GET / HTTP/1.0\r\n\r\n');
      assert.match(await closing.untilEnd(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n\r\nwhole$/);
      const kept = await RawPeer.connect(whole.port);
      kept.send('GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n');
      assert.match(await kept.until(/whole$/), /\r\nConnection: keep-alive\r\n/);
      kept.send('GET / HTTP/1.0\r\n\r\n');
      assert.match(await kept.untilEnd(), /whole[\s\S]*close\r\n\r\nwhole$/);

      await using streamed = await serverFixture(kind, stream);
      const peer = await RawPeer.connect(streamed.port);
      peer.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
      const text = await peer.untilEnd();
      assert.match(text, /\r\nConnection: close\r\n\r\nsomemore$/);
      assert.doesNotMatch(text, /Transfer-Encoding|content-length/i);
    });

    test('that was cut cannot be taken for a complete one', async () => {
      for (const version of ['1.0', '1.1']) {
        await using end = await serverFixture(kind, (_request, response) => {
          response.writeHead(200, []);
          response.write(Buffer.from('some'));
          setImmediate(() => response.destroy());
        });
        const peer = await RawPeer.connect(end.port);
        const failed = version === '1.0' ? once(peer.socket, 'error') : null;
        await peer.send(`GET / HTTP/${version}\r\nHost: x\r\n\r\n`).untilEnd();
        assert.doesNotMatch(peer.text, /0\r\n\r\n$/);
        const [error] = ((await failed) ?? []) as [NodeJS.ErrnoException?];
        if (version === '1.0') assert.equal(error?.code, 'ECONNRESET');
      }
    });

    test('without a length ends in a reset when its client closes its own side alone', async () => {
      await using end = await serverFixture(kind, (_request, response) => {
        response.writeHead(200, []);
        response.write(Buffer.from('some'));
      });
      const peer = await RawPeer.connect(end.port, true);
      const failed = once(peer.socket, 'error');
      await peer.send('GET / HTTP/1.0\r\nHost: x\r\n\r\n').until(/some$/);
      peer.socket.end();
      const [error] = (await failed) as [NodeJS.ErrnoException];
      assert.equal(error.code, 'ECONNRESET');
    });

    test("is what Node's client takes it for", async () => {
      await using end = await serverFixture(kind, stream);
      const response = await new Promise<IncomingMessage>((resolve) => {
        httpRequest({ port: end.port, host: '127.0.0.1', agent: false }, resolve).end();
      });
      const pieces = (await response.toArray()) as Buffer[];
      assert.equal(Buffer.concat(pieces).toString(), 'somemore');
      assert.equal(response.complete, true);
      assert.equal(response.headers['content-type'], 'text/plain');
    });

    test('says when the client reads too slowly, and when it goes on', async () => {
      const blocked = Promise.withResolvers<ServerResponse>();
      const drained = Promise.withResolvers<void>();
      await using end = await serverFixture(kind, (_request, response) => {
        response.writeHead(200, []);
        // More than all buffers on the way hold.
        for (let i = 0; i < 40; i++) response.write(Buffer.alloc(1_000_000, 'x'));
        assert.equal(response.write(Buffer.from('x')), false);
        response.onDrain(() => drained.resolve());
        blocked.resolve(response);
      });
      const peer = await RawPeer.connect(end.port);
      peer.socket.pause();
      peer.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      const response = await blocked.promise;
      await turn();
      assert.equal(await pending(drained.promise), true);
      peer.socket.resume();
      await drained.promise;
      response.end(Buffer.from('last'));
      while (!peer.text.endsWith('last\r\n0\r\n\r\n')) await turn();
      peer.socket.destroy();
    });

    test('is cut when its last bytes are not taken in time, and kept when they are', async () => {
      const LINGER_MS = 100;
      const begun = Promise.withResolvers<ServerResponse>();
      await using end = await serverFixture(kind, (request, response) => {
        response.writeHead(200, []);
        if (request.target === '/slow') {
          // More than all buffers on the way hold.
          while (response.write(Buffer.alloc(1_000_000, 'x')));
          for (let i = 0; i < 40; i++) response.write(Buffer.alloc(1_000_000, 'x'));
          begun.resolve(response);
        }
        response.end(Buffer.from('last'), LINGER_MS);
      });
      const quick = await RawPeer.connect(end.port);
      await quick.send('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n').until(/last\r\n0\r\n\r\n$/);
      const slow = await RawPeer.connect(end.port);
      slow.socket.pause();
      slow.send('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
      await begun.promise;
      // The quick client's time is over too by then, and its connection still serves.
      await new Promise((resolve) => setTimeout(resolve, 3 * LINGER_MS));
      slow.socket.resume();
      await slow.untilEnd();
      assert.doesNotMatch(slow.text.slice(-100), /last/);
      quick.text = '';
      await quick.send('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n').until(/last\r\n0\r\n\r\n$/);
      quick.socket.destroy();
    });
  });
}
