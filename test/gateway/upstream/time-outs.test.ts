/** Providers that stall: each time-out ends the wait with its own message, and silence alone does not end a stream. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ask,
  assertUncharged,
  errorOf,
  scriptedGateway,
  settled,
  streamed,
  withinTime,
} from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

/** What a time-out of the provider is, by the endpoint's own list of statuses. */
const TIMED_OUT = {
  chat: [502, 'upstream_error'],
  responses: [502, 'upstream_error'],
  messages: [504, 'upstream_timeout'],
} as const;

describe('a provider that stalls', () => {
  for (const format of FORMAT_NAMES) {
    test(`[F16] [R30] before its first byte (${format})`, async () => {
      await using fixture = await scriptedGateway({ timeouts: { first_byte: 0.1 } });
      const key = await fixture.gateway.tokenKey();
      for (const stream of [true, false]) {
        const answer = ask(key, format, { stream });
        const call = await fixture.first.next();
        const { status, code, message } = errorOf(await answer);
        assert.deepEqual([status, code], TIMED_OUT[format]);
        assert.match(message, /first-byte time-out/);
        await call.closed;
      }
      await assertUncharged(fixture.gateway, key);
    });

    test(`[F16] [R30] between the headers and the first event (${format})`, async () => {
      await using fixture = await scriptedGateway({ timeouts: { idle: 0.1 } });
      const key = await fixture.gateway.tokenKey();
      const answer = ask(key, format, { stream: true });
      const call = await fixture.first.next();
      call.streamHead();
      const { status, code, message } = errorOf(await answer);
      assert.deepEqual([status, code], TIMED_OUT[format]);
      assert.match(message, /idle time-out/);
      await call.closed;
      await assertUncharged(fixture.gateway, key);
    });

    test(`[F16] [R46] between two bytes of a stream (${format})`, async () => {
      await using fixture = await scriptedGateway({ timeouts: { idle: 0.2 } });
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      call.chunk(SPEECH[format].opening.join('') + SPEECH[format].text('half'));
      const { text } = await client.ended;
      assert.match(text, /half/);
      assert.match(text, SPEECH[format].inBandFailure);
      assert.match(text, /idle time-out/);
      assert.doesNotMatch(text, SPEECH[format].terminal);
      await call.closed;
      assert.equal((await settled(fixture.gateway, key)).requests, 1);
    });

    test(`[R48] for longer than a stream may take: in-band, billed like a cancellation (${format})`, async () => {
      await withinTime([0.5, 5, 50], async (total) => {
        await using fixture = await scriptedGateway({ streams: { total } });
        const key = await fixture.gateway.tokenKey();
        const client = streamed(key, format);
        const call = await Promise.race([fixture.first.next(), client.ended.then(() => null)]);
        call?.streamHead();
        call?.chunk(SPEECH[format].opening.join('') + SPEECH[format].text('half'));
        const { text } = await client.ended;
        if (!text.includes('half')) return false;
        assert.match(text, SPEECH[format].inBandFailure);
        assert.match(text, /time limit/);
        assert.match(text, /"code":"upstream_timeout"/);
        await call?.closed;
        assert.ok((await settled(fixture.gateway, key)).used > 0);
        return true;
      });
    });
  }

  test('[R30] for longer than a whole answer may take: its own message', async () => {
    await using fixture = await scriptedGateway({ timeouts: { total: 0.2 } });
    const key = await fixture.gateway.tokenKey();
    const answer = ask(key, 'messages');
    // On a busy machine the time may be up before the provider is asked.
    const call = await Promise.race([fixture.first.next(), answer.then(() => null)]);
    const { status, code, message } = errorOf(await answer);
    assert.deepEqual([status, code], [504, 'upstream_timeout']);
    assert.match(message, /time limit/);
    await call?.closed;
    await assertUncharged(fixture.gateway, key);
  });

  test('[R31] while the connection is opened: provider_unavailable', async () => {
    await using stuck = await scriptedGateway();
    // A server that never answers the TLS handshake.
    await using fixture = await scriptedGateway({
      timeouts: { connect: 0.2 },
      provider: { base_url: `https://127.0.0.1:${stuck.first.port}/v1` },
    });
    const key = await fixture.gateway.tokenKey();
    const { status, code, message } = errorOf(await ask(key, 'messages'));
    assert.deepEqual([status, code], [502, 'provider_unavailable']);
    assert.match(message, /connect time-out/);
    await assertUncharged(fixture.gateway, key);
  });

  test('[R31] nobody listens there: provider_unavailable', async () => {
    await using fixture = await scriptedGateway();
    await fixture.first.close();
    const key = await fixture.gateway.tokenKey();
    const { status, code, message } = errorOf(await ask(key, 'chat'));
    assert.deepEqual([status, code], [502, 'provider_unavailable']);
    assert.match(message, /cannot be reached/);
    await assertUncharged(fixture.gateway, key);
  });
});

describe('a silent stream', () => {
  for (const format of FORMAT_NAMES) {
    test(`[R47] is begun some time after the provider's headers, and kept alive (${format})`, async () => {
      await using fixture = await scriptedGateway({ streams: { headers_wait: 0.1, keep_alive: 0.05 } });
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      assert.equal((await client.begun).statusCode, 200);
      await client.until(SPEECH[format].keepAlive);
      const frames = spoken(format, 'late');
      call.chunk(frames[0] ?? '');
      await client.until(new RegExp(`data:.*[\\s\\S]*${SPEECH[format].keepAlive.source}`, 'm'));
      for (const frame of frames.slice(1)) call.chunk(frame);
      call.finish();
      const { text, complete } = await client.ended;
      assert.equal(complete, true);
      assert.match(text, /late/);
      assert.match(text, SPEECH[format].terminal);
      assert.equal((await settled(fixture.gateway, key)).requests, 1);
    });

    test(`[R46] [R47] whose first event is an error, after the 200 was sent: in-band, no charge (${format})`, async () => {
      await using fixture = await scriptedGateway({ servers: 2, streams: { headers_wait: 0.05, keep_alive: 0.05 } });
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      await client.until(SPEECH[format].keepAlive);
      call.chunk(SPEECH[format].overloaded);
      const { text } = await client.ended;
      assert.match(text, SPEECH[format].inBandFailure);
      assert.equal(fixture.second.calls, 0);
      await assertUncharged(fixture.gateway, key);
    });
  }

  for (const format of FORMAT_NAMES) {
    test(`never gets a keep-alive into the middle of a frame (${format})`, async () => {
      await using fixture = await scriptedGateway({ streams: { keep_alive: 0.02 } });
      const key = await fixture.gateway.tokenKey();
      const { opening, text: said, closing, keepAlive, terminal } = SPEECH[format];
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      call.chunk(opening.join(''));
      await client.until(/tested/);
      const giant = said('g'.repeat(200_000));
      call.chunk(giant.slice(0, 100_000));
      // More than 64 KiB of it flow on as they are; meanwhile the provider is silent for many keep-alives.
      await client.until((text) => text.length > 70_000);
      await quiet();
      call.chunk(giant.slice(100_000));
      await client.until((text) => keepAlive.test(text.slice(text.lastIndexOf('gg'))));
      for (const frame of closing) call.chunk(frame);
      call.finish();
      const { text } = await client.ended;
      assert.ok(text.includes('g'.repeat(200_000)));
      assert.match(text, terminal);
      await settled(fixture.gateway, key);
    });
  }

  test('gets none when they are switched off', async () => {
    await using fixture = await scriptedGateway({ streams: { headers_wait: 0.02, keep_alive: 0 } });
    const key = await fixture.gateway.tokenKey();
    const client = streamed(key, 'messages');
    const call = await fixture.first.next();
    call.streamHead();
    await client.begun;
    await quiet();
    for (const frame of spoken('messages', 'only')) call.chunk(frame);
    call.finish();
    const { text } = await client.ended;
    assert.doesNotMatch(text, /event: ping/);
    await settled(fixture.gateway, key);
  });
});

/** Long enough for keep-alives, as another gateway shows by sending several. */
async function quiet(): Promise<void> {
  await using witness = await scriptedGateway({ streams: { headers_wait: 0.02, keep_alive: 0.02 } });
  const key = await witness.gateway.tokenKey();
  const client = streamed(key, 'chat');
  (await witness.first.next()).streamHead();
  await client.until((text) => text.split('\n:').length > 5);
  client.close();
  await settled(witness.gateway, key);
}
