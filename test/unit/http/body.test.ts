/** A body is the bytes that were sent, in however many pieces they came, and never more than its limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../../src/core/conditions.ts';
import { readBody } from '../../../src/http/body.ts';
import { RawPeer, serverFixture } from '../transport/server/fixture.ts';

const LIMIT_BYTES = 100_000;
const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

/** What `readBody` made of the request in these writes. */
async function bodyOf(...writes: string[]): Promise<Buffer | GatewayError> {
  const read = Promise.withResolvers<Buffer | GatewayError>();
  await using end = await serverFixture((request) => read.resolve(readBody(request, LIMIT_BYTES)));
  const peer = await RawPeer.connect(end.port);
  for (const write of writes) {
    peer.send(write);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const result = await read.promise;
  peer.socket.destroy();
  return result;
}

function chunked(bytes: string, size: number): string {
  let text = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.slice(at, at + size);
    text += `${piece.length.toString(16)}\r\n${piece}\r\n`;
  }
  return `${text}0\r\n\r\n`;
}

const CONTENT = Array.from({ length: LIMIT_BYTES / 10 }, (_, index) => String(index).padStart(10, '.')).join('');

test('a body that came with its head, and none', async () => {
  assert.equal(String(await bodyOf(`${HEAD}Content-Length: 2\r\n\r\n{}`)), '{}');
  assert.equal(String(await bodyOf(`${HEAD}\r\n`)), '');
});

test('a body in pieces, by its length or in chunks of any size, is what was sent', async () => {
  const announced = `${HEAD}Content-Length: ${CONTENT.length}\r\n\r\n`;
  const pieces = [CONTENT.slice(0, 3), CONTENT.slice(3, 50_000), CONTENT.slice(50_000)];
  for (const writes of [
    [announced, ...pieces],
    [chunked(CONTENT, 30)],
    [chunked(CONTENT, 64)],
    [chunked(CONTENT, 60_000)],
  ]) {
    const body = await bodyOf(...writes);
    assert.ok(Buffer.isBuffer(body));
    assert.equal(body.toString('latin1'), CONTENT);
  }
});

test('[R32] a body over the limit is a problem, announced or not', async () => {
  for (const sent of [`${HEAD}Content-Length: ${LIMIT_BYTES + 1}\r\n\r\n`, chunked(`${CONTENT}x`, 1_000)]) {
    const body = await bodyOf(sent);
    assert.ok(body instanceof GatewayError);
    assert.equal(body.condition, 'request_too_large');
  }
});
