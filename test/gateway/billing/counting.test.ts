/** What a client meets of the counter: the context window, the recount before a 402, and token counts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PROSE } from '../../../bench/counter-samples.ts';
import { account, auditClean, GENERATIONS, refusal, say, usage, visit } from '../../support/requests.ts';
import { COUNTS_EXACTLY, type StartedGateway, withGateway } from '../../support/started-gateway.ts';

const TINY = { model: 'sandbox/tiny' };
const LIMIT = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const;
const TWENTY_KB = PROSE.English.repeat(24);
/** At the sandbox's prices. */
const INPUT_CREDITS = 1e-6;
const OUTPUT_CREDITS = 4e-6;

const gateway = await withGateway({ config: COUNTS_EXACTLY });

describe('the context window', () => {
  for (const name of GENERATIONS) {
    test(`[R36] [R63] ${name}: a prompt that is surely too long is refused, holds nothing and is not sent`, async () => {
      const key = await gateway.creditKey();
      const untouched = await account(gateway, key);
      const error = await refusal(say(key, name, TWENTY_KB, TINY), name, 400, 'context_length_exceeded');
      const counted = /(?:in|long:) (\d+) tokens/.exec(error.message)?.[1];
      assert.ok(Number(counted) > 4_000 && Number(counted) < 5_500, error.message);
      const wording =
        name === 'messages'
          ? `prompt is too long: ${counted} tokens > 2048 maximum`
          : `This model's maximum context length is 2048 tokens. However, your request resulted in ${counted} tokens.`;
      assert.equal(error.message, wording);
      assert.equal(error.param, name === 'responses' ? 'input' : 'messages');
      assert.deepEqual(await account(gateway, key), untouched);
    });

    test(`${name}: a prompt within the window runs, though it has more bytes than the window has tokens`, async () => {
      const key = await gateway.creditKey();
      const text = PROSE.English.repeat(4);
      assert.ok(text.length > 3_000);
      assert.equal((await say(key, name, text, TINY)).status, 200);
      await auditClean(gateway);
    });

    test(`${name}: white space is no reason to refuse`, async () => {
      const key = await gateway.creditKey();
      assert.equal((await say(key, name, `${' '.repeat(30_000)}Hello`, TINY)).status, 200);
    });
  }

  test('[R63] what is only a little too long is counted, not guessed', async () => {
    const key = await gateway.creditKey();
    await refusal(say(key, 'chat', 'word '.repeat(2_400), TINY), 'chat', 400, 'context_length_exceeded');
  });

  test('[R63] context_management does not make a longer prompt fit', async () => {
    const key = await gateway.creditKey();
    const extra = { ...TINY, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } };
    await refusal(say(key, 'messages', TWENTY_KB, extra), 'messages', 400, 'context_length_exceeded');
  });

  test('[R63] a text that is too long to be counted is refused by its beginning', async () => {
    const key = await gateway.creditKey();
    const nineMegabytes = PROSE.English.repeat(Math.ceil(9e6 / PROSE.English.length));
    await refusal(say(key, 'chat', nineMegabytes), 'chat', 400, 'context_length_exceeded');
    await auditClean(gateway);
  });

  test('[R14] an output limit beyond what the window leaves shrinks to it, whoever gave it', async () => {
    const key = await gateway.creditKey();
    const text = PROSE.English.repeat(10) + PROSE.English.slice(0, 400);
    const response = await say(key, 'chat', `[[tokens=250]] ${text}`, { ...TINY, max_tokens: 256 });
    const { choices, usage } = (await response.json()) as {
      choices: { finish_reason: string }[];
      usage: { completion_tokens: number };
    };
    assert.equal(choices[0]?.finish_reason, 'length');
    assert.ok(usage.completion_tokens < 250, `${usage.completion_tokens}`);
  });

  test('[R26] [R63] the context comes before the Idempotency-Key', async () => {
    const key = await gateway.creditKey();
    const sent = {
      headers: { 'idempotency-key': '' },
      body: { ...TINY, messages: [{ role: 'user', content: TWENTY_KB }] },
    };
    await refusal(visit(key, 'chat', sent), 'chat', 400, 'context_length_exceeded');
  });

  test('[R11] a prompt that is too long takes one place in the rate limit, and the limit comes first', async () => {
    const key = await gateway.creditKey({ rpm_limit: 2 });
    for (const remaining of ['1', '0']) {
      const error = await refusal(say(key, 'chat', TWENTY_KB, TINY), 'chat', 400, 'context_length_exceeded');
      assert.equal(error.headers.get('x-ratelimit-remaining-requests'), remaining);
    }
    await refusal(say(key, 'chat', TWENTY_KB, TINY), 'chat', 429, 'rate_limit_exceeded');
  });
});

describe('before a 402 the input is counted', () => {
  for (const name of GENERATIONS) {
    test(`[R13] [R14] ${name}: a balance that carries the count but not the bytes is enough`, async () => {
      const output = { [LIMIT[name]]: 300 };
      const bytes = Buffer.byteLength(TWENTY_KB);
      const credit = bytes * INPUT_CREDITS * 0.6 + 300 * OUTPUT_CREDITS;
      const { flagged } = await gateway.audit();
      const key = await gateway.creditKey({ credit: credit.toFixed(9) });
      assert.equal((await say(key, name, TWENTY_KB, output)).status, 200);
      const budgeted = await gateway.tokenKey({ budget: Math.floor(bytes * 0.6) + 300 });
      assert.equal((await say(budgeted, name, TWENTY_KB, output)).status, 200);
      // The provider’s own count stayed within both holds.
      assert.equal((await gateway.audit()).flagged, flagged);
      await auditClean(gateway);
    });
  }

  test('[R11] it takes one place in the rate limit', async () => {
    const credit = (TWENTY_KB.length * INPUT_CREDITS * 0.6 + 300 * OUTPUT_CREDITS).toFixed(9);
    const key = await gateway.creditKey({ credit, rpm_limit: 5 });
    const response = await say(key, 'chat', TWENTY_KB, { max_tokens: 300 });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-ratelimit-remaining-requests'), '4');
  });

  test('[R14] an output limit that nobody gave shrinks by the counted input', async () => {
    const credit = (TWENTY_KB.length * INPUT_CREDITS * 0.6 + 300 * OUTPUT_CREDITS).toFixed(9);
    const key = await gateway.creditKey({ credit });
    const response = await say(key, 'chat', TWENTY_KB);
    assert.equal(response.status, 200);
    assert.ok((await usage(key)).credits.balance >= 0);
    await auditClean(gateway);
  });

  test('[R15] [R16] what the count does not carry either is refused as before', async () => {
    const key = await gateway.creditKey({ credit: '0.004' });
    await refusal(say(key, 'chat', TWENTY_KB, { max_tokens: 300 }), 'chat', 402, 'insufficient_credit');
    const budgeted = await gateway.tokenKey({ budget: 4_000 });
    await refusal(say(budgeted, 'chat', TWENTY_KB, { max_tokens: 300 }), 'chat', 402, 'insufficient_credit');
  });

  test('[R16] a rest under 256 tokens serves what it carries by its count', async () => {
    const budgeted = await gateway.tokenKey({ budget: 255 });
    const text = PROSE.English.slice(0, 500);
    assert.equal((await say(budgeted, 'chat', text, { max_tokens: 5 })).status, 200);
    await auditClean(gateway);
  });
});

describe('token counts', () => {
  const count = async (key: Awaited<ReturnType<StartedGateway['creditKey']>>, text: string, model: string) => {
    const body = { model, messages: [{ role: 'user', content: text }] };
    const response = await visit(key, 'count_tokens', { body });
    assert.equal(response.status, 200);
    return ((await response.json()) as { input_tokens: number }).input_tokens;
  };

  test('[R58] counted here where the provider does not count, beyond the window too, and never charged', async () => {
    const key = await gateway.creditKey();
    const untouched = await account(gateway, key);
    const counted = await count(key, PROSE.English, 'sandbox/alpha');
    assert.ok(counted > 160 && counted < 220, `${counted}`);
    const long = await count(key, TWENTY_KB, 'sandbox/tiny');
    assert.ok(long > 4_000 && long < 5_500, `${long}`);
    assert.deepEqual(await account(gateway, key), untouched);
  });
});
