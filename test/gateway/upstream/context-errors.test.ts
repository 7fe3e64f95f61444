/** Providers that refuse an input as too long, each in its own words. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask, assertUncharged, errorOf, scriptedGateway } from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

/** What a provider says, and what a Format B client reads of it; the catalog's window is 200000. */
const SAID: readonly (readonly [string, RegExp])[] = [
  ['prompt is too long: 210000 tokens > 180000 maximum', / 210000 tokens > 180000 maximum$/],
  [
    "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,123 tokens.",
    / 130123 tokens > 128000 maximum$/,
  ],
  [
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    / 1200000 tokens > 1048576 maximum$/,
  ],
  [
    "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (60000 in the messages, 10000 in the completion).",
    / 70000 tokens > 65536 maximum$/,
  ],
  [
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    / 40000 tokens > 32768 maximum$/,
  ],
  [
    "This model's maximum prompt length is 131072 but the request contains 150000 tokens; shorten the context window.",
    / 150000 tokens > 131072 maximum$/,
  ],
  // The input alone would fit: it is with its output that it does not.
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 500 input tokens (8000 > 8192 - 500).",
    / 8193 tokens > 8192 maximum$/,
  ],
  ['the request exceeds the available context size (4096 tokens), try increasing it', / 4097 tokens > 4096 maximum$/],
  ['Your input exceeds the context window of this model. Please adjust it.', / 200001 tokens > 200000 maximum$/],
];

describe('a provider whose context is exceeded', () => {
  for (const to of FORMAT_NAMES) {
    test(`[R36] on Format B it is said in the words that clients act on, from a ${to} target`, async () => {
      await using fixture = await scriptedGateway({ provider: { formats: [to] } });
      const key = await fixture.gateway.tokenKey();
      for (const [said, expected] of SAID) {
        const answer = ask(key, 'messages');
        (await fixture.first.next()).reply(400, { error: { code: 'context_length_exceeded', message: said } });
        const { status, code, message } = errorOf(await answer);
        assert.deepEqual([status, code], [400, 'context_length_exceeded'], said);
        assert.match(message, /^prompt is too long: /, said);
        assert.match(message, expected);
      }
      await assertUncharged(fixture.gateway, key);
    });

    test(`[R36] also where a stream begins with it, from a ${to} target`, async () => {
      await using fixture = await scriptedGateway({ provider: { formats: [to] } });
      const key = await fixture.gateway.tokenKey();
      const answer = ask(key, 'messages', { stream: true });
      const call = await fixture.first.next();
      call.streamHead();
      call.chunk(SPEECH[to].overloaded.replaceAll(/"[^"]*verloaded[^"]*"/g, '"maximum context length is 4096 tokens"'));
      const { status, message } = errorOf(await answer);
      assert.equal(status, 400);
      assert.equal(message, 'prompt is too long: 4097 tokens > 4096 maximum');
    });
  }

  test('[R36] with a window that nobody knows', async () => {
    await using fixture = await scriptedGateway({
      model: { context_window: undefined },
      settings: { model_lists: false },
    });
    const key = await fixture.gateway.tokenKey();
    const answer = ask(key, 'messages');
    (await fixture.first.next()).reply(400, { error: { message: 'input is too long for this model' } });
    const { message } = errorOf(await answer);
    const [, tokens, window] = /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(message) ?? [];
    assert.ok(Number(tokens) > Number(window), message);
  });

  test('on Format A its words stay', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    for (const format of ['chat', 'responses'] as const) {
      const answer = ask(key, format);
      (await fixture.first.next()).reply(400, { error: { message: 'too many input tokens: 9000, limit 8000' } });
      assert.equal(errorOf(await answer).message, 'too many input tokens: 9000, limit 8000');
    }
  });
});
