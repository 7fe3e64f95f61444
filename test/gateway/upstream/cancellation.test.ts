/** A client that closes its connection: the provider's is closed at once, in every state, and only what is owed is charged. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import {
  assertUncharged,
  ClientStream,
  type ScriptedGateway,
  scriptedGateway,
  settled,
  streamed,
} from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, INPUT_TOKENS, SPEECH } from '../../support/upstreams/spoken.ts';

let fixture: ScriptedGateway;

before(async () => {
  fixture = await scriptedGateway({ routing: { max_attempts: 3 } });
});

after(() => fixture[Symbol.asyncDispose]());

describe('a client that goes away', () => {
  for (const format of FORMAT_NAMES) {
    for (const stream of [true, false]) {
      test(`[F13] [R49] before the headers of the provider: aborted, void (${format}, ${stream ? 'streamed' : 'whole'})`, async () => {
        const key = await fixture.gateway.tokenKey();
        const client = new ClientStream(key, format, SPEECH[format].request({ stream }));
        const call = await fixture.first.next();
        client.close();
        await call.closed;
        await assertUncharged(fixture.gateway, key);
      });
    }

    test(`[F13] [R49] mid-stream: closed at once, what was produced is charged, no usage record (${format})`, async () => {
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      for (const frame of SPEECH[format].opening) call.chunk(frame);
      call.chunk(SPEECH[format].text('x'.repeat(4_000)));
      await client.until(/x{4000}/);
      client.close();
      await call.closed;
      const { used, requests, input_tokens, output_tokens } = await settled(fixture.gateway, key);
      assert.ok(used > 500, `${used} tokens for 4,000 characters and their prompt`);
      assert.deepEqual({ requests, input_tokens, output_tokens }, { requests: 0, input_tokens: 0, output_tokens: 0 });
    });
  }

  test('[R49] after the headers and before any event: the input is charged', async () => {
    const key = await fixture.gateway.tokenKey();
    const client = streamed(key, 'messages');
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(SPEECH.messages.opening.join(''));
    await client.until(/message_start/);
    client.close();
    await call.closed;
    const { used, requests } = await settled(fixture.gateway, key);
    assert.ok(used >= INPUT_TOKENS && used <= INPUT_TOKENS + 1);
    assert.equal(requests, 0);
  });

  test('while another attempt is waited for: none is made any more', async () => {
    const failed = Promise.withResolvers<void>();
    await using waiting = await scriptedGateway({
      routing: { max_attempts: 3 },
      log: { ...NO_LOG, warn: () => failed.resolve() },
    });
    const key = await waiting.gateway.tokenKey();
    const client = streamed(key, 'chat');
    // The provider asks to be left alone for as long as nobody would wait here: the next attempt is far away.
    (await waiting.first.next()).reply(503, { error: { message: 'later' } }, { 'retry-after': '20' });
    await failed.promise;
    client.close();
    await assertUncharged(waiting.gateway, key);
    assert.equal(waiting.first.calls, 1);
  });

  test('while the connection to the provider is still being opened: void, and the provider is never asked', async () => {
    // A server that never answers the TLS handshake keeps the connection in that state.
    await using silent = await scriptedGateway({
      provider: { base_url: `https://127.0.0.1:${fixture.first.port}/v1` },
    });
    const calls = fixture.first.calls;
    const connections = fixture.first.connections;
    const key = await silent.gateway.tokenKey();
    const client = streamed(key, 'chat');
    while (fixture.first.connections === connections) await new Promise((resolve) => setImmediate(resolve));
    client.close();
    await assertUncharged(silent.gateway, key);
    assert.equal(fixture.first.calls, calls);
  });
});
