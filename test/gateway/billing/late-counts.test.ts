/** What becomes of requests that only a count could judge while the counter is late, or is flooded by one key. */
import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { PROSE } from '../../../bench/counter-samples.ts';
import type { ExactCount } from '../../../src/counting/exact-count.ts';
import { ExactCounter } from '../../../src/counting/exact-counter.ts';
import { account, auditClean, GENERATIONS, refusal, say } from '../../support/requests.ts';
import { COUNTS_EXACTLY, withGateway } from '../../support/started-gateway.ts';

const TINY = { model: 'sandbox/tiny' };
const LIMIT = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const;
const TWENTY_KB = PROSE.English.repeat(24);
/** About 1,900 tokens; the window has 2,048. */
const NEARLY_A_WINDOW = PROSE.English.repeat(10);
/** Of 20 KB, enough for its count and 300 tokens of output, and too little for its bytes. */
const ENOUGH_BY_COUNT = (TWENTY_KB.length * 1e-6 * 0.6 + 300 * 4e-6).toFixed(9);

const gateway = await withGateway({ config: COUNTS_EXACTLY });

describe('a count that is late', () => {
  /** `low`: what has been counted by then. */
  const whileLate = async (low: number, work: () => Promise<unknown>): Promise<void> => {
    const late: ExactCount = { low, likely: low, high: Number.POSITIVE_INFINITY, late: true };
    const counter = mock.method(ExactCounter.prototype, 'count', async () => late);
    try {
      await work();
      assert.equal(counter.mock.callCount(), 1, 'it was asked for, once');
    } finally {
      counter.mock.restore();
    }
  };

  for (const name of GENERATIONS) {
    test(`[R63] ${name}: of a prompt that is surely too long is a 400, by its lower bound`, async () => {
      const key = await gateway.creditKey();
      const untouched = await account(gateway, key);
      await whileLate(0, () =>
        refusal(say(key, name, TWENTY_KB.repeat(3), TINY), name, 400, 'context_length_exceeded'),
      );
      await whileLate(2_100, () =>
        refusal(say(key, name, NEARLY_A_WINDOW, TINY), name, 400, 'context_length_exceeded'),
      );
      assert.deepEqual(await account(gateway, key), untouched);
    });

    test(`[R63] ${name}: of a prompt that may be too long is a 503 with Retry-After, and holds nothing`, async () => {
      const key = await gateway.creditKey();
      const untouched = await account(gateway, key);
      await whileLate(1_000, async () => {
        const error = await refusal(say(key, name, NEARLY_A_WINDOW, TINY), name, 503, 'service_unavailable');
        assert.ok(Number(error.headers.get('retry-after')) >= 1);
      });
      assert.deepEqual(await account(gateway, key), untouched);
    });

    test(`[R63] [F44] ${name}: of a prompt whose bytes the balance does not carry is a 503, never a 402`, async () => {
      const output = { [LIMIT[name]]: 300 };
      const bytes = Buffer.byteLength(TWENTY_KB);
      for (const key of [
        await gateway.creditKey({ credit: ENOUGH_BY_COUNT }),
        await gateway.tokenKey({ budget: Math.floor(bytes * 0.6) + 300 }),
      ]) {
        await whileLate(0, async () => {
          const error = await refusal(say(key, name, TWENTY_KB, output), name, 503, 'service_unavailable');
          assert.ok(Number(error.headers.get('retry-after')) >= 1);
        });
      }
      await auditClean(gateway);
    });
  }

  test('[R63] nobody waits for one where the estimate is well inside the window and the hold is affordable', async () => {
    const key = await gateway.creditKey();
    const counter = mock.method(ExactCounter.prototype, 'count', () => Promise.reject(new Error('not needed')));
    try {
      assert.equal((await say(key, 'chat', PROSE.English.repeat(4), TINY)).status, 200);
      const poor = await gateway.creditKey({ credit: '0.000001' });
      await refusal(say(poor, 'chat', TWENTY_KB, { max_tokens: 300 }), 'chat', 402, 'insufficient_credit');
    } finally {
      counter.mock.restore();
    }
    await auditClean(gateway);
  });

  test('[R13] [R63] is none where it comes in time: a little later the same request is served', async () => {
    const key = await gateway.creditKey({ credit: ENOUGH_BY_COUNT });
    await whileLate(0, () =>
      refusal(say(key, 'chat', TWENTY_KB, { max_tokens: 300 }), 'chat', 503, 'service_unavailable'),
    );
    assert.equal((await say(key, 'chat', TWENTY_KB, { max_tokens: 300 })).status, 200);
  });
});

test('[F44] one key floods the counter with giant prompts: five others are counted and served', async () => {
  const flooding = await gateway.creditKey({ rpm_limit: 1_000 });
  const giant = Array.from({ length: 60_000 }, (_, index) => `word${index}`).join(' ');
  const flood = Array.from({ length: 60 }, async () => (await say(flooding, 'chat', giant, TINY)).status);
  // By the first answer there is more of it than a queue takes.
  await Promise.race(flood);
  const others = await Promise.all(Array.from({ length: 5 }, () => gateway.creditKey({ credit: ENOUGH_BY_COUNT })));
  const answers = await Promise.all(others.map((key) => say(key, 'chat', TWENTY_KB, { max_tokens: 300 })));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  for (const status of await Promise.all(flood)) assert.ok(status === 400 || status === 503, `${status}`);
  await auditClean(gateway);
});
