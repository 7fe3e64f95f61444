import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { assembleProvider } from '../../../src/config/assemble.ts';
import { booksOf, commonOutputLimit, factsOf } from '../../../src/config/facts.ts';
import { dataSources, plainName, shippedLimits } from '../../../src/config/model-data.ts';
import { listKey, type ModelLists, NO_LISTS } from '../../../src/config/model-lists.ts';
import type { UsdPricing } from '../../../src/config/pricing.ts';
import type { FileProvider } from '../../../src/config/schema.ts';

const now = new Date('2026-11-15T12:00:00Z');

function facts(name: string, upstreamModel: string, lists: ModelLists = NO_LISTS, file: FileProvider = {}) {
  return factsOf(assembleProvider(name, file), upstreamModel, { now, lists });
}

function listed(name: string, upstreamModel: string, figures: object): ModelLists {
  const model = { contextWindow: null, maxOutputTokens: null, pricing: null, ...figures };
  const askedAtMs = Date.parse('2026-11-14T23:00:00Z');
  return new Map([[listKey(assembleProvider(name, {})), { askedAtMs, models: new Map([[upstreamModel, model]]) }]]);
}

describe('where limits come from', () => {
  test('the provider itself is believed first, with the day on which it was asked', () => {
    const lists = listed('mistral', 'mistral-large-latest', { contextWindow: 262_144, maxOutputTokens: 50_000 });
    const { contextWindow, maxOutputTokens } = facts('mistral', 'mistral-large-latest', lists);
    const source = { kind: 'listed', name: 'the model list of mistral', date: '2026-11-14' };
    assert.deepEqual(contextWindow, { value: 262_144, source });
    assert.deepEqual(maxOutputTokens, { value: 50_000, source });
  });

  test('then published data, with its package, version and day', () => {
    const { maxOutputTokens } = facts('mistral', 'mistral-large-latest');
    assert.ok(maxOutputTokens !== null && maxOutputTokens.value > 30_000);
    assert.equal(maxOutputTokens.source.kind, 'published');
    assert.match(maxOutputTokens.source.name, /^@[a-z-]+\/[a-z-]+ \d+\.\d+\.\d+$/);
    assert.match(maxOutputTokens.source.date ?? '', /^\d{4}-\d{2}-\d{2}$/);
  });

  test('limits that a family of names used to decide are right by data', () => {
    const limits: Record<string, readonly [provider: string, limit: number]> = {
      'claude-opus-4-1-20250805': ['anthropic', 32_000],
      'claude-opus-4-5': ['anthropic', 64_000],
      'gpt-4o-mini': ['openai', 16_384],
      'gpt-4.1-nano': ['openai', 32_768],
      'gpt-5': ['openai', 128_000],
      'o3-mini': ['openai', 100_000],
      'gemini-2.5-pro': ['gemini', 65_536],
      'llama-3.3-70b-versatile': ['groq', 32_768],
    };
    for (const [model, [provider, limit]] of Object.entries(limits)) {
      assert.equal(facts(provider, model).maxOutputTokens?.value, limit, model);
    }
  });

  test('else a cautious default that is called one', () => {
    const unknown = facts('openai', 'nobody-knows-this');
    assert.equal(unknown.maxOutputTokens, null);
    assert.deepEqual(commonOutputLimit([unknown], null), {
      value: 4_096,
      source: { kind: 'assumed', name: 'a cautious default', date: null },
    });
    assert.equal(commonOutputLimit([unknown], 2_048).value, 2_048);
  });

  test('every target accepts the limit of its model', () => {
    const targets = [facts('openai', 'gpt-5'), facts('groq', 'llama-3.3-70b-versatile')];
    assert.equal(commonOutputLimit(targets, 400_000).value, 32_768);
    assert.equal(commonOutputLimit([...targets, facts('openai', 'nobody-knows-this')], null).source.kind, 'assumed');
  });

  test('a name is known with another date, region or variant, at the smallest limit of those alike', () => {
    assert.equal(plainName('us.anthropic.claude-sonnet-4-5-20250929-v1:0'), 'anthropic.claude-sonnet-4-5');
    assert.equal(plainName('claude-sonnet-4-5@20250929'), 'claude-sonnet-4-5');
    assert.equal(plainName('deepseek/deepseek-r1:free'), 'deepseek/deepseek-r1');
    assert.equal(plainName('gpt-4o-2024-11-20'), 'gpt-4o');
    assert.equal(shippedLimits('openai', 'gpt-4o-2030-01-01')?.maxOutputTokens, 4_096);
    assert.equal(shippedLimits('openai', '__proto__'), null);
    assert.equal(shippedLimits('nobody', 'gpt-4o'), null);
  });
});

describe('where prices come from', () => {
  const usd: UsdPricing = { input: 7, output: 8 };

  test('the price book counts first, then the list of the provider, then the shipped data', () => {
    const inBook = facts('xai', 'grok-4.3', listed('xai', 'grok-4.3', { pricing: usd }));
    assert.equal(inBook.pricing?.value.input, 1.25);
    assert.match(inBook.pricing?.source.name ?? '', /^@pydantic\/genai-prices /);
    const inList = facts('xai', 'grok-9', listed('xai', 'grok-9', { pricing: usd }));
    assert.deepEqual(inList.pricing?.value, usd);
    assert.equal(inList.pricing?.source.kind, 'listed');
    const shipped = facts('mistral', 'mistral-large-4-0-8');
    assert.equal(shipped.pricing?.source.kind, 'published');
    assert.doesNotMatch(shipped.pricing?.source.name ?? '', /genai-prices/);
  });

  test('a price is never taken from a name that is only alike', () => {
    assert.equal(facts('xai', 'grok-4.7-20991231').pricing, null);
  });

  test('an address that the data knows is not priced as its kind', () => {
    const nvidia = assembleProvider('house', { kind: 'openai', base_url: 'https://integrate.api.nvidia.com/v1' });
    assert.deepEqual(booksOf(nvidia), { priceBook: null, dataProvider: 'nvidia' });
    const own = assembleProvider('house', { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' });
    assert.deepEqual(booksOf(own), { priceBook: 'openai', dataProvider: 'openai' });
  });
});

test('the shipped data names the version of the price book that is installed', () => {
  const [book] = dataSources();
  const installed = JSON.parse(readFileSync('node_modules/@pydantic/genai-prices/package.json', 'utf8'));
  assert.equal(book?.version, installed.version, 'run npm run model-data');
});
