import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  affordableOutputTokens,
  costNanos,
  creditsFromNanos,
  type Pricing,
  parseCredits,
  worstCostNanos,
} from '../../../src/core/money.ts';
import type { TokenCounts } from '../../../src/core/usage.ts';
import { arbitraryRates } from './arbitrary-rates.ts';

const ratesArbitrary = arbitraryRates(10n ** 12n);
const pricingArbitrary: fc.Arbitrary<Pricing> = fc
  .tuple(
    fc.bigInt({ min: 1n, max: 10n ** 9n }),
    ratesArbitrary,
    fc.array(fc.tuple(fc.integer({ min: 1, max: 500_000 }), ratesArbitrary), { maxLength: 3 }),
  )
  .map(([per, first, others]) => ({
    per,
    tiers: [
      { fromInputTokens: 0, rates: first },
      ...others
        .map(([fromInputTokens, rates]) => ({ fromInputTokens, rates }))
        .sort((a, b) => a.fromInputTokens - b.fromInputTokens),
    ],
  }));
const count = fc.integer({ min: 0, max: 1_000_000 });
const tokensArbitrary: fc.Arbitrary<TokenCounts> = fc.record({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  cacheWrite1h: count,
  output: count,
  reasoning: count,
});

function inputOf(tokens: TokenCounts): number {
  return tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.cacheWrite1h;
}

describe('money', () => {
  test('[R56] a cost is the exact rational sum over its classes, rounded up once', () => {
    fc.assert(
      fc.property(pricingArbitrary, tokensArbitrary, (pricing, tokens) => {
        const rates = pricing.tiers.findLast((tier) => tier.fromInputTokens <= inputOf(tokens))?.rates;
        assert.ok(rates);
        const classes = ['input', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'output'] as const;
        const exactTimesPer = classes.reduce((sum, name) => sum + BigInt(tokens[name]) * rates[name], 0n);
        const cost = costNanos(pricing, tokens);
        assert.ok(cost * pricing.per >= exactTimesPer);
        assert.ok((cost - 1n) * pricing.per < exactTimesPer);
      }),
    );
  });

  test('[R13] no request costs more than its worst case, whatever classes and tiers its tokens fall in', () => {
    fc.assert(
      fc.property(pricingArbitrary, tokensArbitrary, count, count, (pricing, tokens, spareInput, spareOutput) => {
        const worst = worstCostNanos(pricing, inputOf(tokens) + spareInput, tokens.output + spareOutput);
        assert.ok(costNanos(pricing, tokens) <= worst);
      }),
    );
  });

  test('[R14] the affordable output is exactly the largest whose worst cost stays within the amount', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 18n });
    fc.assert(
      fc.property(pricingArbitrary, count, amount, (pricing, input, amountNanos) => {
        const tokens = affordableOutputTokens(pricing, input, amountNanos);
        const inputAlone = worstCostNanos(pricing, input, 0);
        if (inputAlone > amountNanos) assert.equal(tokens, 0);
        else assert.ok(worstCostNanos(pricing, input, tokens) <= amountNanos);
        if (tokens < Number.MAX_SAFE_INTEGER) assert.ok(worstCostNanos(pricing, input, tokens + 1) > amountNanos);
      }),
    );
  });

  test('[R14] what a number of output tokens costs at worst affords at least that number', () => {
    fc.assert(
      fc.property(pricingArbitrary, count, count, (pricing, input, output) => {
        const worst = worstCostNanos(pricing, input, output);
        assert.ok(affordableOutputTokens(pricing, input, worst) >= output);
      }),
    );
  });

  test('[R56] credits are parsed exactly and printed at nine decimals', () => {
    assert.equal(parseCredits('5'), 5_000_000_000n);
    assert.equal(parseCredits('0.25'), 250_000_000n);
    assert.equal(parseCredits('0.000000001'), 1n);
    for (const text of ['', '-1', '1.', '.5', '1e3', '0.0000000001', ' 1', '1,5']) {
      assert.throws(() => parseCredits(text), RangeError);
    }
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (nanos) => {
        assert.equal(parseCredits(creditsFromNanos(nanos).toFixed(9)), nanos);
      }),
    );
    assert.equal(creditsFromNanos(-1_500_000_000n), -1.5);
  });
});
