import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type ListPrices, readModelList } from '../../../src/config/model-list.ts';
import { decodeModelLists, encodeModelLists, mergeModelLists } from '../../../src/config/model-lists.ts';

/** One entry in the shape that each provider documents, and what is read from it. */
const SHAPES: readonly [
  provider: string,
  body: unknown,
  prices: ListPrices | null,
  name: string,
  window: number | null,
  output: number | null,
  usd: object | null,
][] = [
  [
    'OpenRouter',
    {
      data: [
        {
          id: 'anthropic/claude-sonnet-4.5',
          context_length: 1_000_000,
          top_provider: { context_length: 1_000_000, max_completion_tokens: 64_000 },
          pricing: {
            prompt: '0.000003',
            completion: '0.000015',
            request: '0',
            input_cache_read: '0.0000003',
            input_cache_write: '0.00000375',
          },
        },
      ],
    },
    'usd_per_token',
    'anthropic/claude-sonnet-4.5',
    1_000_000,
    64_000,
    { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
  ],
  [
    'Anthropic',
    {
      data: [{ type: 'model', id: 'claude-opus-4-5', max_input_tokens: 200_000, max_tokens: 64_000 }],
      has_more: false,
    },
    null,
    'claude-opus-4-5',
    200_000,
    64_000,
    null,
  ],
  [
    'Mistral',
    { data: [{ id: 'mistral-large-2512', max_context_length: 262_144, aliases: ['mistral-large-latest'] }] },
    null,
    'mistral-large-latest',
    262_144,
    null,
    null,
  ],
  [
    'Groq',
    { data: [{ id: 'llama-3.3-70b-versatile', context_window: 131_072, max_completion_tokens: 32_768 }] },
    null,
    'llama-3.3-70b-versatile',
    131_072,
    32_768,
    null,
  ],
  [
    'Gemini',
    { models: [{ name: 'models/gemini-2.5-pro', inputTokenLimit: 1_048_576, outputTokenLimit: 65_536 }] },
    null,
    'gemini-2.5-pro',
    1_048_576,
    65_536,
    null,
  ],
  [
    'xAI',
    {
      data: [
        {
          id: 'grok-4.3',
          aliases: ['grok-latest'],
          context_length: 1_000_000,
          prompt_text_token_price: 12_500,
          completion_text_token_price: 25_000,
          cached_prompt_text_token_price: 2_000,
          long_context_threshold: 200_000,
          prompt_text_token_price_long_context: 25_000,
          completion_text_token_price_long_context: 50_000,
          cached_prompt_text_token_price_long_context: 4_000,
        },
      ],
    },
    'cents_per_100_million',
    'grok-latest',
    1_000_000,
    null,
    {
      input: 1.25,
      output: 2.5,
      cache_read: 0.2,
      tiers: [{ from_input_tokens: 200_000, input: 2.5, output: 5, cache_read: 0.4 }],
    },
  ],
  [
    'Together, which sends the list bare',
    [{ id: 'openai/gpt-oss-120b', context_length: 131_072, pricing: { hourly: 0, input: 0.15, output: 0.6, base: 0 } }],
    'usd_per_million',
    'openai/gpt-oss-120b',
    131_072,
    null,
    { input: 0.15, output: 0.6 },
  ],
  ['vLLM', { data: [{ id: 'qwen', max_model_len: 32_768 }] }, null, 'qwen', 32_768, null, null],
  [
    'DeepInfra',
    { data: [{ id: 'm', metadata: { context_length: 163_840, max_tokens: 16_384 } }] },
    null,
    'm',
    163_840,
    16_384,
    null,
  ],
  ['OpenAI, which states none', { data: [{ id: 'gpt-5', object: 'model' }] }, null, 'gpt-5', null, null, null],
];

describe('the model list of a provider', () => {
  for (const [provider, body, prices, name, contextWindow, maxOutputTokens, pricing] of SHAPES) {
    test(`${provider}: limits and prices are read where they are stated`, () => {
      const listed = readModelList(JSON.stringify(body), prices);
      assert.deepEqual(listed?.get(name), { contextWindow, maxOutputTokens, pricing });
    });
  }

  test('prices of an unknown unit are left out', () => {
    const body = JSON.stringify({ data: [{ id: 'm', pricing: { prompt: 3, completion: 15 } }] });
    assert.equal(readModelList(body)?.get('m')?.pricing, null);
  });

  test('a price that tokens alone cannot pay, a negative one and a free one are no price', () => {
    for (const pricing of [
      { prompt: '-1', completion: '-1' },
      { prompt: '0', completion: '0' },
      { prompt: '0.000001', completion: '0.000002', request: '0.01' },
      { prompt: '0.000001' },
      { prompt: 'NaN', completion: '1' },
      { prompt: '1e300', completion: '1' },
    ]) {
      const body = JSON.stringify({ data: [{ id: 'm', pricing }] });
      assert.equal(readModelList(body, 'usd_per_token')?.get('m')?.pricing, null, JSON.stringify(pricing));
    }
  });

  test('figures that cannot be are not stated, and an output limit is never above the window', () => {
    const entries = [-1, 0, 1.5, '4096', 1e300, true, null].map((value, index) => ({
      id: `m${index}`,
      context_length: value,
      max_completion_tokens: value,
    }));
    const listed = readModelList(
      JSON.stringify({ data: [...entries, { id: 'x', context_length: 10, max_tokens: 99 }] }),
    );
    for (const { id } of entries) {
      assert.deepEqual(listed?.get(id), { contextWindow: null, maxOutputTokens: null, pricing: null });
    }
    assert.equal(listed?.get('x')?.maxOutputTokens, 10);
  });

  test('[F35] whatever is not a list of models is nothing, and never throws', () => {
    for (const body of ['', '<html>', '{}', '[]', '{"data":{}}', '{"data":[null,7,{"id":7}]}', 'null', '{"data":']) {
      assert.equal(readModelList(body), null, body);
    }
    fc.assert(
      fc.property(fc.json(), (body) => {
        readModelList(body, 'usd_per_token');
        readModelList(`{"data":[${body}]}`, 'cents_per_100_million');
      }),
    );
  });

  test('a list without end is cut off', () => {
    const data = Array.from({ length: 6_000 }, (_, index) => ({ id: `m${index}` }));
    assert.equal(readModelList(JSON.stringify({ data }))?.size, 5_000);
  });
});

describe('model lists in the store', () => {
  const models = readModelList(JSON.stringify(SHAPES[5]?.[1]), 'cents_per_100_million') ?? new Map();
  const lists = new Map([['xai https://api.x.ai/v1', { askedAtMs: 5, models }]]);

  test('come out as they went in', () => {
    assert.deepEqual(decodeModelLists(encodeModelLists(lists)), lists);
  });

  test('what another release or hand wrote counts only as far as it can be read', () => {
    for (const text of [null, '', '{', '[]', '{"version":2,"providers":{}}', '{"version":1,"providers":{"a":7}}']) {
      assert.equal(decodeModelLists(text).size, 0);
    }
    const odd = { input: '3', output: 15 };
    const text = JSON.stringify({
      version: 1,
      providers: { a: { asked_at_ms: 1, models: { m: { contextWindow: 'x', maxOutputTokens: -1, pricing: odd } } } },
    });
    assert.deepEqual(decodeModelLists(text).get('a')?.models.get('m'), {
      contextWindow: null,
      maxOutputTokens: null,
      pricing: null,
    });
  });

  test('of two lists of one provider the newer counts', () => {
    const newer = new Map([['xai https://api.x.ai/v1', { askedAtMs: 6, models: new Map() }]]);
    assert.equal(mergeModelLists(lists, newer).get('xai https://api.x.ai/v1')?.models.size, 0);
    assert.equal(mergeModelLists(newer, lists).get('xai https://api.x.ai/v1')?.models.size, 0);
  });
});
