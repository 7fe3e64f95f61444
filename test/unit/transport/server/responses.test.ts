/** What a response looks like on the wire. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerResponse } from '../../../../src/transport/server.ts';
import { pending } from '../../../support/pending.ts';
import { type Handler, RawPeer, sendText, serverFixture } from './fixture.ts';

/** How often the sockets of a server are written to, while `work` runs. */
async function writesDuring(work: () => Promise<void>): Promise<number> {
  let writes = 0;
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const { _write, _writev } = socket;
    socket._write = function count(...given) {
      writes += 1;
      _write.apply(this, given);
    };
    socket._writev = function count(...given) {
      writes += 1;
      _writev?.apply(this, given);
    };
  };
  const accepted = channel('net.server.socket');
  accepted.subscribe(onSocket);
  await work();
  accepted.unsubscribe(onSocket);
  return writes;
}

describe('a response that a client reads', () => {
  const stream: Handler = (_request, response) => {
    response.writeHead(200, ['content-type', 'text/plain']);
    response.write(Buffer.from('some'));
    response.end(Buffer.from('more'));
  };

  test('HTTP/1.0: closed after it, kept where it asks for that, and a stream ends with the connection', async () => {
    await using whole = await serverFixture((_request, response) => sendText(response, 'whole'));
    const closing = await RawPeer.connect(whole.port);
    closing.send('GET / HTTP/1.0\r\n\r\n');
    assert.match(await closing.untilEnd(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n\r\nwhole$/);
    const kept = await RawPeer.connect(whole.port);
    kept.send('GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n');
    assert.match(await kept.until(/whole$/), /\r\nConnection: keep-alive\r\n/);
    kept.send('GET / HTTP/1.0\r\n\r\n');
    assert.match(await kept.untilEnd(), /whole[\s\S]*close\r\n\r\nwhole$/);

    await using streamed = await serverFixture(stream);
    const peer = await RawPeer.connect(streamed.port);
    peer.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    const text = await peer.untilEnd();
    assert.match(text, /\r\nConnection: close\r\n\r\nsomemore$/);
    assert.doesNotMatch(text, /Transfer-Encoding|content-length/i);
  });

  test('that was cut cannot be taken for a complete one', async () => {
    for (const version of ['1.0', '1.1']) {
      await using end = await serverFixture((_request, response) => {
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
    await using end = await serverFixture((_request, response) => {
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

  test('is sent in one write: a whole one, and each piece of a stream, the first with the head, the last with the end', async () => {
    await using end = await serverFixture(async (request, response) => {
      if (request.target === '/whole') {
        sendText(response, 'whole.');
        return;
      }
      response.writeHead(200, []);
      response.write(Buffer.from('first'));
      await turn();
      response.write(Buffer.from('second'));
      await turn();
      response.end(Buffer.from('last.'));
    });
    for (const [path, writes] of [
      ['/whole', 1],
      ['/streamed', 3],
    ] as const) {
      const made = await writesDuring(async () => {
        const peer = await RawPeer.connect(end.port);
        await peer.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).until(/\.(\r\n0\r\n\r\n)?$/);
        peer.socket.destroy();
      });
      assert.equal(made, writes, path);
    }
  });

  test('does not have a header value that could end its line: nothing is sent, and another response may be', async () => {
    await using end = await serverFixture((_request, response) => {
      for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', 'a\u0100b', 'a\x7fb']) {
        assert.throws(() => response.send(200, ['content-type', value], Buffer.from('no')), TypeError);
        assert.throws(() => response.writeHead(200, ['content-type', value]), TypeError);
      }
      assert.equal(response.headersSent, false);
      response.send(200, ['content-type', 'a;\tb=\xe9', 'x', 7], Buffer.from('yes'));
    });
    const peer = await RawPeer.connect(end.port);
    const text = await peer.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n').until(/yes$/);
    assert.match(text, /^HTTP\/1\.1 200 OK\r\ncontent-type: a;\tb=\xe9\r\nx: 7\r\ncontent-length: 3\r\n/);
    peer.socket.destroy();
  });

  test('HEAD has the head alone, whole or streamed, and the connection goes on', async () => {
    await using end = await serverFixture((request, response) => {
      if (request.target === '/whole') response.send(200, [], Buffer.from('body'));
      else {
        response.writeHead(200, []);
        response.write(Buffer.from('body'));
        response.end(Buffer.from('body'));
      }
    });
    const peer = await RawPeer.connect(end.port);
    for (const path of ['/whole', '/streamed']) {
      peer.text = '';
      await peer.send(`HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).until(/\r\n\r\n$/);
      assert.equal(/content-length: 4/.test(peer.text), path === '/whole');
    }
    peer.text = '';
    await peer.send('GET /whole HTTP/1.1\r\nHost: x\r\n\r\n').until(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nbody$/);
    peer.socket.destroy();
  });

  test('may require another protocol, which is part of its Connection header', async () => {
    await using end = await serverFixture((_request, response) => {
      response.requireUpgrade('HTTP/1.1');
      sendText(response, 'upgrade', 426);
    });
    const peer = await RawPeer.connect(end.port);
    const get = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n';
    const kept = await peer.send(`${get}\r\n`).until(/upgrade$/);
    assert.match(
      kept,
      /^HTTP\/1\.1 426 Upgrade Required\r\n[\s\S]*\r\nupgrade: HTTP\/1\.1\r\nconnection: Upgrade\r\n/i,
    );
    peer.text = '';
    const last = await peer.send(`${get}Connection: close\r\n\r\n`).untilEnd();
    assert.match(last, /\r\nconnection: Upgrade, close\r\n[\s\S]*upgrade$/i);
  });

  test('streams with its head at once, or without any bytes', async () => {
    const gate = Promise.withResolvers<ServerResponse>();
    await using end = await serverFixture((request, response) => {
      response.writeHead(200, []);
      if (request.target === '/empty') response.end(Buffer.alloc(0));
      else {
        response.flushHeaders();
        gate.resolve(response);
      }
    });
    const peer = await RawPeer.connect(end.port);
    await peer.send('GET /empty HTTP/1.1\r\nHost: x\r\n\r\n').until(/\r\n\r\n0\r\n\r\n$/);
    peer.text = '';
    await peer.send('GET /early HTTP/1.1\r\nHost: x\r\n\r\n').until(/chunked\r\n\r\n$/);
    (await gate.promise).end(Buffer.from('last'));
    await peer.until(/\r\n\r\n4\r\nlast\r\n0\r\n\r\n$/);
    peer.socket.destroy();
  });

  test("is what Node's client takes it for", async () => {
    await using end = await serverFixture(stream);
    const response = await new Promise<IncomingMessage>((resolve) => {
      httpRequest({ port: end.port, host: '127.0.0.1', agent: false }, resolve).end();
    });
    const pieces = (await response.toArray()) as Buffer[];
    assert.equal(Buffer.concat(pieces).toString(), 'somemore');
    assert.equal(response.complete, true);
    assert.equal(response.headers['content-type'], 'text/plain');
  });

  test('has the same bytes in the same order, whatever pieces it is written in, in one turn or many, pipelined or not', async () => {
    const SIZES = [1, 9, 10, 15, 16, 17, 255, 256, 4_095, 4_096, 65_535, 65_536, 300_000];
    const pieces = (seed: number): Buffer[] =>
      SIZES.map((size, index) => randomBytes(size).fill(0x61 + seed, 0, index % 2 === 0 ? 1 : size));
    const written = new Map<string, Buffer[]>(['/0', '/1', '/2', '/3'].map((path, seed) => [path, pieces(seed)]));
    await using end = await serverFixture(async (request, response) => {
      response.writeHead(200, []);
      if (request.target === '/2') response.flushHeaders();
      const all = written.get(request.target) ?? [];
      for (const [index, piece] of all.entries()) {
        if (index === all.length - 1) response.end(piece);
        else if (!response.write(piece)) await new Promise<void>((resolve) => response.onDrain(resolve));
        if (index % 3 === 2) await turn();
      }
    });
    const peer = await RawPeer.connect(end.port);
    const heads = [...written.keys()].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    peer.send(heads.join(''));
    const expected = Buffer.concat([...written.values()].flat()).toString('latin1');
    while (peer.text.length < expected.length || !peer.text.endsWith('\r\n0\r\n\r\n')) await turn();
    assert.ok(chunkedContents(peer.text) === expected);
    peer.socket.destroy();
  });

  test('says when the client reads too slowly, and when it goes on', async () => {
    const blocked = Promise.withResolvers<ServerResponse>();
    const drained = Promise.withResolvers<void>();
    await using end = await serverFixture((_request, response) => {
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
    await using end = await serverFixture((request, response) => {
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

/** The contents of all chunked responses in the text so far, one behind the other. */
function chunkedContents(text: string): string {
  let content = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  while (at > 3 && at < text.length) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (line === -1 || line + 4 + size > text.length) break;
    content += text.slice(line + 2, line + 2 + size);
    at = size > 0 ? line + 4 + size : text.indexOf('\r\n\r\n', line + 4) + 4;
    assert.equal(text.slice(line + 2 + size, line + 4 + size), '\r\n');
  }
  return content;
}
