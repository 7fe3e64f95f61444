import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Pricing } from '../../../src/core/money.ts';
import { totalTokens } from '../../../src/core/usage.ts';
import { chargeFor } from '../../../src/exchange/meter.ts';
import type { Plan } from '../../../src/exchange/plan.ts';
import { holdFor, priceOf } from '../../../src/exchange/price.ts';
import type { Meter } from '../../../src/wire/lane.ts';

const rate = fc.bigInt({ min: 0n, max: 10n ** 9n });
const fraction = fc.record({
  numerator: fc.bigInt({ min: 1n, max: 1_000n }),
  denominator: fc.bigInt({ min: 1n, max: 1_000n }),
});
const pricing: fc.Arbitrary<Pricing> = fc
  .record({
    per: fc.bigInt({ min: 1n, max: 10n ** 6n }),
    rates: fc.record({
      input: rate,
      output: rate,
      cacheRead: rate,
      cacheWrite: rate,
      cacheWrite1h: rate,
      inputAudio: rate,
      outputAudio: rate,
    }),
    fast: fraction,
    priority: fraction,
    search: fraction,
    maxCalls: fc.integer({ min: 1, max: 20 }),
  })
  .map(({ per, rates, fast, priority, search, maxCalls }) => ({
    per,
    tiers: [{ fromInputTokens: 0, rates }],
    modifiers: {
      p: {
        multipliers: { speed: { fast }, service_tier: { priority } },
        hostedTools: { web_search_20250305: { nanosPerCall: search, maxCalls } },
      },
    },
  }));
const count = fc.integer({ min: 0, max: 5_000 });
const tokens = fc.record({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  cacheWrite1h: count,
  output: count,
  reasoning: fc.constant(0),
});
const asked = fc.record(
  { speed: fc.constantFrom('fast', 'standard'), service_tier: fc.constantFrom('priority', 'auto') },
  { requiredKeys: [] },
);
const parts = fc.record({
  inputAudio: count,
  inputImage: count,
  outputAudio: count,
  outputImage: count,
});

/** As far as a charge looks at it. */
function planOf(price: Pricing, fields: object, highInput: number): Plan {
  const request = {
    body: { modalities: ['audio'] },
    costFields: { multipliers: fields, betas: [] },
    info: { hostedTools: [{ type: 'web_search_20250305', param: 'tools[0]' }], needs: {}, choices: 1 },
  };
  const plan = {
    model: { pricing: price, providerPricing: price },
    targets: [{ provider: 'p' }],
    input: { high: highInput, likely: highInput },
    request,
  } as unknown as Plan;
  return { ...plan, ...priceOf(plan.request, plan.model, plan.targets) };
}

describe('a charge', () => {
  test('[R13] is never above the hold, whatever is reported', () => {
    const reported = fc.record({
      speed: fc.string({ maxLength: 8 }),
      service_tier: fc.constantFrom('priority', 'scale', 'default'),
    });
    fc.assert(
      fc.property(
        pricing,
        tokens,
        asked,
        reported,
        count,
        parts,
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        (...given) => {
          const [price, counts, fields, made, calls, of, held] = given;
          const meter = {
            reported: counts,
            reportedFinal: true,
            outputBytes: 0,
            terms: { fields: made, calls: { web_search: calls, other: calls }, parts: of },
          };
          for (const mode of ['credit', 'token_budget'] as const) {
            const charge = chargeFor(mode, planOf(price, fields, 0), held, meter, null, true, 'p');
            assert.ok(charge.amount <= held);
            if (mode === 'token_budget') assert.equal(charge.owed, BigInt(totalTokens(counts)));
          }
        },
      ),
    );
  });

  test('[R13] is within the hold for all that was asked for, up to the bound of its tools', () => {
    fc.assert(
      fc.property(pricing, tokens, asked, parts, fc.boolean(), (price, counts, fields, of, served) => {
        const input = totalTokens(counts) - counts.output;
        const plan = planOf(price, fields, input);
        const calls = price.modifiers?.p?.hostedTools.web_search_20250305?.maxCalls ?? 0;
        const meter = {
          reported: counts,
          reportedFinal: true,
          outputBytes: 0,
          terms: { fields: served ? fields : { service_tier: 'default' }, calls: { web_search: calls }, parts: of },
        };
        const charge = chargeFor('credit', plan, holdFor('credit', plan, counts.output), meter, null, true, 'p');
        assert.equal(charge.amount, charge.owed);
        assert.equal(charge.flag, null);
      }),
    );
  });

  test('without anything to multiply or to add it is the plain price; what exceeds the hold is flagged', () => {
    const price: Pricing = {
      per: 1n,
      tiers: [
        { fromInputTokens: 0, rates: { input: 1n, output: 4n, cacheRead: 1n, cacheWrite: 1n, cacheWrite1h: 1n } },
      ],
    };
    const counts = { input: 10, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 5, reasoning: 0 };
    const meter = { reported: counts, reportedFinal: true, outputBytes: 0 };
    const charge = chargeFor('credit', planOf(price, {}, 10), 1_000n, meter, null, true, 'p');
    assert.equal(charge.owed, 30n);
    assert.equal(charge.flag, null);
    const beyond = chargeFor('credit', planOf(price, {}, 10), 20n, meter, null, true, 'p');
    assert.equal(beyond.amount, 20n);
    assert.match(beyond.flag ?? '', /more than the .* held/, 'what is missing is flagged');
  });

  test('[R49] input that may have been cached and that nobody reported is charged in full, and says so', () => {
    const rates = { input: 10n, output: 40n, cacheRead: 1n, cacheWrite: 10n, cacheWrite1h: 10n };
    const price: Pricing = { per: 1n, tiers: [{ fromInputTokens: 0, rates }] };
    const flagOf = (likely: number, meter: Meter, of = price): string | null =>
      chargeFor('credit', planOf(of, {}, likely), 10n ** 9n, meter, 5, false, 'p').flag;
    const cut = { reported: null, reportedFinal: false, outputBytes: 20 };
    assert.match(flagOf(5_000, cut) ?? '', /full price: nobody reported how much of it was cached/);
    // Too short to be cached; nothing that a cache would make cheaper; and reported at the start, as messages streams do.
    assert.equal(flagOf(1_000, cut), null);
    const dear: Pricing = { per: 1n, tiers: [{ fromInputTokens: 0, rates: { ...rates, cacheRead: 10n } }] };
    assert.equal(flagOf(5_000, cut, dear), null);
    const counts = { input: 100, cacheRead: 4_900, cacheWrite: 0, cacheWrite1h: 0, output: 1, reasoning: 0 };
    assert.equal(flagOf(5_000, { ...cut, reported: counts }), null);
  });

  test('[R86] a report without input is not believed, also at the start of a stream that is then cut', () => {
    const price: Pricing = {
      per: 1n,
      tiers: [
        { fromInputTokens: 0, rates: { input: 1n, output: 4n, cacheRead: 1n, cacheWrite: 1n, cacheWrite1h: 1n } },
      ],
    };
    const counts = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1, reasoning: 0 };
    const meter = { reported: counts, reportedFinal: false, outputBytes: 40 };
    const { usage } = chargeFor('credit', planOf(price, {}, 100), 1_000n, meter, null, false, 'p');
    assert.deepEqual([usage.source, usage.tokens.input, usage.tokens.output], ['counted', 100, 10]);
  });
});
