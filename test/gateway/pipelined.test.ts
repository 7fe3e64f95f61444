/** Requests that a client sends one behind the other on one connection, without waiting for the answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { accountWhen } from '../support/requests.ts';
import { withGatedGateway } from '../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();

function request(key: CreatedKey, stream: boolean): string {
  const body = JSON.stringify({ model: 'gated/one', stream, messages: [{ role: 'user', content: 'Hello' }] });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    'content-type: application/json',
    `authorization: Bearer ${key.key}`,
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

async function connected(): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.origin).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

for (const stream of [true, false]) {
  test(`[F13] [R49] a client that goes away takes all of them along (${stream ? 'streamed' : 'whole'})`, async () => {
    const key = await gateway.creditKey();
    const socket = await connected();
    const arrivals = upstream.arrivals;
    socket.write(request(key, stream) + request(key, stream));
    const first = await upstream.next();
    socket.destroy();
    await first.closed;
    const { used, reserved } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
    assert.deepEqual({ used, reserved }, { used: 0, reserved: 0 });
    assert.equal(upstream.arrivals, arrivals + 1, 'the second one never began');
  });
}

test('they are answered one at a time, in their order', async () => {
  const key = await gateway.creditKey();
  const socket = await connected();
  const arrivals = upstream.arrivals;
  let seen = '';
  socket.on('data', (chunk) => {
    seen += chunk.toString('latin1');
  });
  socket.write(request(key, false) + request(key, true) + request(key, false));
  const first = await upstream.next();
  assert.equal(upstream.arrivals, arrivals + 1);
  first.answer(10, 5, 'the first');
  const second = await upstream.next();
  assert.equal(upstream.arrivals, arrivals + 2);
  second.begin();
  second.finish();
  (await upstream.next()).answer(10, 5, 'the third');
  while (!seen.includes('the third')) await once(socket, 'data');
  assert.match(seen, /the first[\s\S]*\[DONE\]\n\n\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*the third/);
  socket.destroy();
});
