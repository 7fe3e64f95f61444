/** What a request holds before it starts, and what is said when the balance does not cover it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { periodEndMs } from '../../../src/core/period.ts';
import {
  account,
  answerText,
  auditClean,
  bodyOf,
  GENERATIONS,
  type GenerationName,
  refusal,
  say,
  usage,
} from '../../support/requests.ts';
import { withGatedGateway } from '../../support/started-gateway.ts';
import type { Gated } from '../../support/upstreams/gated.ts';

/** Nanos of a credit, at the sandbox's prices. */
const INPUT_NANOS = 1_000;
const OUTPUT_NANOS = 4_000;
const NANO = 1e-9;

const { gateway, upstream } = await withGatedGateway();

const GATED = { model: 'gated/one', max_tokens: 1000 };

interface Running {
  readonly gated: Gated;
  readonly response: Promise<Response>;
}

/** A request that has arrived upstream and stays there. */
async function running(key: CreatedKey, extra: object = GATED): Promise<Running> {
  const response = say(key, 'chat', 'go', extra);
  return { response, gated: await upstream.next() };
}

async function letThrough({ gated, response }: Running): Promise<void> {
  gated.answer();
  assert.equal((await response).status, 200);
}

/** What a request holds, in nanos or in tokens, as the usage summary tells it. */
async function heldBy(key: CreatedKey, extra: object = GATED): Promise<number> {
  const one = await running(key, extra);
  const summary = await usage(key);
  await letThrough(one);
  return key.mode === 'credit' ? Math.round(summary.credits.reserved / NANO) : summary.tokens.reserved;
}

function credits(nanos: number): string {
  return (nanos * NANO).toFixed(9);
}

/** The request as it arrived upstream. */
async function arrivedUpstream(name: GenerationName, response: Response): Promise<Record<string, unknown>> {
  assert.equal(response.status, 200);
  return JSON.parse(await answerText(name, response));
}

describe('parallel requests', () => {
  for (const mode of ['credit', 'token_budget'] as const) {
    test(`[F12] [R15] [R16] 64 at once on a ${mode} key that can afford one: one runs, 63 get a 429`, async () => {
      const need = await heldBy(mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey());
      const enough = Math.floor(need * 1.9);
      const key =
        mode === 'credit'
          ? await gateway.creditKey({ credit: credits(enough) })
          : await gateway.tokenKey({ budget: enough });
      const arrivals = upstream.arrivals;
      const statuses: number[] = [];
      const all = Array.from({ length: 64 }, async () => {
        const response = await say(key, 'chat', 'go', GATED);
        statuses.push(response.status);
        if (response.status === 200) return;
        const error = await refusal(response, 'chat', 429, 'balance_temporarily_reserved');
        assert.equal(error.type, 'rate_limit_error');
        assert.ok(Number(error.headers.get('retry-after')) >= 1);
        assert.equal(error.headers.get('x-should-retry'), null);
        if (statuses.length === 63) (await upstream.next()).answer(10, 5);
      });
      await Promise.all(all);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      assert.equal(statuses.filter((status) => status === 429).length, 63);
      assert.equal(upstream.arrivals, arrivals + 1, 'the provider saw one request');
      const summary = await usage(key);
      assert.equal(summary.requests.total, 1);
      assert.equal(summary.credits.reserved, 0);
      assert.equal(summary.tokens.reserved, 0);
      if (mode === 'credit') assert.equal(summary.credits.used, 0.00003);
      else assert.equal(summary.tokens.used, 15);
      await auditClean(gateway);
    });
  }

  test('[R18] Retry-After of a held balance is at least 1, and once the other has ended the retry runs', async () => {
    const key = await gateway.creditKey({ credit: credits((await heldBy(await gateway.creditKey())) + 1_000_000) });
    const one = await running(key);
    const error = await refusal(say(key, 'chat', 'go', GATED), 'chat', 429, 'balance_temporarily_reserved');
    assert.match(error.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    await letThrough(one);
    await letThrough(await running(key));
    await auditClean(gateway);
  });
});

describe('the amount held', () => {
  test('[R13] the worst case is held while it runs, the real cost is charged, the rest comes back', async () => {
    const key = await gateway.creditKey({ credit: '1' });
    const one = await running(key);
    const during = await usage(key);
    const held = Math.round(during.credits.reserved / NANO);
    // A token covers at least one byte: no input has more tokens than its body has bytes.
    const bytes = JSON.stringify(bodyOf('chat', 'go', GATED)).length;
    assert.ok(
      held >= 1000 * OUTPUT_NANOS + bytes * INPUT_NANOS,
      'the whole output, and the most that the input can be',
    );
    assert.equal(during.credits.balance, 1);
    assert.equal(during.credits.remaining, Number(credits(1e9 - held)));
    assert.match(during.explanation, /1 request in flight/);
    await letThrough(one);
    const { credits: now } = await usage(key);
    assert.equal(now.reserved, 0);
    assert.equal(now.used, Number(credits(10 * INPUT_NANOS + 5 * OUTPUT_NANOS)));
    assert.equal(now.balance, Number(credits(1e9 - 10 * INPUT_NANOS - 5 * OUTPUT_NANOS)));
    await auditClean(gateway);
  });

  test('[R55] the explanation tells what is left, what is held and by how many requests, and when the period ends', async () => {
    const key = await gateway.creditKey({ credit: '1' });
    const idle = await usage(key);
    assert.match(idle.explanation, /^1 of 1 purchased credits are left to spend\. Nothing is held/);
    const two = [await running(key), await running(key)];
    const busy = await usage(key);
    assert.ok(
      busy.explanation.startsWith(`${busy.credits.remaining} of 1 purchased credits are left`),
      busy.explanation,
    );
    assert.ok(
      busy.explanation.includes(`2 requests in flight hold ${busy.credits.reserved} credits`),
      busy.explanation,
    );
    for (const one of two) await letThrough(one);

    const budgeted = await gateway.tokenKey({ budget: 5_000, period: 'day' });
    const one = await running(budgeted);
    const held = await usage(budgeted);
    const { explanation, tokens } = held;
    assert.ok(explanation.startsWith(`${tokens.remaining} of 5000 tokens are left. 1 request in flight`), explanation);
    assert.ok(explanation.includes(`holds ${tokens.reserved} tokens`), explanation);
    assert.match(explanation, /The day ends at \d{4}-\d\d-\d\dT00:00:00\.000Z\.$/);
    await letThrough(one);
    await auditClean(gateway);
  });

  test('[R13] [R60] n multiplies the output bound', async () => {
    const key = await gateway.creditKey();
    const one = await heldBy(key, { ...GATED, n: 1 });
    const three = await heldBy(key, { ...GATED, n: 3 });
    assert.equal(three - one, 2 * 1000 * OUTPUT_NANOS);
    const budgeted = await gateway.tokenKey();
    const oneTokens = await heldBy(budgeted, { ...GATED, n: 1 });
    assert.equal((await heldBy(budgeted, { ...GATED, n: 3 })) - oneTokens, 2000);
  });

  test('[R13] held at the dearest price class that the input can meet', async () => {
    const key = await gateway.creditKey();
    const plain = await heldBy(key, { ...GATED, model: 'gated/one' });
    const dear = await heldBy(key, { ...GATED, model: 'gated/two' });
    const inputNanos = plain - 1000 * OUTPUT_NANOS;
    assert.equal(dear, 1000 * OUTPUT_NANOS + 2 * inputNanos);
  });

  test('[R13] [R86] a report beyond the worst case that was held cannot be: counted here instead, and flagged', async () => {
    const key = await gateway.creditKey();
    const { flagged } = await gateway.audit();
    const one = await running(key);
    const { reserved } = (await usage(key)).credits;
    one.gated.answer(1_000_000, 1_000_000);
    assert.equal((await one.response).status, 200);
    const { used } = (await usage(key)).credits;
    assert.ok(used > 0 && used < reserved / 2, `charged ${used} of ${reserved}`);
    assert.equal((await gateway.audit()).flagged, flagged + 1);
    await auditClean(gateway);
  });
});

describe('the effective output limit', () => {
  const FIELD = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const;
  const SENT_AS = { ...FIELD, chat: 'max_completion_tokens' } as const;
  const DEFAULT = { chat: 64_000, responses: 64_000, messages: 1_024 } as const;

  for (const name of GENERATIONS) {
    test(`[R14] ${name}: where the client gave none, the default is sent upstream; its own is sent as given`, async () => {
      const key = await gateway.creditKey();
      const none = await arrivedUpstream(name, await say(key, name, '[[echo]]'));
      assert.equal(none[SENT_AS[name]], DEFAULT[name]);
      const own = await arrivedUpstream(name, await say(key, name, '[[echo]]', { [FIELD[name]]: 300 }));
      assert.equal(own[SENT_AS[name]], 300);
      await auditClean(gateway);
    });

    test(`[R14] ${name}: it shrinks to what the balance affords, but not under 256`, async () => {
      const key = await gateway.creditKey({ credit: '0.002' });
      const sent = await arrivedUpstream(name, await say(key, name, '[[echo]]'));
      const limit = Number(sent[SENT_AS[name]]);
      assert.ok(limit >= 256 && limit < DEFAULT[name], `${limit}`);
      assert.ok(limit * OUTPUT_NANOS * NANO <= 0.002, 'the balance carries it');
      assert.ok((limit + 300) * OUTPUT_NANOS * NANO > 0.002, 'and not much more');
      const budgeted = await gateway.tokenKey({ budget: 600 });
      const ofBudget = await arrivedUpstream(name, await say(budgeted, name, '[[echo]]'));
      const tokens = Number(ofBudget[SENT_AS[name]]);
      assert.ok(tokens >= 256 && tokens < 600, `${tokens}`);
      await auditClean(gateway);
    });

    test(`[R14] [R15] ${name}: what carries less than 256 tokens of output is a 402, and so is a limit that the client insists on`, async () => {
      const key = await gateway.creditKey({ credit: credits(256 * OUTPUT_NANOS) });
      const error = await refusal(say(key, name, 'Hi'), name, 402, 'insufficient_credit');
      assert.equal(error.headers.get('x-should-retry'), 'false');
      assert.equal(error.type, name === 'messages' ? 'billing_error' : 'quota_error');
      const richer = await gateway.creditKey({ credit: '0.002' });
      await refusal(say(richer, name, 'Hi', { [FIELD[name]]: 1_000 }), name, 402, 'insufficient_credit');
      assert.equal((await say(richer, name, 'Hi', { [FIELD[name]]: 300 })).status, 200);
      await auditClean(gateway);
    });
  }

  test('[R14] the floor is the published limit where that is less than 256', async () => {
    const open = { model: 'gated/few' };
    const need = await heldBy(await gateway.creditKey(), open);
    assert.ok(need < 256 * OUTPUT_NANOS);
    const one = await running(await gateway.creditKey({ credit: credits(need) }), open);
    assert.equal(one.gated.body.max_tokens, 100);
    await letThrough(one);
    const short = await gateway.creditKey({ credit: credits(need - 1) });
    await refusal(say(short, 'chat', 'go', open), 'chat', 402, 'insufficient_credit');
    await auditClean(gateway);
  });

  test('[R14] [R40] the limit is sent in the field that the target knows, and in no other', async () => {
    const key = await gateway.creditKey();
    const sent = await arrivedUpstream('chat', await say(key, 'chat', '[[echo]]', { max_completion_tokens: 77 }));
    assert.equal(sent.max_completion_tokens, 77);
    const old = await arrivedUpstream('chat', await say(key, 'chat', '[[echo]]', { max_tokens: 78 }));
    assert.equal(old.max_completion_tokens, 78);
    assert.equal('max_tokens' in old, false);
  });

  test('[R14] a shortage that only holds of other requests cause is a 429, never a smaller answer', async () => {
    const key = await gateway.creditKey({ credit: '0.01' });
    const one = await running(key);
    const open = { model: 'gated/one' };
    await refusal(say(key, 'chat', 'go', open), 'chat', 429, 'balance_temporarily_reserved');
    await letThrough(one);
    await letThrough(await running(key, open));
    await auditClean(gateway);
  });

  test('the output limit holds: over the published one is a 400 in Format A, capped in Format B', async () => {
    const key = await gateway.creditKey();
    for (const name of ['chat', 'responses'] as const) {
      const error = await refusal(say(key, name, 'Hi', { [FIELD[name]]: 64_001 }), name, 400, 'invalid_request');
      assert.equal(error.param, FIELD[name]);
      assert.match(error.message, /64000/);
    }
    const capped = await arrivedUpstream('messages', await say(key, 'messages', '[[echo]]', { max_tokens: 999_999 }));
    assert.equal(capped.max_tokens, 64_000);
  });
});

describe('balance codes', () => {
  test('[R15] a credit key: one nano short is a 402, the exact need runs', async () => {
    const need = await heldBy(await gateway.creditKey());
    const exact = await gateway.creditKey({ credit: credits(need) });
    await letThrough(await running(exact));
    const short = await gateway.creditKey({ credit: credits(need - 1) });
    const untouched = await account(gateway, short);
    const error = await refusal(say(short, 'chat', 'go', GATED), 'chat', 402, 'insufficient_credit');
    assert.ok(error.message.includes(String(Number(credits(need - 1)))), 'the message tells the balance');
    assert.deepEqual(await account(gateway, short), untouched);
    await gateway.admin.addCredit(short.id, { amount: '0.000000001' });
    await letThrough(await running(short));
    await auditClean(gateway);
  });

  test('[R15] balance below the need is a 402 even while another request holds the rest', async () => {
    const need = await heldBy(await gateway.creditKey());
    const key = await gateway.creditKey({ credit: credits(need + 1) });
    const one = await running(key);
    const larger = { ...GATED, max_tokens: 2000 };
    await refusal(say(key, 'chat', 'go', larger), 'chat', 402, 'insufficient_credit');
    await refusal(say(key, 'chat', 'go', GATED), 'chat', 429, 'balance_temporarily_reserved');
    await letThrough(one);
    await auditClean(gateway);
  });

  test('[R16] a token-budget key: one token short is a 402, the exact need runs', async () => {
    const need = await heldBy(await gateway.tokenKey());
    await letThrough(await running(await gateway.tokenKey({ budget: need })));
    const short = await gateway.tokenKey({ budget: need - 1 });
    const error = await refusal(say(short, 'chat', 'go', GATED), 'chat', 402, 'insufficient_credit');
    assert.ok(error.message.includes(String(need - 1)));
    await auditClean(gateway);
  });

  test('[R16] a budget that is used up, or too small for a start, is 429 limit_reached and not to be retried', async () => {
    for (const [budget, words] of [
      [0, /^The token budget of this period is used up: quota/],
      [255, /^The 255 tokens left of the budget of this period are too few for this request: quota/],
    ] as const) {
      const key = await gateway.tokenKey({ budget });
      for (const name of GENERATIONS) {
        const error = await refusal(say(key, name, 'Hi'), name, 429, 'limit_reached');
        assert.equal(error.type, name === 'messages' ? 'billing_error' : 'quota_error');
        assert.match(error.message, words);
        assert.equal(error.headers.get('x-should-retry'), 'false');
      }
    }
    const used = await gateway.tokenKey({ budget: 1_200 });
    const one = await running(used);
    one.gated.answer(50, 1000);
    await one.response;
    assert.ok((await usage(used)).tokens.used > 1_000);
    await refusal(say(used, 'chat', 'go', GATED), 'chat', 429, 'limit_reached');
    await auditClean(gateway);
  });

  test('[R16] what is left under 256 still serves a request that it carries', async () => {
    const key = await gateway.tokenKey({ budget: 255 });
    assert.equal((await say(key, 'chat', 'Hi', { max_tokens: 20 })).status, 200);
    await auditClean(gateway);
  });

  test('[R17] Retry-After of limit_reached is the time to the next period in UTC, a day where there is none', async () => {
    for (const period of ['day', 'week', 'month', 'none'] as const) {
      const key = await gateway.tokenKey({ budget: 0, period });
      const fromMs = Date.now();
      const error = await refusal(say(key, 'chat', 'Hi'), 'chat', 429, 'limit_reached');
      const toMs = Date.now();
      const seconds = Number(error.headers.get('retry-after'));
      const left = (atMs: number): number => {
        const endMs = periodEndMs(period, atMs);
        return endMs === null ? 86_400 : Math.ceil((endMs - atMs) / 1_000);
      };
      // The gateway's clock is anchored at its start; a second of difference to this one is no fault of it.
      assert.ok(seconds >= left(toMs) - 1 && seconds <= left(fromMs) + 1, `${period}: ${seconds}`);
      const renewed =
        period === 'none' ? /only the operator will reset it\.$/ : /It will reset within \d+ (days|hours?)\.$/;
      assert.match(error.message, /^The token budget of this period is used up: quota exceeded\. /);
      assert.match(error.message, renewed);
    }
  });

  test('[R17] a month is the default period', async () => {
    const key = await gateway.tokenKey();
    assert.ok(key.mode === 'token_budget' && key.period === 'month');
  });

  test('[R19] a null budget is unlimited: null figures, no header, any amount runs', async () => {
    const key = await gateway.tokenKey({ budget: null });
    for (const name of GENERATIONS) assert.equal((await say(key, name, 'Hi')).status, 200);
    const response = await fetch(`${key.base_url}/usage`, { headers: { authorization: `Bearer ${key.key}` } });
    assert.equal(response.headers.get('x-ratelimit-remaining-tokens'), null);
    assert.equal(response.headers.get('x-service-credit-remaining'), null);
    const { tokens } = (await response.json()) as { tokens: Record<string, unknown> };
    assert.deepEqual([tokens.budget, tokens.remaining, tokens.reserved], [null, null, 0]);
    assert.ok(Number(tokens.used) > 0);
    await auditClean(gateway);
  });
});
