/** Optional fields sent as `null`, as several SDKs do, in front of a server that shows what reached it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Format } from '../../src/core/endpoints.ts';
import { ask, scriptedGateway } from '../support/scripted-gateway.ts';
import { call } from '../support/started-gateway.ts';
import { FORMAT_NAMES, SPEECH, spoken } from '../support/upstreams/spoken.ts';

const NULLS: Readonly<Record<Format, object>> = {
  chat: { max_tokens: null, stop: null, tools: null, user: null, stream_options: null, metadata: null },
  // What LlamaIndex sends with every call.
  responses: {
    include: null,
    instructions: null,
    max_output_tokens: null,
    metadata: null,
    previous_response_id: null,
    reasoning: null,
    text: null,
    tools: null,
    user: null,
  },
  messages: { max_tokens: null, system: null, stop_sequences: null, tools: null, metadata: { user_id: null } },
};

describe('[R62] null for optional fields', () => {
  for (const from of FORMAT_NAMES) {
    for (const to of FORMAT_NAMES) {
      test(`counts as omitted and does not reach the provider: ${from} client, ${to} target`, async () => {
        await using scripted = await scriptedGateway({ provider: { formats: [to] } });
        const key = await scripted.gateway.creditKey();
        const sent: object[] = [];
        scripted.first.answer = (call) => {
          sent.push(call.body);
          if (call.body.stream === true) call.stream(spoken(to, 'Hi'));
          else call.reply(200, SPEECH[to].whole('Hi'));
        };
        for (const stream of [null, true]) {
          const { status, text } = await ask(key, from, { ...NULLS[from], stream });
          assert.equal(status, 200, text);
        }
        assert.equal(sent.length, 2);
        assert.doesNotMatch(JSON.stringify(sent), /null/);
      });
    }
  }

  test('is refused for a required field, by name', async () => {
    await using scripted = await scriptedGateway();
    const key = await scripted.gateway.creditKey();
    for (const format of FORMAT_NAMES) {
      const { status, text } = await ask(key, format, { model: null });
      assert.deepEqual([status, JSON.parse(text).error.param ?? 'model'], [400, 'model']);
      assert.match(text, /model must be a string/);
    }
  });

  test('[R20] leaves the idempotency fingerprint to the exact bytes of the body', async () => {
    await using scripted = await scriptedGateway();
    scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    const key = await scripted.gateway.creditKey();
    const send = (extra: object): Promise<Response> =>
      call(key.origin + SPEECH.chat.path, {
        method: 'POST',
        key: key.key,
        headers: { 'idempotency-key': 'k' },
        body: SPEECH.chat.request(extra),
      });
    const first = await send({ user: null });
    const replayed = await send({ user: null });
    assert.deepEqual(
      [await first.text(), replayed.headers.get('idempotent-replayed')],
      [await replayed.text(), 'true'],
    );
    assert.equal((await send({})).status, 409);
  });
});
