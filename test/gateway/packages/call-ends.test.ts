/** How a call to a provider behind a package ends: by the client, by the provider, by a failure or by time. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ask,
  assertUncharged,
  ClientStream,
  errorOf,
  type ScriptedGateway,
  secretOf,
  settled,
  streamed,
} from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';
import { geminiChunk, geminiEnd, geminiGateway, geminiParts } from './scripted.ts';

const USAGE = { promptTokenCount: 21, candidatesTokenCount: 8 };

let gemini: ScriptedGateway;

before(async () => {
  gemini = await geminiGateway();
});
after(() => gemini[Symbol.asyncDispose]());

describe('how a call ends', () => {
  for (const format of FORMAT_NAMES) {
    test(`[F13] [R49] a client that goes before the headers: the provider's connection is closed, nothing is charged (${format})`, async () => {
      const key = await gemini.gateway.tokenKey();
      const client = new ClientStream(key, format, SPEECH[format].request({ stream: true }));
      const call = await gemini.first.next();
      client.close();
      await call.closed;
      await assertUncharged(gemini.gateway, key);
    });

    test(`[F13] [R49] a client that goes mid-stream: closed at once, what was produced is charged (${format})`, async () => {
      const key = await gemini.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await gemini.first.next();
      call.streamHead();
      call.chunk(geminiParts({ text: 'x'.repeat(4_000) }));
      await client.until(/x{4000}/);
      client.close();
      await call.closed;
      const { used, requests } = await settled(gemini.gateway, key);
      assert.ok(used > 500, `${used} tokens for 4,000 characters`);
      assert.equal(requests, 0);
    });

    test(`[F15] [R50] a connection that breaks mid-stream: told in-band, what was produced is billed (${format})`, async () => {
      const key = await gemini.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await gemini.first.next();
      call.streamHead();
      call.chunk(geminiParts({ text: 'x'.repeat(4_000) }));
      await client.until(/x{4000}/);
      call.reset();
      const { text } = await client.ended;
      assert.match(text, SPEECH[format].inBandFailure);
      assert.doesNotMatch(text, SPEECH[format].terminal);
      const { used, requests } = await settled(gemini.gateway, key);
      assert.ok(used > 500);
      assert.equal(requests, 1);
    });

    test(`[F18] usage that the provider does not report is counted here, never taken for nothing (${format})`, async () => {
      const key = await gemini.gateway.tokenKey();
      const client = streamed(key, format);
      (await gemini.first.next()).stream([geminiParts({ text: 'word '.repeat(400) }), geminiEnd(null)]);
      assert.match((await client.ended).text, SPEECH[format].terminal);
      const { used } = await settled(gemini.gateway, key);
      assert.ok(used >= 400, `${used} tokens for 400 words`);
    });
  }

  test('[R46] an error in the middle of the stream is told, without the credential', async () => {
    const key = await gemini.gateway.tokenKey();
    const client = streamed(key, 'responses');
    const call = await gemini.first.next();
    const error = { code: 503, message: `overloaded ${secretOf('one')}`, status: 'UNAVAILABLE' };
    call.stream([geminiParts({ text: 'Well, ' }), geminiChunk({ error })]);
    const { text } = await client.ended;
    assert.match(text, SPEECH.responses.inBandFailure);
    assert.doesNotMatch(text, new RegExp(secretOf('one')));
  });

  test('[R47] an error as the first event is a real status', async () => {
    for (const stream of [true, false]) {
      const key = await gemini.gateway.tokenKey();
      const answer = ask(key, 'chat', { stream });
      const error = { code: 503, message: 'overloaded', status: 'UNAVAILABLE' };
      (await gemini.first.next()).stream([geminiChunk({ error })]);
      assert.equal((await answer).status, 502);
      await assertUncharged(gemini.gateway, key);
    }
  });

  test('[F17] a stream without its end is broken, and one that ends at the limit says so', async () => {
    const key = await gemini.gateway.tokenKey();
    const cut = streamed(key, 'messages');
    (await gemini.first.next()).stream([geminiParts({ text: 'Well, ' })]);
    assert.match((await cut.ended).text, SPEECH.messages.inBandFailure);
    const full = ask(key, 'messages');
    (await gemini.first.next()).stream([geminiParts({ text: 'Well, ' }), geminiEnd(USAGE, 'MAX_TOKENS')]);
    assert.match((await full).text, /"stop_reason":"max_tokens"/);
  });

  test('[R31] a wrong key that Gemini calls a bad request is the operator’s fault, a long prompt the client’s', async () => {
    const key = await gemini.gateway.tokenKey();
    const refused = async (message: string, reason: string): Promise<{ status: number; code: string }> => {
      const answer = ask(key, 'chat');
      const error = { code: 400, message, status: 'INVALID_ARGUMENT', details: [{ reason }] };
      (await gemini.first.next()).reply(400, { error });
      const { status, code } = errorOf(await answer);
      return { status, code };
    };
    assert.deepEqual(await refused('API key not valid. Please pass a valid API key.', 'API_KEY_INVALID'), {
      status: 502,
      code: 'upstream_error',
    });
    const long = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
    assert.deepEqual(await refused(long, 'TOO_LONG'), { status: 400, code: 'context_length_exceeded' });
    await assertUncharged(gemini.gateway, key);
  });
});

describe('time-outs', () => {
  test('[F16] [R30] first byte and idle', async () => {
    await using hasty = await geminiGateway({ timeouts: { first_byte: 0.05 } });
    const silent = ask(await hasty.gateway.tokenKey(), 'messages').then(errorOf);
    // On a busy machine the time may be up before the package has sent anything.
    const call = await Promise.race([hasty.first.next(), silent.then(() => null)]);
    const { status, code } = await silent;
    assert.deepEqual({ status, code }, { status: 504, code: 'upstream_timeout' });
    await call?.closed;

    await using fixture = await geminiGateway({ timeouts: { idle: 0.05 } });
    const stalled = streamed(await fixture.gateway.tokenKey(), 'messages');
    const second = await fixture.first.next();
    second.streamHead();
    second.chunk(geminiParts({ text: 'Well, ' }));
    assert.match((await stalled.ended).text, /timeout_error/);
    await second.closed;
  });

  test('[R31] nobody listens: the provider is unavailable', async () => {
    const fixture = await geminiGateway();
    await fixture.first.close();
    const { status, code } = errorOf(await ask(await fixture.gateway.tokenKey(), 'chat'));
    assert.deepEqual({ status, code }, { status: 502, code: 'provider_unavailable' });
    await fixture.gateway[Symbol.asyncDispose]();
  });
});
