import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { probeModels } from '../../../src/config/discover.ts';
import { KNOWN_HOSTS } from '../../../src/config/kinds.ts';
import { costNanos, worstCostNanos } from '../../../src/core/money.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import { configFolder } from './config-fixture.ts';

describe('providers found in the environment', () => {
  test('a provider whose variable is set is connected, with models, prices and context windows', async () => {
    const folder = await configFolder();
    const { catalog } = await folder.load({
      env: { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: 'sk-2' },
      sandboxUrl: null,
    });
    assert.deepEqual([...catalog.providers.keys()], ['openai', 'anthropic']);
    assert.deepEqual(catalog.providers.get('openai')?.apiKeys, ['sk-1']);
    const gpt = catalog.models.get('openai/gpt-5');
    assert.deepEqual(gpt?.publishedPricing, { input: 1.25, output: 10, cache_read: 0.125 });
    assert.equal(gpt?.contextWindow, 400_000);
    assert.equal(gpt?.public, false);
    assert.equal(gpt?.displayName, 'GPT-5');
    assert.deepEqual(gpt?.targets, [
      { provider: 'openai', upstreamModel: 'gpt-5', format: 'chat', weight: 1 },
      { provider: 'openai', upstreamModel: 'gpt-5', format: 'responses', weight: 1 },
    ]);
    assert.deepEqual(catalog.models.get('anthropic/claude-opus-4-5')?.targets[0]?.format, 'messages');
    assert.deepEqual(
      catalog.models.get('openai/gpt-5-pro')?.targets.map(({ format }) => format),
      ['responses'],
    );
  });

  test('every well-known host is found by its variable, speaks its formats and has models that cost something', async () => {
    const folder = await configFolder();
    for (const host of KNOWN_HOSTS) {
      const { catalog } = await folder.load({ env: { [host.variable]: ' key\n' }, sandboxUrl: null });
      const provider = catalog.providers.get(host.name);
      assert.deepEqual([provider?.kind, provider?.baseUrl, provider?.formats], [host.kind, host.baseUrl, host.formats]);
      assert.deepEqual(provider?.apiKeys, ['key']);
      assert.ok(catalog.models.size > 0, host.name);
      for (const model of catalog.models.values()) {
        assert.ok(worstCostNanos(model.pricing, 1000, 1000) > 0n, model.id);
        assert.equal(model.public, false);
        assert.ok(
          model.maxOutputTokens !== null && model.maxOutputTokens <= (model.contextWindow ?? Infinity),
          model.id,
        );
      }
    }
  });

  test('only text models are offered', async () => {
    const env = Object.fromEntries(KNOWN_HOSTS.map((host) => [host.variable, 'key']));
    const { catalog } = await (await configFolder()).load({ env, sandboxUrl: null });
    for (const id of catalog.models.keys()) {
      assert.doesNotMatch(id, /embed|whisper|-tts|realtime|moderation|-image|-audio|transcribe|:free$|^openai\/ft:/);
    }
    assert.ok(catalog.models.has('fireworks/kimi-k3'));
    assert.equal(
      catalog.models.get('fireworks/kimi-k3')?.targets[0]?.upstreamModel,
      'accounts/fireworks/models/kimi-k3',
    );
  });

  test('an unusable key is told by its variable, without its value', async () => {
    const folder = await configFolder();
    await assert.rejects(folder.load({ env: { GROQ_API_KEY: 'two words' } }), {
      message: 'GROQ_API_KEY is not a key: must be printable ASCII characters without spaces',
    });
  });

  test('a file that names providers or models is the whole truth; one that does not leaves discovery on', async () => {
    const folder = await configFolder();
    const env = { DEEPSEEK_API_KEY: 'k' };
    await folder.write('providers: { openai: {} }');
    assert.equal((await folder.load({ env })).catalog.providers.has('deepseek'), false);
    await folder.write('holds: elastic');
    assert.equal((await folder.load({ env })).catalog.providers.has('deepseek'), true);
  });
});

describe('model servers on this machine', () => {
  test('one that answers is connected, and its models are free', async () => {
    const folder = await configFolder();
    const asked: string[] = [];
    const { catalog } = await folder.load({
      sandboxUrl: null,
      probe: async (baseUrl) => {
        asked.push(baseUrl);
        if (!baseUrl.includes('11434')) return null;
        return new Map([
          ['llama3.2:3b', { contextWindow: 8192, maxOutputTokens: null, pricing: null }],
          ['nomic-embed-text', { contextWindow: null, maxOutputTokens: null, pricing: null }],
        ]);
      },
    });
    assert.deepEqual(asked, ['http://127.0.0.1:11434/v1', 'http://127.0.0.1:8000/v1']);
    assert.deepEqual([...catalog.providers.keys()], ['ollama']);
    assert.deepEqual([...catalog.models.keys()], ['ollama/llama3.2:3b']);
    const model = catalog.models.get('ollama/llama3.2:3b');
    assert.ok(model);
    assert.equal(model.contextWindow, 8192);
    assert.equal(costNanos(model.pricing, { ...NO_TOKENS, input: 1000, output: 1000 }), 0n);
    assert.deepEqual(model.publishedPricing, { input: 0, output: 0 });
  });

  test('none is looked for when switched off, and never at our own port', async () => {
    const folder = await configFolder();
    const asked: string[] = [];
    const probe = async (baseUrl: string) => {
      asked.push(baseUrl);
      return null;
    };
    await folder.load({ settings: { ...folder.settings, discoverLocal: false }, probe });
    assert.deepEqual(asked, []);
    await folder.load({ settings: { ...folder.settings, port: 8000 }, probe });
    assert.deepEqual(asked, ['http://127.0.0.1:11434/v1']);
  });

  /** More than any machine needs for an answer of its own. */
  const PATIENCE_MS = 120_000;

  async function serve(context: TestContext, body: string, status = 200): Promise<string> {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/v1/models' ? status : 404, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    context.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  test('the probe reads a model list', async (context) => {
    const baseUrl = await serve(
      context,
      JSON.stringify({ data: [{ id: 'a', max_model_len: 4096 }, { id: 'b' }, { id: 'with space' }, { id: 7 }, null] }),
    );
    assert.deepEqual(
      await probeModels(baseUrl, PATIENCE_MS),
      new Map([
        ['a', { contextWindow: 4096, maxOutputTokens: null, pricing: null }],
        ['b', { contextWindow: null, maxOutputTokens: null, pricing: null }],
      ]),
    );
  });

  test('what is no model server is nobody', async (context) => {
    assert.equal(await probeModels(await serve(context, '<html>')), null);
    assert.equal(await probeModels(await serve(context, '{"data":[]}')), null);
    assert.equal(await probeModels(await serve(context, '{"data":[{"id":"a"}]}', 401)), null);
    assert.equal(await probeModels('http://127.0.0.1:1/v1'), null);
  });
});
