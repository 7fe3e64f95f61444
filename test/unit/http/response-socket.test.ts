/** How a WebSocket on `/v1/responses` comes to its end while something runs on it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import { NO_OBSERVER } from '../../../src/core/request-record.ts';
import type { Gateway } from '../../../src/exchange/gateway.ts';
import { ResponseMemories } from '../../../src/exchange/response-memory.ts';
import { ResponseSocket, type ResponseSocketOptions, WAITING_MAX } from '../../../src/http/response-socket.ts';
import type { WebSocketConnection } from '../../../src/transport/server.ts';

const CREATE = Buffer.from('{"type":"response.create","model":"m","input":"Hello","stream_id":"a"}');

class FakeConnection implements WebSocketConnection {
  closed = false;
  partialBytes = 0;
  needsDrain = false;
  readonly sent: string[] = [];
  readonly ended = Promise.withResolvers<string>();
  onDrain(): void {}
  ping(): void {}
  check = (): boolean => true;
  send(content: Buffer): void {
    this.sent.push(String(content));
  }
  close(code: number, reason: string): void {
    this.closed = true;
    this.ended.resolve(`${code} ${reason}`);
  }
  destroy(): void {
    this.close(1006, '');
  }
  codes(): unknown[] {
    return this.sent.map((event) => (JSON.parse(event) as { error?: { code: string } }).error?.code);
  }
}

interface Scene {
  readonly socket: ResponseSocket;
  readonly connection: FakeConnection;
  /** Lets the request that runs come to its end. */
  goOn(): void;
}

/** What runs waits for its key, which there turns out not to be. */
function scene(): Scene {
  const key = Promise.withResolvers<null>();
  const gateway = {
    log: NO_LOG,
    observer: NO_OBSERVER,
    clock: { nowMs: () => 0 },
    inFlight: { requestStarted: () => {}, requestEnded: () => {} },
    routing: { speeds: {} },
    lease: { held: () => true },
    catalog: () => ({}),
    policy: () => ({ limits: { bodyBytes: 1_000, bodyTimeoutMs: 1_000 } }),
    keys: { knownDigest: () => 'digest', cached: () => undefined, fetch: () => key.promise },
  } as unknown as Gateway;
  const memory = new ResponseMemories(() => 1_000).open(() => 1_000);
  const headers = { get: (name: string) => (name === 'authorization' ? 'Bearer k' : null), repeated: () => false };
  const options = {
    gateway,
    memory,
    opened: { originMode: 'credit', origin: null, path: '/v1/responses', headers, clientAddress: '' },
    key: { id: 'key', mode: 'credit', captureDays: null },
    noteClient: () => {},
    onClose: () => {},
  } as unknown as ResponseSocketOptions;
  const socket = new ResponseSocket(options);
  const connection = new FakeConnection();
  socket.start(connection);
  return { socket, connection, goOn: () => key.resolve(null) };
}

test('[R80] after 60 minutes an idle connection closes', async () => {
  const { socket, connection } = scene();
  socket.expire();
  assert.equal(await connection.ended.promise, '1001 websocket_connection_limit_reached');
  assert.deepEqual(connection.sent, []);
});

test('[R80] a busy one does after the response that runs; what waits is told so', async () => {
  const { socket, connection, goOn } = scene();
  for (let i = 0; i < 3; i++) socket.onMessage(CREATE, true);
  socket.expire();
  socket.onMessage(CREATE, true);
  assert.equal(connection.closed, false);
  goOn();
  assert.match(await connection.ended.promise, /^1001 /);
  assert.deepEqual(connection.codes().toSorted(), [
    'invalid_credentials',
    'websocket_connection_limit_reached',
    'websocket_connection_limit_reached',
    'websocket_connection_limit_reached',
  ]);
});

test('[R80] what waits has together no more bytes than one body may have', async () => {
  const { socket, connection, goOn } = scene();
  const large = Buffer.from(`{"type":"response.create","model":"m","input":"${'x'.repeat(600)}"}`);
  for (let i = 0; i < 3; i++) socket.onMessage(large, true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(connection.codes(), ['rate_limit_exceeded'], 'one runs, one waits');
  socket.drain();
  goOn();
  await connection.ended.promise;
});

test('[R80] what was sent before a frame that cannot be is answered, and then it closes', async () => {
  const { socket, connection, goOn } = scene();
  for (let i = 0; i < 2; i++) socket.onMessage(CREATE, true);
  socket.onFault(1002);
  assert.equal(connection.closed, false);
  goOn();
  assert.match(await connection.ended.promise, /^1002 /);
  assert.deepEqual(connection.codes(), ['invalid_credentials', 'invalid_credentials']);
});

test('[R80] of steers that nobody has answered yet there are no more than requests that wait', async () => {
  const { socket, connection } = scene();
  const steer = Buffer.from('{"type":"response.steer","previous_response_id":"r","input":"Go on"}');
  for (let i = 0; i < WAITING_MAX + 3; i++) socket.onMessage(steer, true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(connection.codes(), Array(3).fill('rate_limit_exceeded'));
  socket.drain();
  await connection.ended.promise;
});
