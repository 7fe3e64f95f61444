import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  affordableOutputTokens,
  costNanos,
  type Fraction,
  PLAIN_TERMS,
  type Pricing,
  worstCostNanos,
} from '../../../src/core/money.ts';
import { chargeTerms, hasDearerTier, holdTerms, hostedToolOf, multiplierOf } from '../../../src/core/price-terms.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import { arbitraryRates } from './arbitrary-rates.ts';

const rates = arbitraryRates(10n ** 9n);
const fraction: fc.Arbitrary<Fraction> = fc.record({
  numerator: fc.bigInt({ min: 1n, max: 10_000n }),
  denominator: fc.bigInt({ min: 1n, max: 10_000n }),
});
const modifiers = fc.record({
  multipliers: fc.record({
    speed: fc.record({ fast: fraction }),
    service_tier: fc.record({ priority: fraction, flex: fraction }),
    inference_geo: fc.record({ us: fraction }),
  }),
  hostedTools: fc.record({
    web_search: fc.record({ nanosPerCall: fraction, maxCalls: fc.integer({ min: 1, max: 50 }) }),
    code_execution: fc.record({ nanosPerCall: fraction, maxCalls: fc.integer({ min: 1, max: 50 }) }),
  }),
});
const pricing: fc.Arbitrary<Pricing> = fc
  .record({ per: fc.bigInt({ min: 1n, max: 10n ** 6n }), first: rates, long: rates, a: modifiers, b: modifiers })
  .map(({ per, first, long, a, b }) => ({
    per,
    tiers: [
      { fromInputTokens: 0, rates: first },
      { fromInputTokens: 1_000, rates: long },
    ],
    modifiers: { a, b },
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
const parts = fc.record({ inputAudio: count, inputImage: count, outputAudio: count, outputImage: count });
const fields = fc.record(
  {
    speed: fc.constantFrom('fast', 'standard'),
    service_tier: fc.constantFrom('priority', 'flex', 'auto', 'default'),
    inference_geo: fc.constantFrom('us', 'global'),
  },
  { requiredKeys: [] },
);
const tools = fc.uniqueArray(fc.constantFrom('web_search', 'web_search_20250305', 'code_execution'));

function inputOf(counts: { input: number; cacheRead: number; cacheWrite: number; cacheWrite1h: number }): number {
  return counts.input + counts.cacheRead + counts.cacheWrite + counts.cacheWrite1h;
}

describe('price terms', () => {
  test('[R56] a charge is tokens × every multiplier + calls × fee, exact, rounded up once', () => {
    fc.assert(
      fc.property(pricing, tokens, parts, fields, count, (price, counts, of, asked, calls) => {
        const tier = inputOf(counts) >= 1_000 ? price.tiers[1]?.rates : price.tiers[0].rates;
        assert.ok(tier);
        const audio = Math.min(of.inputAudio, counts.input);
        const image = Math.min(of.inputImage, counts.input - audio);
        const spoken = Math.min(of.outputAudio, counts.output);
        const drawn = Math.min(of.outputImage, counts.output - spoken);
        const sum =
          BigInt(counts.input - audio - image) * tier.input +
          BigInt(audio) * (tier.inputAudio ?? tier.input) +
          BigInt(image) * (tier.inputImage ?? tier.input) +
          BigInt(counts.cacheRead) * tier.cacheRead +
          BigInt(counts.cacheWrite) * tier.cacheWrite +
          BigInt(counts.cacheWrite1h) * tier.cacheWrite1h +
          BigInt(counts.output - spoken - drawn) * tier.output +
          BigInt(spoken) * (tier.outputAudio ?? tier.output) +
          BigInt(drawn) * (tier.outputImage ?? tier.output);
        let numerator = sum;
        let denominator = price.per;
        for (const [field, value] of Object.entries(asked)) {
          const factor = multiplierOf(price, 'a', field as keyof typeof asked, value);
          assert.ok(factor);
          numerator *= factor.numerator;
          denominator *= factor.denominator;
        }
        const fee = price.modifiers?.a?.hostedTools.web_search?.nanosPerCall;
        assert.ok(fee);
        numerator = numerator * fee.denominator + BigInt(calls) * fee.numerator * denominator;
        denominator *= fee.denominator;
        const terms = chargeTerms(price, 'a', { fields: asked, calls: { web_search: calls }, parts: of });
        const cost = costNanos(price, counts, terms);
        assert.deepEqual(terms.unpriced, []);
        assert.ok(cost * denominator >= numerator && (cost - 1n) * denominator < numerator);
      }),
    );
  });

  test('[R13] no answer costs more than its hold, whatever target, tier, tool, part and multiplier it has', () => {
    fc.assert(
      fc.property(
        pricing,
        tokens,
        parts,
        fields,
        tools,
        fc.constantFrom('a', 'b'),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (price, counts, of, asked, hostedTools, answers, share) => {
          const hold = holdTerms(price, ['a', 'b', 'a'], { fields: asked, hostedTools, audio: true, images: true });
          const worst = worstCostNanos(price, inputOf(counts), counts.output, hold);
          const types = new Set(hostedTools.map((type) => type.replace(/_\d{8}$/, '')));
          const calls = Object.fromEntries(
            [...types].map((type) => [type, Math.floor((hostedToolOf(price, answers, type)?.maxCalls ?? 0) * share)]),
          );
          const reports = [asked, { ...asked, service_tier: 'default', speed: 'standard' }];
          for (const reported of reports) {
            const terms = chargeTerms(price, answers, { fields: reported, calls, parts: of });
            assert.ok(costNanos(price, counts, terms) <= worst);
          }
        },
      ),
    );
  });

  test('[R14] the affordable output is exactly the largest whose worst cost stays within the amount', () => {
    fc.assert(
      fc.property(
        pricing,
        count,
        fields,
        tools,
        fc.bigInt({ min: 0n, max: 10n ** 14n }),
        (price, input, asked, hostedTools, amount) => {
          const terms = holdTerms(price, ['a'], { fields: asked, hostedTools });
          const most = affordableOutputTokens(price, input, amount, terms);
          if (most > 0) assert.ok(worstCostNanos(price, input, most, terms) <= amount);
          if (most < Number.MAX_SAFE_INTEGER) assert.ok(worstCostNanos(price, input, most + 1, terms) > amount);
        },
      ),
    );
  });

  const example: Pricing = {
    per: 1n,
    tiers: [{ fromInputTokens: 0, rates: { input: 1n, output: 4n, cacheRead: 1n, cacheWrite: 1n, cacheWrite1h: 1n } }],
    modifiers: {
      p: {
        multipliers: { speed: { fast: { numerator: 2n, denominator: 1n } } },
        hostedTools: { web_search: { nanosPerCall: { numerator: 10n, denominator: 1n }, maxCalls: 5 } },
      },
    },
  };

  test('[R60] a value or tool without a price has none; one that is never dearer needs none', () => {
    assert.deepEqual(multiplierOf(example, 'p', 'speed', 'fast'), { numerator: 2n, denominator: 1n });
    assert.equal(multiplierOf(example, 'p', 'speed', 'ludicrous'), null);
    assert.equal(multiplierOf(example, 'other', 'speed', 'fast'), null);
    assert.equal(multiplierOf(example, 'p', 'service_tier', 'priority'), null);
    assert.equal(multiplierOf(example, 'p', 'speed', '__proto__'), null);
    for (const value of ['auto', 'default', 'standard_only']) {
      assert.deepEqual(multiplierOf(example, 'p', 'service_tier', value), PLAIN_TERMS.factor);
    }
    assert.equal(multiplierOf(example, 'p', 'speed', 'standard'), PLAIN_TERMS.factor);
    assert.equal(hostedToolOf(example, 'p', 'web_search')?.maxCalls, 5);
    assert.equal(hostedToolOf(example, 'p', 'web_search_20250305')?.maxCalls, 5);
    assert.equal(hostedToolOf(example, 'p', 'web_search_preview_2025_03_11')?.maxCalls, 5);
    assert.equal(hostedToolOf(example, 'p', 'code_interpreter'), null);
    assert.equal(hostedToolOf(example, '__proto__', 'web_search'), null);
  });

  test('[R60] a reported value without a price is charged as what was asked for, and never below the plain price', () => {
    const tiers: Pricing = {
      ...example,
      modifiers: {
        p: {
          multipliers: {
            service_tier: {
              priority: { numerator: 2n, denominator: 1n },
              flex: { numerator: 1n, denominator: 2n },
            },
          },
          hostedTools: {},
        },
      },
    };
    for (const [asked, factor] of [
      ['priority', 2n],
      ['flex', 1n],
      ['auto', 1n],
      ['scale', 1n],
      [undefined, 1n],
    ] as const) {
      const fields = asked === undefined ? {} : { service_tier: asked };
      const report = { fields: { service_tier: 'ultrafast' }, calls: {} };
      const terms = chargeTerms(tiers, 'p', report, { fields, hostedTools: [] });
      assert.deepEqual(terms.unpriced, ['service_tier ultrafast']);
      assert.equal(costNanos(tiers, { ...NO_TOKENS, input: 10, output: 10 }, terms), factor * 50n, String(asked));
    }
    assert.equal(hasDearerTier(tiers, 'p'), true);
    assert.equal(hasDearerTier(tiers, 'other'), false);
    assert.equal(hasDearerTier(example, 'p'), false);
  });

  test('what is reported without a price is named and charged as plain', () => {
    const terms = chargeTerms(example, 'p', {
      fields: { speed: 'fast', service_tier: 'priority' },
      calls: { web_search: 3, code_interpreter: 1, file_search: 0 },
    });
    assert.deepEqual(terms.unpriced, ['service_tier priority', '1 calls of code_interpreter']);
    assert.equal(costNanos(example, { ...NO_TOKENS, input: 10, output: 10 }, terms), 2n * 50n + 30n);
  });

  test('a discount that was asked for is held at the plain price, because the provider may not give it', () => {
    const flex: Pricing = {
      ...example,
      modifiers: {
        p: { multipliers: { service_tier: { flex: { numerator: 1n, denominator: 2n } } }, hostedTools: {} },
      },
    };
    const hold = holdTerms(flex, ['p'], { fields: { service_tier: 'flex' }, hostedTools: [] });
    assert.equal(worstCostNanos(flex, 10, 10, hold), 50n);
    const charged = chargeTerms(flex, 'p', { fields: { service_tier: 'flex' }, calls: {} });
    assert.equal(costNanos(flex, { ...NO_TOKENS, input: 10, output: 10 }, charged), 25n);
  });

  test('two tools of one type share its calls', () => {
    const hold = holdTerms(example, ['p'], { fields: {}, hostedTools: ['web_search', 'web_search_20250305'] });
    assert.equal(worstCostNanos(example, 0, 0, hold), 50n);
  });
});
