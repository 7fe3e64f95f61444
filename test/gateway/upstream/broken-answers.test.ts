/** Providers that break off, answer with nonsense or report nonsense: the client is told, and only what is owed is charged. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask, assertUncharged, errorOf, scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

// Each test has a gateway of its own: failures of one would open the circuit for the others.

describe('a provider that breaks the connection', () => {
  for (const format of FORMAT_NAMES) {
    test(`[F15] [R31] before its first byte: 502, void (${format})`, async () => {
      await using fixture = await scriptedGateway();
      const key = await fixture.gateway.tokenKey();
      const answer = ask(key, format, { stream: true });
      (await fixture.first.next()).reset();
      const { status, code } = errorOf(await answer);
      assert.deepEqual([status, code], [502, 'upstream_error']);
      await assertUncharged(fixture.gateway, key);
    });

    test(`[F15] [R46] [R50] mid-stream: in-band failure, billed with a record, never retried (${format})`, async () => {
      await using fixture = await scriptedGateway();
      const key = await fixture.gateway.tokenKey();
      const calls = fixture.first.calls;
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      call.chunk(SPEECH[format].opening.join('') + SPEECH[format].text(' and'.repeat(100)));
      await client.until(/( and){100}/);
      call.reset();
      const { text, complete } = await client.ended;
      assert.equal(complete, true);
      assert.match(text, SPEECH[format].inBandFailure);
      assert.match(text, /upstream_error/);
      assert.doesNotMatch(text, SPEECH[format].terminal);
      const { used, requests, output_tokens } = await settled(fixture.gateway, key);
      assert.equal(requests, 1);
      assert.ok(used > 50 && output_tokens > 50, `${used} tokens, ${output_tokens} of them output`);
      assert.equal(fixture.first.calls, calls + 1);
    });

    test(`[R46] [R50] with an error after content: in-band, and its text is not counted as output (${format})`, async () => {
      await using fixture = await scriptedGateway();
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format);
      const call = await fixture.first.next();
      call.streamHead();
      call.chunk(SPEECH[format].opening.join('') + SPEECH[format].text('abcd'));
      await client.until(/abcd/);
      call.chunk(SPEECH[format].overloaded.replace(/verloaded"/, `verloaded ${'blah '.repeat(2_000)}"`));
      const { text } = await client.ended;
      assert.match(text, SPEECH[format].inBandFailure);
      assert.doesNotMatch(text, SPEECH[format].terminal);
      const { output_tokens, requests } = await settled(fixture.gateway, key);
      assert.equal(requests, 1);
      assert.ok(output_tokens < 20, `${output_tokens} tokens for four characters`);
    });
  }

  for (const format of ['chat', 'messages'] as const) {
    test(`[R50] after the finish reason and before the terminal frame: complete, the frame is added (${format})`, async () => {
      await using fixture = await scriptedGateway({ timeouts: { idle: 0.5 } });
      for (const end of ['cleanly', 'by reset', 'by silence'] as const) {
        const key = await fixture.gateway.tokenKey();
        const client = streamed(key, format);
        const call = await fixture.first.next();
        const frames = spoken(format, 'done');
        call.streamHead();
        call.chunk(frames.slice(0, -1).join(''));
        // The connection must not be reset before the gateway has read what was sent.
        await client.until(/done/);
        if (end === 'cleanly') call.finish();
        if (end === 'by reset') call.reset();
        const { text, complete } = await client.ended;
        assert.equal(complete, true, end);
        assert.match(text, SPEECH[format].terminal, end);
        assert.doesNotMatch(text, SPEECH[format].inBandFailure, end);
        assert.equal((await settled(fixture.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS, end);
      }
    });
  }
});

describe('a provider that refuses without an end', () => {
  test('an error body that never ends is not waited for', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    const answer = ask(key, 'chat');
    const call = await fixture.first.next();
    call.raw('HTTP/1.1 500 Scripted\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    for (let i = 0; i < 20; i++) call.chunk('blah'.repeat(2_000));
    assert.equal(errorOf(await answer).status, 502);
    await call.closed;
    await assertUncharged(fixture.gateway, key);
  });
});

describe('a provider that answers 200 with nonsense', () => {
  const cases: readonly (readonly [string, string, Record<string, string>])[] = [
    ['an HTML page', '<html><body>Welcome to nginx</body></html>', { 'content-type': 'text/html' }],
    ['an HTML page that says it is what was asked for', '<html></html>', {}],
    ['truncated JSON', '{"id":"chatcmpl-1","object":"chat.comp', {}],
    ['JSON of another kind', '{"hello":"fixture"}', {}],
    ['nothing', '', {}],
  ];
  for (const format of FORMAT_NAMES) {
    for (const [what, body, headers] of cases) {
      test(`[F17] ${what}: 502, no charge (${format})`, async () => {
        await using fixture = await scriptedGateway();
        const key = await fixture.gateway.tokenKey();
        for (const stream of [false, true]) {
          const answer = ask(key, format, { stream });
          const type = stream ? 'text/event-stream' : 'application/json';
          (await fixture.first.next()).reply(200, body, { 'content-type': type, ...headers });
          const { status, code } = errorOf(await answer);
          assert.deepEqual([status, code], [502, 'upstream_error']);
        }
        await assertUncharged(fixture.gateway, key);
      });
    }

    test(`[F33] more JSON values than an answer may have: 502, no charge (${format})`, async () => {
      await using fixture = await scriptedGateway();
      const key = await fixture.gateway.tokenKey();
      const whole = JSON.stringify(SPEECH[format].whole('Hi')).slice(0, -1);
      const answers = [`${whole},"x":[${'{},'.repeat(2_000_000)}{}]}`, `[${'1,'.repeat(2_000_000)}1]`];
      for (const body of answers) {
        const answer = ask(key, format);
        (await fixture.first.next()).reply(200, body);
        const { status, code, message } = errorOf(await answer);
        assert.deepEqual([status, code], [502, 'upstream_error']);
        assert.match(message, /more than 2000000 JSON values/);
      }
      await assertUncharged(fixture.gateway, key);
    });

    test(`[F17] a right answer with a wrong content type: 502, no charge (${format})`, async () => {
      await using fixture = await scriptedGateway();
      const key = await fixture.gateway.tokenKey();
      const whole = ask(key, format);
      (await fixture.first.next()).reply(200, SPEECH[format].whole('Hi'), { 'content-type': 'text/html' });
      assert.equal(errorOf(await whole).status, 502);
      const stream = ask(key, format, { stream: true });
      (await fixture.first.next()).reply(200, spoken(format, 'Hi').join(''), { 'content-type': 'application/json' });
      assert.equal(errorOf(await stream).status, 502);
      await assertUncharged(fixture.gateway, key);
    });
  }
});

describe('a provider whose usage report is nonsense', () => {
  const reports: readonly (readonly [string, string])[] = [
    ['missing', 'null'],
    ['negative', '{"prompt_tokens":-5,"completion_tokens":-7,"total_tokens":-12}'],
    ['not numbers', '{"prompt_tokens":"NaN","completion_tokens":"many","total_tokens":null}'],
    ['fractional', '{"prompt_tokens":1.5,"completion_tokens":2.5,"total_tokens":4}'],
    ['2^53', '{"prompt_tokens":9007199254740992,"completion_tokens":1,"total_tokens":9007199254740993}'],
    ['1e308', '{"prompt_tokens":1e308,"completion_tokens":1e308,"total_tokens":1e308}'],
  ];
  for (const [what, report] of reports) {
    for (const stream of [false, true]) {
      test(`[F18] ${what}: counted here and flagged (${stream ? 'streamed' : 'whole'})`, async () => {
        await using fixture = await scriptedGateway();
        const key = await fixture.gateway.tokenKey();
        const { flagged } = await fixture.gateway.audit();
        const answer = ask(key, 'chat', { stream });
        const call = await fixture.first.next();
        const said = 'z'.repeat(400);
        const reported = /"usage":\{[^}]*\}/;
        if (stream) call.stream(spoken('chat', said).map((frame) => frame.replace(reported, `"usage":${report}`)));
        else call.reply(200, JSON.stringify(SPEECH.chat.whole(said)).replace(reported, `"usage":${report}`));
        assert.equal((await answer).status, 200);
        const { used, output_tokens, requests } = await settled(fixture.gateway, key);
        assert.equal(requests, 1);
        assert.ok(output_tokens >= 50 && output_tokens <= 400, `${output_tokens} tokens for 400 characters`);
        assert.ok(used > output_tokens && used < 1_000, `${used} tokens in all`);
        assert.equal((await fixture.gateway.audit()).flagged, flagged + 1);
      });
    }
  }

  test('[F18] more than the request can take: counted here and flagged', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    const { flagged } = await fixture.gateway.audit();
    const answer = ask(key, 'chat', { max_tokens: 10 });
    const call = await fixture.first.next();
    assert.equal(call.body.max_tokens, 10);
    call.reply(
      200,
      JSON.stringify(SPEECH.chat.whole('Hi')).replace(/"completion_tokens":\d+/, '"completion_tokens":700000'),
    );
    assert.equal((await answer).status, 200);
    const { used, output_tokens } = await settled(fixture.gateway, key);
    assert.ok(
      used > output_tokens && output_tokens > 0 && output_tokens <= 10,
      `${used} tokens, ${output_tokens} output`,
    );
    assert.equal((await fixture.gateway.audit()).flagged, flagged + 1);
  });
});
