import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import type { Model } from '../../../src/core/model.ts';
import { costNanos } from '../../../src/core/money.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import { configFolder, SANDBOX_URL } from './config-fixture.ts';

async function loadText(text: string, env: Record<string, string> = {}): Promise<Config> {
  const folder = await configFolder();
  await folder.write(text);
  return folder.load({ env });
}

function modelOf(config: Config, id: string): Model {
  const model = config.catalog.models.get(id);
  assert.ok(model);
  return model;
}

describe('sandbox catalog', () => {
  test('without a file the sandbox is on: two providers and three public, labelled models', async () => {
    const config = await (await configFolder()).load();
    assert.equal(config.sandbox, true);
    assert.deepEqual([...config.catalog.providers.keys()], ['sandbox-a', 'sandbox-b']);
    const a = config.catalog.providers.get('sandbox-a');
    assert.deepEqual(
      [a?.kind, a?.baseUrl, a?.formats, a?.countsTokens],
      ['openai', `${SANDBOX_URL}/v1`, ['chat', 'responses'], false],
    );
    const b = config.catalog.providers.get('sandbox-b');
    assert.deepEqual([a?.circuitBreaker, b?.circuitBreaker], [false, false]);
    assert.deepEqual(
      [b?.kind, b?.baseUrl, b?.formats, b?.countsTokens],
      ['anthropic', SANDBOX_URL, ['messages'], true],
    );
    const shown = [...config.catalog.models.values()].map((model) => ({
      id: model.id,
      targets: model.targets.map(({ provider, upstreamModel, format }) => `${provider} ${upstreamModel} ${format}`),
      size: [model.contextWindow, model.maxOutputTokens],
    }));
    assert.deepEqual(shown, [
      {
        id: 'sandbox/alpha',
        targets: ['sandbox-a alpha-sim chat', 'sandbox-a alpha-sim responses'],
        size: [128_000, 64_000],
      },
      { id: 'sandbox/beta', targets: ['sandbox-b beta-sim messages'], size: [128_000, 64_000] },
      {
        id: 'sandbox/tiny',
        targets: ['sandbox-a tiny-sim chat', 'sandbox-a tiny-sim responses'],
        size: [2048, 256],
      },
    ]);
    for (const model of config.catalog.models.values()) {
      assert.equal(model.public, true);
      assert.match(model.displayName ?? '', /simulated/);
      assert.deepEqual(model.publishedPricing, { input: 1, output: 4 });
      assert.equal(costNanos(model.pricing, { ...NO_TOKENS, input: 1, output: 1 }), 5000n);
    }
  });

  test('it can be switched off, and then its names are free', async () => {
    const config = await loadText(
      'sandbox: false\nproviders: { sandbox-a: { kind: openai } }\nmodels: [{ id: sandbox/alpha, provider: sandbox-a, pricing: { input: 0, output: 0 } }]',
    );
    assert.equal(config.sandbox, false);
    assert.deepEqual([...config.catalog.models.keys()], ['sandbox/alpha']);
  });

  test('where no sandbox runs, its models are not listed', async () => {
    const config = await (await configFolder()).load({ sandboxUrl: null });
    assert.equal(config.sandbox, false);
    assert.equal(config.catalog.models.size, 0);
  });
});

describe('catalog from a file', () => {
  const example = `
providers:
  openai:    { kind: openai,    base_url: 'https://api.openai.com/v1/', api_key: '\${OPENAI_API_KEY}' }
  anthropic: { kind: anthropic, api_keys: [k1, k2], timeouts: { connect: 2.5, idle: 10 } }
  local:     { kind: openai,    base_url: http://127.0.0.1:8000/v1 }
models:
  - id: some-model
    provider: openai
    targets:
      - { provider: openai, model: upstream-id, format: responses, weight: 3 }
      - { provider: local,  model: other-id,    format: chat }
    context_window: 400000
    max_output_tokens: 128000
    pricing: { input: 0.25, output: 2, cache_read: 0.025, cache_write: 0 }
    public: true
  - { id: gpt-5, provider: openai, tagline: Fast, capabilities: { images: false } }
`;

  test('the documented example loads', async () => {
    const config = await loadText(example, { OPENAI_API_KEY: 'k' });
    const openai = config.catalog.providers.get('openai');
    assert.equal(openai?.baseUrl, 'https://api.openai.com/v1');
    assert.deepEqual(openai?.apiKeys, ['k']);
    assert.deepEqual(openai?.formats, ['chat', 'responses']);
    assert.equal(openai?.chatLimitField, 'max_completion_tokens');
    const anthropic = config.catalog.providers.get('anthropic');
    assert.equal(anthropic?.baseUrl, 'https://api.anthropic.com');
    assert.deepEqual(anthropic?.apiKeys, ['k1', 'k2']);
    assert.deepEqual(anthropic?.timeouts, { connectMs: 2500, firstByteMs: 300_000, idleMs: 10_000, totalMs: 600_000 });
    assert.equal(anthropic?.countsTokens, true);
    const local = config.catalog.providers.get('local');
    assert.deepEqual([local?.formats, local?.chatLimitField, local?.apiKeys], [['chat'], 'max_tokens', []]);
    const model = modelOf(config, 'some-model');
    assert.deepEqual(model.targets, [
      { provider: 'openai', upstreamModel: 'upstream-id', format: 'responses', weight: 3 },
      { provider: 'local', upstreamModel: 'other-id', format: 'chat', weight: 1 },
    ]);
    assert.deepEqual([model.contextWindow, model.maxOutputTokens, model.public], [400_000, 128_000, true]);
    assert.deepEqual(model.publishedPricing, { input: 0.25, output: 2, cache_read: 0.025, cache_write: 0 });
    assert.equal(config.routing.order, 'weighted');
  });

  test('the example of docs/run/configuration.md loads as printed', async () => {
    const docs = readFileSync(new URL('../../../docs/run/configuration.md', import.meta.url), 'utf8');
    const [, printed = ''] = /```yaml\n(providers:.*?)```/s.exec(docs) ?? [];
    const config = await loadText(printed, { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b' });
    assert.deepEqual([...config.catalog.models.keys()], ['gpt-5', 'claude-opus-4-5', 'house-model']);
    assert.deepEqual(modelOf(config, 'house-model').publishedPricing, { input: 0.1, output: 0.4 });
  });

  test('price, context window and targets of a known model need not be written', async () => {
    const model = modelOf(await loadText(example, { OPENAI_API_KEY: 'k' }), 'gpt-5');
    assert.deepEqual(model.publishedPricing, { input: 1.25, output: 10, cache_read: 0.125 });
    assert.equal(model.contextWindow, 400_000);
    assert.equal(model.maxOutputTokens, 128_000);
    assert.deepEqual(
      model.targets.map(({ upstreamModel, format }) => [upstreamModel, format]),
      [
        ['gpt-5', 'chat'],
        ['gpt-5', 'responses'],
      ],
    );
    assert.equal(model.capabilities.images, false);
    assert.equal(model.capabilities.tools, true);
    assert.equal(model.public, false);
    assert.equal(model.ownedBy, 'openai');
  });

  test('the price comes from the provider behind the address, then from the name, then from the kind', async () => {
    const config = await loadText(
      `
providers:
  fast: { kind: openai, base_url: 'https://api.groq.com/openai/v1' }
  anthropic-eu: { kind: openai, base_url: 'https://llm.example/v1' }
  cloud: { kind: azure, base_url: 'https://llm.example' }
models:
  - { id: a, targets: [{ provider: fast, model: openai/gpt-oss-120b }] }
  - { id: b, targets: [{ provider: anthropic-eu, model: claude-opus-4-5 }] }
  - { id: c, targets: [{ provider: cloud, model: gpt-4o }] }
`,
    );
    assert.equal(modelOf(config, 'a').publishedPricing.input, 0.15);
    assert.equal(modelOf(config, 'b').publishedPricing.input, 5);
    assert.equal(modelOf(config, 'c').publishedPricing.input, 2.5);
    assert.deepEqual(config.catalog.providers.get('cloud')?.formats, ['chat', 'responses']);
  });

  test('a well-known name needs neither kind nor address', async () => {
    const config = await loadText('providers: { groq: { api_key: k } }');
    const groq = config.catalog.providers.get('groq');
    assert.deepEqual([groq?.kind, groq?.baseUrl], ['openai', 'https://api.groq.com/openai/v1']);
  });

  test('mark-up and credits: both figures are kept, the caller pays the marked-up one', async () => {
    const config = await loadText(
      `
credits: { usd_per_credit: 0.01 }
providers: { p: { kind: openai, base_url: 'http://127.0.0.1:1/v1', markup: 1.2 } }
models:
  - { id: by-provider, provider: p, pricing: { input: 1, output: 4 } }
  - { id: by-model, provider: p, markup: 1.5, pricing: { input: 1, output: 4 } }
`,
    );
    assert.equal(config.usdPerCredit, 0.01);
    const tokens = { ...NO_TOKENS, input: 1_000_000 };
    const byProvider = modelOf(config, 'by-provider');
    assert.equal(costNanos(byProvider.providerPricing, tokens), 100n * 10n ** 9n);
    assert.equal(costNanos(byProvider.pricing, tokens), 120n * 10n ** 9n);
    assert.deepEqual(byProvider.publishedPricing, { input: 1.2, output: 4.8 });
    assert.equal(costNanos(modelOf(config, 'by-model').pricing, tokens), 150n * 10n ** 9n);
  });

  test('among weighted models one without weights keeps its order', async () => {
    const config = await loadText(
      `
providers: { p: { kind: openai, base_url: 'http://127.0.0.1:1/v1' }, q: { kind: openai, base_url: 'http://127.0.0.1:2/v1' } }
models:
  - { id: shared, targets: [{ provider: p, weight: 3 }, { provider: q }], pricing: { input: 0, output: 0 } }
  - { id: plain, targets: [{ provider: p }, { provider: q }], pricing: { input: 0, output: 0 } }
`,
    );
    assert.deepEqual(
      modelOf(config, 'shared').targets.map(({ weight }) => weight),
      [3, 1],
    );
    assert.deepEqual(
      modelOf(config, 'plain').targets.map(({ weight }) => weight),
      [1, 0],
    );
  });

  test('limits, streams, routing and holds have their defaults and can be changed', async () => {
    const plain = await loadText('');
    assert.deepEqual(plain.limits, {
      bodyBytes: 32 * 1024 * 1024,
      jsonValues: 100_000,
      replyBytes: 1024 * 1024,
      replyBufferBytes: 256 * 1024 * 1024,
      settleWaitMs: 30_000,
      countWaitMs: 5_000,
      preStopMs: 5_000,
      drainMs: 30_000,
      headersTimeoutMs: 20_000,
      bodyTimeoutMs: 120_000,
      keepAliveTimeoutMs: 75_000,
      headerBytes: 32_768,
      headerCount: 200,
      connections: null,
      connectionsPerAddress: null,
      websockets: 1_000,
      websocketsPerKey: 64,
      websocketMemoryBytes: 256 * 1024 * 1024,
    });
    assert.deepEqual(plain.streams, {
      totalMs: 300_000,
      keepAliveMs: 10_000,
      headersWaitMs: 15_000,
      holdWaitMs: 10_000,
    });
    assert.deepEqual(plain.routing, { order: 'listed', maxAttempts: 3, attemptBudgetMs: 30_000, cacheAffinity: true });
    assert.deepEqual([plain.holds, plain.usdPerCredit], ['elastic', 1]);
    const changed = await loadText(
      'limits: { body_bytes: 2048, json_values: 2000, count_wait: 9, pre_stop: 0, drain: 0, headers_timeout: 0.5, body_timeout: 0.5, keep_alive_timeout: 5, header_bytes: 8192, header_count: 50, connections: 100, connections_per_address: 7 }\nstreams: { keep_alive: 0, total: 3600 }\nrouting: { order: least-latency, max_attempts: 1 }\nholds: full',
    );
    const { bodyBytes, jsonValues, preStopMs, drainMs } = changed.limits;
    assert.deepEqual([bodyBytes, jsonValues, preStopMs, drainMs], [2048, 2000, 0, 0]);
    assert.equal(changed.limits.countWaitMs, 9_000);
    assert.deepEqual([changed.limits.headersTimeoutMs, changed.limits.bodyTimeoutMs], [500, 500]);
    const { keepAliveTimeoutMs, headerBytes, headerCount, connections } = changed.limits;
    assert.deepEqual([keepAliveTimeoutMs, headerBytes, headerCount, connections], [5_000, 8_192, 50, 100]);
    assert.equal(changed.limits.connectionsPerAddress, 7);
    assert.deepEqual(changed.streams, {
      totalMs: 3_600_000,
      keepAliveMs: 0,
      headersWaitMs: 15_000,
      holdWaitMs: 10_000,
    });
    assert.deepEqual(changed.routing, {
      order: 'least-latency',
      maxAttempts: 1,
      attemptBudgetMs: 30_000,
      cacheAffinity: true,
    });
    assert.equal(changed.holds, 'full');
  });

  test('kind-specific options reach the provider', async () => {
    const config = await loadText(
      `
providers:
  az: { kind: azure, base_url: 'https://x.openai.azure.com', api_version: 2025-04-01-preview, headers: { X-Team: a } }
  g: { kind: ai-sdk, package: '@ai-sdk/google', options: { project: p } }
`,
    );
    const azure = config.catalog.providers.get('az');
    assert.deepEqual(azure?.options, { api_version: '2025-04-01-preview' });
    assert.deepEqual(azure?.headers, { 'x-team': 'a' });
    const google = config.catalog.providers.get('g');
    assert.deepEqual([google?.options, google?.package?.name], [{ project: 'p' }, '@ai-sdk/google']);
    assert.deepEqual(google?.formats, ['responses']);
  });

  test('the result is frozen all the way down', async () => {
    const config = await loadText(example, { OPENAI_API_KEY: 'k' });
    const model = modelOf(config, 'some-model');
    for (const part of [config, config.limits, model, model.pricing.tiers, model.targets[0], config.catalog]) {
      assert.ok(Object.isFrozen(part));
    }
    assert.ok(Object.isFrozen(config.catalog.providers.get('openai')?.apiKeys));
  });
});
