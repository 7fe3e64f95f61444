/** Providers that cut their answers into the smallest of pieces, or fill them with what is no content. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MeasuredGateway } from '../../support/measured-gateway.ts';
import { ask, errorOf } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const CONTENT_BYTES = 1_500_000;
/** What an answer of so many bytes may cost, and the rest of a gateway that has begun to work. */
const GROWTH_BYTES_MAX = 24 * 1_024 * 1_024;
const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';

function sent(call: ScriptedCall, bytes: string): Promise<void> {
  return new Promise((resolve) => call.socket.write(bytes, 'latin1', () => resolve()));
}

describe('a provider that answers', () => {
  test('[F31] in chunks of one byte: memory grows with the content, not with the pieces', async () => {
    await using gateway = await MeasuredGateway.start();
    const key = await gateway.key();
    gateway.provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    assert.equal((await ask(key, 'chat')).status, 200);
    gateway.provider.answer = null;
    const before = await gateway.measure();

    const answer = ask(key, 'chat');
    const call = await gateway.provider.next();
    const [open = '', close = ''] = JSON.stringify(SPEECH.chat.whole('MARK')).split('MARK');
    call.raw(CHUNKED_HEAD);
    call.chunk(open);
    await sent(call, '1\r\nx\r\n'.repeat(CONTENT_BYTES));
    const during = await gateway.measure();
    const growth = during.heapBytes - before.heapBytes;
    assert.ok(growth < GROWTH_BYTES_MAX, `${growth} bytes`);

    call.chunk(close);
    call.finish();
    const { status, text } = await answer;
    assert.equal(status, 200);
    assert.ok(text.includes('x'.repeat(CONTENT_BYTES)));
  });

  test('[F31] with a chunk extension that does not end: memory does not grow with it', async () => {
    await using gateway = await MeasuredGateway.start();
    const key = await gateway.key();
    gateway.provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    assert.equal((await ask(key, 'chat')).status, 200);
    gateway.provider.answer = null;
    const before = await gateway.measure();

    const answer = ask(key, 'chat');
    const call = await gateway.provider.next();
    // Further attempts.
    gateway.provider.answer = (again) => again.reset();
    call.raw(`${CHUNKED_HEAD}5;a=`);
    // undici reads over it.
    await Promise.race([call.closed, sent(call, 'y'.repeat(64 * 1_024 * 1_024))]);
    const during = await gateway.measure();
    const growth = during.heapBytes - before.heapBytes;
    assert.ok(growth < GROWTH_BYTES_MAX, `${growth} bytes`);
    call.reset();
    assert.equal(errorOf(await answer).status, 502);
  });
});
