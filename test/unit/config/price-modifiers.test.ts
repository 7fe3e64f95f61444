import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { knownModel } from '../../../src/config/price-book.ts';
import { pricingFromUsd } from '../../../src/config/pricing.ts';
import { withMakersClasses } from '../../../src/config/resold-pricing.ts';
import type { Model } from '../../../src/core/model.ts';
import { costNanos, type MultiplierField } from '../../../src/core/money.ts';
import { chargeTerms, hostedToolOf, multiplierOf } from '../../../src/core/price-terms.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import { configFolder } from './config-fixture.ts';

async function modelsOf(text: string): Promise<ReadonlyMap<string, Model>> {
  const folder = await configFolder();
  await folder.write(text);
  return (await folder.load({ sandboxUrl: null })).catalog.models;
}

function factor(model: Model | undefined, field: MultiplierField, value: string): number | null {
  assert.ok(model);
  const found = multiplierOf(model.pricing, model.provider, field, value);
  return found === null ? null : Number(found.numerator) / Number(found.denominator);
}

describe('multipliers', () => {
  test('[R60] published ones count by themselves, by model', async () => {
    const models = await modelsOf(
      `
providers: { anthropic: {}, openai: {}, groq: {} }
models:
  - { id: claude-opus-4-6, provider: anthropic }
  - { id: claude-opus-4-8, provider: anthropic }
  - { id: claude-sonnet-4-5, provider: anthropic }
  - { id: gpt-5, provider: openai }
  - { id: gpt-5.5, provider: openai }
  - { id: gpt-5.6-sol, provider: openai, pricing: { input: 5, output: 30 } }
  - { id: gpt-6-astra, provider: openai }
  - { id: gpt-6-sol, provider: openai }
  - { id: gpt-6.1-sol, provider: openai, pricing: { input: 2, output: 10 } }
  - { id: gpt-6.2-nova, provider: openai, pricing: { input: 2, output: 10 } }
  - { id: gpt-4o, provider: openai }
  - { id: openai/gpt-oss-120b, provider: groq }`,
    );
    assert.equal(factor(models.get('claude-opus-4-6'), 'speed', 'fast'), 6);
    assert.equal(factor(models.get('claude-opus-4-8'), 'speed', 'fast'), 2);
    assert.equal(factor(models.get('claude-sonnet-4-5'), 'speed', 'fast'), null);
    assert.equal(factor(models.get('claude-sonnet-4-5'), 'inference_geo', 'us'), 1.1);
    assert.equal(factor(models.get('gpt-5'), 'service_tier', 'priority'), 2);
    assert.equal(factor(models.get('gpt-5'), 'service_tier', 'flex'), 0.5);
    assert.equal(factor(models.get('gpt-5.5'), 'service_tier', 'priority'), 2.5);
    assert.equal(factor(models.get('gpt-5.5'), 'service_tier', 'fast'), 2.5);
    assert.equal(factor(models.get('gpt-5.6-sol'), 'service_tier', 'fast'), 2);
    assert.equal(factor(models.get('gpt-5.6-sol'), 'service_tier', 'ultrafast'), null);
    assert.equal(factor(models.get('gpt-6-astra'), 'service_tier', 'ultrafast'), 6);
    for (const id of ['gpt-6-astra', 'gpt-6-sol', 'gpt-6.1-sol']) {
      assert.equal(factor(models.get(id), 'service_tier', 'fast'), 2);
      assert.equal(factor(models.get(id), 'service_tier', 'priority'), 2);
      assert.equal(factor(models.get(id), 'service_tier', 'flex'), 0.5);
    }
    for (const tier of ['fast', 'priority', 'flex', 'ultrafast']) {
      assert.equal(factor(models.get('gpt-6.2-nova'), 'service_tier', tier), null);
    }
    assert.equal(factor(models.get('gpt-6-sol'), 'service_tier', 'ultrafast'), null);
    assert.equal(factor(models.get('gpt-4o'), 'service_tier', 'priority'), null);
    assert.equal(factor(models.get('openai/gpt-oss-120b'), 'service_tier', 'flex'), 1);
    assert.equal(factor(models.get('gpt-5'), 'speed', 'fast'), null);
  });

  test('[R60] the file counts instead, the model over its provider; an empty mapping refuses all', async () => {
    const models = await modelsOf(
      `
providers:
  anthropic: { multipliers: { speed: { fast: 3, faster: 4 } } }
  house: { kind: openai, base_url: 'http://127.0.0.1:9/v1', multipliers: { service_tier: { priority: 1.75 } } }
models:
  - { id: claude-opus-4-8, provider: anthropic }
  - { id: a, provider: anthropic, targets: [{ provider: anthropic, model: claude-opus-4-8 }], multipliers: { speed: { fast: 5 } } }
  - { id: b, provider: anthropic, targets: [{ provider: anthropic, model: claude-opus-4-8 }], multipliers: { inference_geo: {} } }
  - { id: c, provider: house, pricing: { input: 1, output: 2 } }`,
    );
    assert.equal(factor(models.get('claude-opus-4-8'), 'speed', 'fast'), 3);
    assert.equal(factor(models.get('claude-opus-4-8'), 'inference_geo', 'us'), 1.1);
    assert.deepEqual([factor(models.get('a'), 'speed', 'fast'), factor(models.get('a'), 'speed', 'faster')], [5, 4]);
    assert.equal(factor(models.get('b'), 'inference_geo', 'us'), null);
    assert.equal(factor(models.get('c'), 'service_tier', 'priority'), 1.75);
  });
});

describe('hosted tools', () => {
  test('[R60] a call costs what the file says, marked up for the caller and in credits', async () => {
    const models = await modelsOf(
      `
credits: { usd_per_credit: 0.5 }
providers:
  house:
    kind: openai
    base_url: 'http://127.0.0.1:9/v1'
    markup: 1.2
    hosted_tools: { web_search: { per_1000_calls: 10, max_calls: 3 } }
models: [{ id: m, provider: house, pricing: { input: 1, output: 2 } }]`,
    );
    const model = models.get('m');
    assert.ok(model);
    const calls = { fields: {}, calls: { web_search: 1 } };
    assert.equal(hostedToolOf(model.pricing, 'house', 'web_search')?.maxCalls, 3);
    // A cent is 0.02 credits.
    assert.equal(
      costNanos(model.providerPricing, NO_TOKENS, chargeTerms(model.providerPricing, 'house', calls)),
      20_000_000n,
    );
    assert.equal(costNanos(model.pricing, NO_TOKENS, chargeTerms(model.pricing, 'house', calls)), 24_000_000n);
  });

  test('without a price in the file the published one counts', async () => {
    const models = await modelsOf(
      `
providers: { anthropic: { hosted_tools: { web_search: {} } }, xai: { hosted_tools: { x_search: { max_calls: 2 } } } }
models: [{ id: claude-opus-4-5, provider: anthropic }, { id: grok-4.3, provider: xai }]`,
    );
    const search = hostedToolOf(
      models.get('claude-opus-4-5')?.pricing ?? pricingFromUsd({ input: 0, output: 0 }, 1),
      'anthropic',
      'web_search',
    );
    assert.deepEqual(search, { nanosPerCall: { numerator: 10_000_000n, denominator: 1n }, maxCalls: 5 });
    const social = hostedToolOf(
      models.get('grok-4.3')?.pricing ?? pricingFromUsd({ input: 0, output: 0 }, 1),
      'xai',
      'x_search',
    );
    assert.deepEqual(social, { nanosPerCall: { numerator: 5_000_000n, denominator: 1n }, maxCalls: 2 });
  });

  const REFUSED: readonly [text: string, line: string][] = [
    [
      'providers: { openai: { hosted_tools: [web_search] } }',
      'gateway.yaml: providers.openai.hosted_tools: must be a mapping with prices, e.g. hosted_tools: { web_search: { per_1000_calls: 10, max_calls: 5 } }',
    ],
    [
      'providers: { openai: { service_tiers: [flex] } }',
      'gateway.yaml: providers.openai: unknown key `service_tiers`: say what it costs, e.g. multipliers: { service_tier: { priority: 1.75 } }',
    ],
    [
      'providers: { openai: { hosted_tools: { house_tool: {} } } }\nmodels: [{ id: gpt-5, provider: openai }]',
      'gateway.yaml: providers.openai.hosted_tools.house_tool: the key `per_1000_calls` is missing and no published price is known: give USD per thousand calls',
    ],
    [
      'providers: { openai: {} }\nmodels: [{ id: gpt-5, provider: openai, hosted_tools: { house_tool: { max_calls: 1 } } }]',
      'gateway.yaml: models[0].hosted_tools.house_tool: the key `per_1000_calls` is missing and no published price is known: give USD per thousand calls',
    ],
    [
      'providers: { openai: { multipliers: { speed: { fast: 0 } } } }',
      'gateway.yaml: providers.openai.multipliers.speed.fast: must be a number above 0 and at most 1000',
    ],
    [
      'providers: { openai: { multipliers: { sped: { fast: 2 } } } }',
      'gateway.yaml: providers.openai.multipliers: unknown key `sped`: did you mean `speed`?',
    ],
  ];
  for (const [text, line] of REFUSED) {
    test(`refused: ${line}`, async () => {
      await assert.rejects(modelsOf(text), (error: Error & { problems: string[] }) => {
        assert.deepEqual(
          error.problems.map((problem) => problem.replace(/^.*\/(?=gateway\.yaml: )/, '')),
          [line],
        );
        return true;
      });
    });
  }
});

describe('resold models', () => {
  const at = new Date('2026-11-01T00:00:00Z');
  const resold = (book: string, model: string) => {
    const usd = knownModel(book, model, at)?.pricing;
    assert.ok(usd, model);
    return withMakersClasses(usd, book, model, at);
  };

  test('[R56] the one-hour cache write of Claude is charged on Bedrock, Vertex and OpenRouter', () => {
    assert.equal(resold('aws', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0').cache_write_1h, 6.6);
    assert.equal(resold('aws', 'global.anthropic.claude-opus-4-6-v1').cache_write_1h, 10);
    const vertex = resold('google', 'claude-sonnet-4-5@20250929');
    assert.deepEqual([vertex.cache_write_1h, vertex.tiers?.[0]?.cache_write_1h], [6, 12]);
    assert.equal(resold('openrouter', 'anthropic/claude-sonnet-4.5').cache_write_1h, 6);
  });

  test('[R56] so is the long-context tier, in proportion to the reseller’s own price', () => {
    assert.deepEqual(resold('aws', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0').tiers, [
      {
        from_input_tokens: 200_001,
        input: 6.6,
        output: 24.75,
        cache_read: 0.66,
        cache_write: 8.25,
        cache_write_1h: 13.2,
      },
    ]);
    const gemini = resold('openrouter', 'google/gemini-2.5-pro');
    assert.deepEqual([gemini.tiers?.[0]?.from_input_tokens, gemini.tiers?.[0]?.input], [200_001, 2.5]);
  });

  test('a maker’s own price, and one that is complete, stay as they are', () => {
    const own = knownModel('anthropic', 'claude-sonnet-4-5', at)?.pricing;
    assert.ok(own);
    assert.equal(withMakersClasses(own, 'anthropic', 'claude-sonnet-4-5', at), own);
    assert.deepEqual(resold('openrouter', 'openai/gpt-5.4').tiers?.length, 1);
    const plain = { input: 1, output: 2 };
    assert.equal(withMakersClasses(plain, 'together', 'Qwen/Qwen3.5-9B', at), plain);
  });
});

test('[R57] audio and image prices are published beside the others, and charged', async () => {
  const models = await modelsOf(
    `
providers: { gemini: {}, house: { kind: openai, base_url: 'http://127.0.0.1:9/v1' } }
models:
  - { id: gemini-2.5-flash, provider: gemini }
  - { id: m, provider: house, pricing: { input: 1, output: 2, input_audio: 5, input_image: 0.5, output_audio: 8, output_image: 9 } }`,
  );
  assert.equal(models.get('gemini-2.5-flash')?.publishedPricing.input_audio, 1);
  const model = models.get('m');
  assert.ok(model);
  assert.deepEqual(model.publishedPricing, {
    input: 1,
    output: 2,
    input_audio: 5,
    input_image: 0.5,
    output_audio: 8,
    output_image: 9,
  });
  const parts = { inputAudio: 2, inputImage: 4, outputAudio: 1, outputImage: 1 };
  const terms = chargeTerms(model.pricing, 'house', { fields: {}, calls: {}, parts });
  assert.equal(
    costNanos(model.pricing, { ...NO_TOKENS, input: 10, output: 3 }, terms),
    4_000n + 10_000n + 2_000n + 2_000n + 8_000n + 9_000n,
  );
});
