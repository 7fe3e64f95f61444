import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { knownModel } from '../../../src/config/price-book.ts';
import { pricingFromUsd, publishedUsd, type UsdPricing } from '../../../src/config/pricing.ts';
import { costNanos } from '../../../src/core/money.ts';
import { NO_TOKENS, type TokenCounts } from '../../../src/core/usage.ts';
import { decimalNumber, rationalFromDecimal } from '../../../src/lib/rational.ts';

/** A decimal with its digits known apart from any double: units / 10^places. */
const decimal = fc
  .record({ units: fc.integer({ min: 0, max: 999_999_999 }), places: fc.integer({ min: 0, max: 12 }) })
  .map(({ units, places }) => ({
    value: Number(`${units}e-${places}`),
    units: BigInt(units),
    scale: 10n ** BigInt(places),
  }));
const positiveDecimal = decimal.filter(({ units }) => units > 0n);
const count = fc.integer({ min: 0, max: 10_000_000 });

describe('exact decimals', () => {
  test('a decimal becomes the fraction that was written, not the double', () => {
    fc.assert(
      fc.property(decimal, ({ value, units, scale }) => {
        const { numerator, denominator } = rationalFromDecimal(value);
        assert.equal(numerator * scale, units * denominator);
        assert.equal(decimalNumber({ numerator, denominator }), value);
      }),
    );
  });

  test('[R56] a cost is the exact rational sum, rounded up once, for any price, mark-up and credit', () => {
    fc.assert(
      fc.property(
        fc.record({ input: decimal, output: decimal, read: decimal, write: decimal, write1h: decimal }),
        positiveDecimal,
        positiveDecimal,
        fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count, cacheWrite1h: count }),
        (prices, markup, usdPerCredit, counts) => {
          const pricing = pricingFromUsd(
            {
              input: prices.input.value,
              output: prices.output.value,
              cache_read: prices.read.value,
              cache_write: prices.write.value,
              cache_write_1h: prices.write1h.value,
            },
            usdPerCredit.value,
            markup.value,
          );
          const parts = [
            [prices.input, counts.input],
            [prices.output, counts.output],
            [prices.read, counts.cacheRead],
            [prices.write, counts.cacheWrite],
            [prices.write1h, counts.cacheWrite1h],
          ] as const;
          let numerator = 0n;
          let denominator = 1n;
          for (const [price, tokens] of parts) {
            const partNumerator = price.units * BigInt(tokens) * 1000n * markup.units * usdPerCredit.scale;
            const partDenominator = price.scale * markup.scale * usdPerCredit.units;
            numerator = numerator * partDenominator + partNumerator * denominator;
            denominator *= partDenominator;
          }
          const expected = numerator / denominator + (numerator % denominator === 0n ? 0n : 1n);
          assert.equal(costNanos(pricing, { ...NO_TOKENS, ...counts }), expected);
        },
      ),
    );
  });

  test('a third of a cent stays a third: nothing is rounded before the end', () => {
    const pricing = pricingFromUsd({ input: 0.1, output: 0 }, 0.3);
    assert.equal(costNanos(pricing, { ...NO_TOKENS, input: 3 }), 1000n);
    assert.equal(costNanos(pricing, { ...NO_TOKENS, input: 1 }), 334n);
  });
});

describe('price classes', () => {
  const cost = (usd: UsdPricing, tokens: Partial<TokenCounts>) =>
    costNanos(pricingFromUsd(usd, 1), { ...NO_TOKENS, ...tokens });

  test('a cache class without a price costs what input costs, the hour what the write costs', () => {
    const usd = { input: 2, output: 8, cache_write: 3 };
    assert.equal(cost(usd, { cacheRead: 1 }), 2000n);
    assert.equal(cost(usd, { cacheWrite1h: 1 }), 3000n);
    assert.equal(cost({ input: 2, output: 8 }, { cacheWrite1h: 1 }), 2000n);
  });

  test('a tier counts from its first token on and leaves what it does not name', () => {
    const usd = { input: 1, output: 4, cache_read: 0.5, tiers: [{ from_input_tokens: 100, input: 2 }] };
    assert.equal(cost(usd, { input: 99, output: 1 }), 99_000n + 4000n);
    assert.equal(cost(usd, { input: 100, output: 1 }), 200_000n + 4000n);
    assert.equal(cost(usd, { input: 50, cacheRead: 50 }), 100_000n + 25_000n);
  });

  test('[R57] the published price is what the caller is charged: the mark-up included, to the decimal', () => {
    const usd = { input: 0.15, output: 0.6, cache_read: 0.075, tiers: [{ from_input_tokens: 200_001, input: 0.3 }] };
    assert.deepEqual(publishedUsd(usd, 1.1), {
      input: 0.165,
      output: 0.66,
      cache_read: 0.0825,
      input_from_200001: 0.33,
    });
  });
});

describe('published prices', () => {
  const at = new Date('2026-09-01T12:00:00Z');
  const models = [
    ['openai', 'gpt-5'],
    ['openai', 'gpt-5.4'],
    ['openai', 'gpt-4o-mini'],
    ['anthropic', 'claude-sonnet-4-5'],
    ['anthropic', 'claude-opus-4-5'],
    ['anthropic', 'claude-sonnet-4-6'],
    ['google', 'gemini-2.5-pro'],
    ['x-ai', 'grok-4.5'],
    ['groq', 'openai/gpt-oss-120b'],
  ] as const;

  for (const [book, model] of models) {
    test(`[R56] our charge for ${book} ${model} is what genai-prices computes, rounded up to a nano`, () => {
      const usd = knownModel(book, model, at)?.pricing;
      assert.ok(usd);
      const pricing = pricingFromUsd(usd, 1);
      const tokens = fc.record({
        input: fc.integer({ min: 0, max: 300_000 }),
        cacheRead: fc.integer({ min: 0, max: 200_000 }),
        cacheWrite: fc.integer({ min: 0, max: 100_000 }),
        cacheWrite1h: fc.integer({ min: 0, max: 100_000 }),
        output: fc.integer({ min: 0, max: 100_000 }),
      });
      fc.assert(
        fc.property(tokens, (counts) => {
          const theirs = calcPrice(
            {
              input_tokens: counts.input + counts.cacheRead + counts.cacheWrite + counts.cacheWrite1h,
              cache_read_tokens: counts.cacheRead,
              cache_write_tokens: counts.cacheWrite + counts.cacheWrite1h,
              cache_write_1h_tokens: counts.cacheWrite1h,
              output_tokens: counts.output,
            },
            model,
            { providerId: book, timestamp: at },
          );
          assert.ok(theirs);
          const ours = Number(costNanos(pricing, { ...NO_TOKENS, ...counts })) / 1e9;
          assert.ok(Math.abs(ours - theirs.total_price) <= 1.1e-9 + theirs.total_price * 1e-12);
        }),
      );
    });
  }

  test('a price that changes with the hour is charged at its dearest', () => {
    const usd = knownModel('deepseek', 'deepseek-v4-pro', at)?.pricing;
    assert.equal(usd?.input, 1.32);
    assert.equal(usd?.output, 3.96);
  });

  test('a price that begins on a day counts from that day', () => {
    assert.ok(knownModel('anthropic', 'claude-sonnet-4-6', new Date('2026-03-01'))?.pricing?.tiers);
    assert.equal(knownModel('anthropic', 'claude-sonnet-4-6', at)?.pricing?.tiers, undefined);
  });

  test('what is not priced by text tokens, or says zero or nothing, has no price', () => {
    assert.equal(knownModel('openai', 'whisper-1', at)?.pricing, null);
    assert.equal(knownModel('google', 'gemini-2.5-flash-image', at)?.pricing, null);
    assert.equal(knownModel('google', 'gemma-3-27b-it', at)?.pricing, null);
    assert.equal(knownModel('openai', 'no-such-model', at), null);
    assert.equal(knownModel('openrouter', 'openai/gpt-oss-20b:free', at)?.pricing, null);
  });
});
