/** A stream that is far from the end of its hold is not looked at for a while; nothing is decided otherwise by that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { OutputCount } from '../../../src/counting/output-count.ts';
import type { Admission, HoldSize } from '../../../src/exchange/admission.ts';
import { ELASTIC_SLICE_TOKENS, ElasticHold } from '../../../src/exchange/elastic-hold.ts';
import type { Plan } from '../../../src/exchange/plan.ts';

const OUTPUT_LIMIT = 100_000;
const INPUT_TOKENS = 100;

/** What a hold in tokens depends on, and nothing else of a plan. */
const PLAN = {
  outputLimit: OUTPUT_LIMIT,
  input: { likely: INPUT_TOKENS, high: INPUT_TOKENS },
  targets: [],
  runs: 1,
  request: { info: { choices: 1 } },
} as unknown as Plan;

interface Watched {
  readonly hold: ElasticHold;
  /** What it was extended to, and at which output. */
  readonly extensions: string[];
}

function watched(speed: () => number | null, at: () => number, slices = 2): Watched {
  const extensions: string[] = [];
  let held = BigInt(INPUT_TOKENS + slices * ELASTIC_SLICE_TOKENS);
  const admission: Pick<Admission, 'held' | 'heldTokens' | 'extend'> = {
    get held() {
      return held;
    },
    heldTokens: null,
    extend: async ({ amount }: HoldSize) => {
      extensions.push(`${at()}: ${amount}`);
      held = amount;
      return 'extended';
    },
  };
  const hold = new ElasticHold({
    admission: admission as Admission,
    mode: 'token_budget',
    plan: PLAN,
    carriedTokens: slices * ELASTIC_SLICE_TOKENS,
    waitMs: 0,
    output: new OutputCount({ count: () => assert.fail('nothing is counted') }, 'key', []),
    speed,
  });
  return { hold, extensions };
}

test('what is asked for, and when, is the same as if every chunk were looked at', async (t) => {
  t.mock.method(performance, 'now', () => 0);
  let outputBytes = 0;
  const every = watched(
    () => null,
    () => outputBytes,
  );
  const some = watched(
    () => null,
    () => outputBytes,
  );
  let looks = 0;
  for (let chunk = 0; chunk < 4_000; chunk++) {
    // Sizes that repeat only after long: a few words mostly, and now and then more than a slice.
    outputBytes += chunk % 97 === 96 ? 3_000 : (chunk * 7) % 61;
    every.hold.reach(outputBytes, false);
    if (!some.hold.passes(outputBytes)) {
      looks += 1;
      some.hold.reach(outputBytes, false);
    }
    await turn();
    assert.deepEqual(some.extensions, every.extensions);
    assert.equal(some.hold.carriedTokens, every.hold.carriedTokens);
  }
  assert.equal(every.hold.carriedTokens, OUTPUT_LIMIT);
  assert.ok(looks < 2_000, `it was looked at ${looks} times`);
});

test('a hold is looked at again after a while, and where output may be hidden never too late to ask for more', (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  let speed = 10;
  const { hold, extensions } = watched(
    () => speed,
    () => nowMs,
  );
  assert.equal(hold.passes(1), false, 'it has not been looked at');
  hold.reach(1, false);
  assert.equal(hold.passes(2), true);
  // Other streams have shown that the model can be faster.
  speed = 2_000;
  nowMs = 1_000;
  assert.equal(hold.passes(3), false);
  hold.reach(3, false);
  assert.equal(extensions.length, 1);
  assert.equal(hold.passes(4), false);
});

test('a stream of a model whose answers have all been short is not looked at for every chunk', (t) => {
  t.mock.method(performance, 'now', () => 0);
  const { hold } = watched(
    () => 0,
    () => 0,
    1,
  );
  hold.reach(1, false);
  assert.equal(hold.passes(2), true);
  assert.equal(hold.passes(hold.coveredBytes + 1), false);
});

test('[F47] a frame that is not covered is never passed over', (t) => {
  t.mock.method(performance, 'now', () => 0);
  const { hold } = watched(
    () => null,
    () => 0,
  );
  hold.reach(1, false);
  assert.equal(hold.passes(2), true);
  assert.equal(hold.passes(hold.coveredBytes + 1), false);
});
