/** WebSockets on the listener: who becomes one, and when a silent or slow client is given up. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import type { UpgradeResponse, WebSocketConnection } from '../../../../src/transport/server.ts';
import { echo, RawPeer, type ServerFixture, serverFixture } from './fixture.ts';

const HANDSHAKE =
  'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const LONG_MS = 3_600_000;
/** The head of one of 262,144 bytes. */
const LARGE_FRAME = '\x81\xff\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00';
const PING = '\x89\x00';

interface Opened {
  readonly end: ServerFixture;
  /** The connection that was accepted last, and what happened on it. */
  readonly connection: Promise<WebSocketConnection | null>;
  readonly messages: string[];
  readonly faults: number[];
  readonly closed: Promise<void>;
}

async function webSocketServer(limits = {}): Promise<Opened> {
  const [connection, closed] = [Promise.withResolvers<WebSocketConnection | null>(), Promise.withResolvers<void>()];
  const [messages, faults]: [string[], number[]] = [[], []];
  const onUpgrade = (_request: unknown, response: UpgradeResponse): void => {
    const handler = {
      onMessage: (content: Buffer) => void messages.push(String(content)),
      onFault: (code: number) => void faults.push(code),
      onClose: closed.resolve,
    };
    void response.accept(['x-request-id', 'one'], 1_048_576, handler).then((opened) => {
      connection.resolve(opened);
      if (opened === null) response.send(400, [], Buffer.from('no handshake'));
    });
  };
  const end = await serverFixture(echo, limits, { onUpgrade });
  return { end, connection: connection.promise, messages, faults, closed: closed.promise };
}

async function opened(server: Opened): Promise<readonly [RawPeer, WebSocketConnection]> {
  const peer = await RawPeer.connect(server.end.port);
  const head = await peer.send(`${HANDSHAKE}${KEY}\r\n`).until(/\r\n\r\n/);
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /\r\nx-request-id: one\r\n/);
  const connection = await server.connection;
  assert.ok(connection);
  return [peer, connection];
}

describe('[R80] a request for a WebSocket', () => {
  test('without its key is refused as HTTP, and the connection closes', async () => {
    const server = await webSocketServer();
    await using _ = server.end;
    const peer = await RawPeer.connect(server.end.port);
    const text = await peer.send(`${HANDSHAKE}\r\n`).untilEnd();
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n[\s\S]*no handshake$/i);
    assert.equal(await server.connection, null);
  });

  test('after another request is served, and behind one that still runs it is a 400', async () => {
    const server = await webSocketServer();
    await using _ = server.end;
    const peer = await RawPeer.connect(server.end.port);
    await peer.send('GET /first HTTP/1.1\r\nHost: x\r\n\r\n').until(/GET \/first \./);
    await peer.send(`${HANDSHAKE}${KEY}\r\n`).until(/101 Switching Protocols/);
    const pipelining = await RawPeer.connect(server.end.port);
    const text = await pipelining
      .send(`POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n${HANDSHAKE}${KEY}\r\n`)
      .untilEnd();
    assert.match(text, /POST \/slow \.[\s\S]*HTTP\/1\.1 400 /);
    peer.socket.destroy();
  });

  test('[F24] that is never complete is refused like every other', async () => {
    const server = await webSocketServer({ headersTimeoutMs: 200 });
    await using _ = server.end;
    const peer = await RawPeer.connect(server.end.port);
    assert.match(await peer.send(HANDSHAKE).untilEnd(), /too_slow$/);
  });

  test('of HTTP/1.0, with a body or by POST is an ordinary request', async () => {
    const server = await webSocketServer();
    await using _ = server.end;
    for (const head of [
      `${HANDSHAKE.replace('HTTP/1.1', 'HTTP/1.0')}${KEY}\r\n`,
      `${HANDSHAKE}${KEY}Content-Length: 2\r\n\r\nhi`,
      `${HANDSHAKE.replace('GET', 'POST')}${KEY}\r\n`,
    ]) {
      const peer = await RawPeer.connect(server.end.port);
      assert.match(await peer.send(head).until(/\/socket .*\.$/), /^HTTP\/1\.1 200 /, head);
      peer.socket.destroy();
    }
  });
});

describe('[R80] an open WebSocket', () => {
  test('is not closed for being idle, and answers its client', async () => {
    const server = await webSocketServer({ keepAliveTimeoutMs: 20, headersTimeoutMs: 40, requestTimeoutMs: 40 });
    await using _ = server.end;
    const webSocket = new WebSocket(`ws://127.0.0.1:${server.end.port}/socket`);
    await new Promise((resolve) => webSocket.once('open', resolve));
    const { round } = server.end.server;
    while (server.end.server.round < round + 10) await new Promise((resolve) => setTimeout(resolve, 10));
    const ponged = new Promise((resolve) => webSocket.once('pong', resolve));
    webSocket.send('still there');
    webSocket.ping();
    await ponged;
    assert.deepEqual(server.messages, ['still there']);
    webSocket.terminate();
    await server.closed;
  });

  test('whose client does not answer a ping is cut off', async () => {
    const server = await webSocketServer();
    await using _ = server.end;
    const [peer, connection] = await opened(server);
    assert.equal(connection.check(LONG_MS), true);
    while (!peer.text.endsWith(PING)) await once(peer.socket, 'data');
    assert.equal(connection.check(LONG_MS), false);
    await Promise.all([peer.closed, server.closed]);
    assert.equal(connection.closed, true);
  });

  test('[F24] with a large message that does not come to its end is cut off; a small one may take its time', async () => {
    for (const [sent, kept] of [
      [1_000, true],
      [100_000, false],
    ] as const) {
      const server = await webSocketServer();
      await using _ = server.end;
      const [peer, connection] = await opened(server);
      peer.send(`${LARGE_FRAME}${'x'.repeat(sent)}`);
      while (connection.partialBytes < sent) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(connection.check(-1), kept);
      peer.socket.destroy();
      await server.closed;
    }
  });

  test('of a client that has gone takes nothing more', async () => {
    const server = await webSocketServer();
    await using _ = server.end;
    const [peer, connection] = await opened(server);
    peer.socket.destroy();
    await server.closed;
    connection.send(Buffer.from('late'));
    connection.ping();
    connection.close(1000, 'late');
    assert.equal(connection.check(LONG_MS), true);
    assert.equal(connection.closed, true);
  });
});
