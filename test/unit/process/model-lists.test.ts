import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { decodeModelLists, MODEL_LISTS_DOCUMENT } from '../../../src/config/model-lists.ts';
import { type Log, NO_LOG } from '../../../src/core/log.ts';
import type { Documents, StoredDocument } from '../../../src/ledger/port.ts';
import { FRESH_MS, refreshInBackground, refreshModelLists, watchModelLists } from '../../../src/process/model-lists.ts';
import { configFolder } from '../config/config-fixture.ts';

class MemoryDocuments implements Documents {
  readonly stored = new Map<string, StoredDocument>();
  puts = 0;

  async getDocument(name: string): Promise<StoredDocument | null> {
    return this.stored.get(name) ?? null;
  }

  async putDocument(name: string, value: string): Promise<void> {
    this.puts += 1;
    this.stored.set(name, { value, atMs: this.puts });
  }
}

async function provider(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const LIST = JSON.stringify({ data: [{ id: 'm', context_length: 50_000, max_completion_tokens: 20_000 }] });

/** More than any machine needs for an answer of its own. */
const PATIENCE_MS = 120_000;

/** A file with one model `m` whose limits are open, at the provider `house`. */
async function fixture(baseUrl: string, extra = '') {
  const folder = await configFolder();
  await folder.write(`
providers: { house: { kind: openai, base_url: '${baseUrl}', api_key: secret } }
models: [{ id: m, provider: house, pricing: { input: 1, output: 2 } }]
${extra}`);
  const documents = new MemoryDocuments();
  const settings = { ...folder.settings, configFileNamed: true };
  const options = { settings, env: {}, documents, freshMs: FRESH_MS, timeoutMs: PATIENCE_MS };
  const model = async () => {
    const lists = decodeModelLists((await documents.getDocument(MODEL_LISTS_DOCUMENT))?.value ?? null);
    const { catalog } = await loadConfig({ ...options, sandboxUrl: null, lists });
    return catalog.models.get('m');
  };
  return { documents, options, model };
}

describe('the model lists of providers', () => {
  test('are asked for with the credential, stored, and count from then on', async (context) => {
    const seen: (string | undefined)[] = [];
    const baseUrl = await provider(context, (request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.end(LIST);
    });
    const { options, model } = await fixture(baseUrl);
    assert.deepEqual((await model())?.sources.maxOutputTokens.kind, 'assumed');
    assert.deepEqual(await refreshModelLists(options), { asked: [{ provider: 'house', models: 1 }], failed: [] });
    assert.deepEqual(seen, ['/v1/models Bearer secret']);
    const asked = await model();
    assert.deepEqual([asked?.contextWindow, asked?.maxOutputTokens], [50_000, 20_000]);
    assert.equal(asked?.sources.contextWindow.kind, 'listed');
    assert.equal(asked?.sources.pricing.kind, 'configured');
  });

  test('another gateway on the same store does not ask again while they are fresh', async (context) => {
    let calls = 0;
    const baseUrl = await provider(context, (_, response) => {
      calls += 1;
      response.end(LIST);
    });
    const { options } = await fixture(baseUrl);
    const nowMs = () => 1_000_000;
    await refreshModelLists({ ...options, nowMs });
    await refreshModelLists({ ...options, nowMs });
    assert.equal(calls, 1);
    await refreshModelLists({ ...options, nowMs: () => 1_000_000 + FRESH_MS });
    assert.equal(calls, 2);
    await refreshModelLists({ ...options, nowMs, freshMs: 0 });
    assert.equal(calls, 3);
  });

  test('are not asked for where the file says everything, or says not to', async (context) => {
    const baseUrl = await provider(context, () => assert.fail('asked'));
    const off = await fixture(baseUrl, 'model_lists: false');
    assert.deepEqual(await refreshModelLists(off.options), { asked: [], failed: [] });
    const folder = await configFolder();
    await folder.write(`
providers: { house: { kind: openai, base_url: '${baseUrl}' } }
models: [{ id: m, provider: house, pricing: { input: 1, output: 2 }, context_window: 9, max_output_tokens: 3 }]`);
    const options = { ...off.options, settings: { ...folder.settings, configFileNamed: true } };
    assert.deepEqual(await refreshModelLists(options), { asked: [], failed: [] });
  });

  const BAD: readonly [what: string, answer: RequestListener, reason: RegExp][] = [
    ['broken', (_, response) => response.end('<html>'), /not a list of models/],
    ['refused', (_, response) => response.writeHead(401).end('{}'), /status 401/],
    [
      'cut off',
      (_, response) => response.writeHead(200, { 'content-length': '99' }).end('{', () => response.destroy()),
      /./,
    ],
    ['slow', () => {}, /no answer within/],
    [
      'huge',
      (_, response) => {
        const chunk = Buffer.alloc(1024 * 1024, ' ');
        let sent = 0;
        const more = (): void => {
          if (response.destroyed) return;
          sent += 1;
          response.write(chunk, sent < 40 ? more : () => response.end());
        };
        more();
      },
      /too long/,
    ],
  ];
  for (const [what, answer, reason] of BAD) {
    test(`[F35] a ${what} list is reported, and what was known stays`, async (context) => {
      const baseUrl = await provider(context, answer);
      const { documents, options, model } = await fixture(baseUrl);
      const timeoutMs = what === 'slow' ? 50 : PATIENCE_MS;
      const { asked, failed } = await refreshModelLists({ ...options, timeoutMs });
      assert.deepEqual([asked.length, failed.length], [0, 1]);
      assert.match(failed[0]?.reason ?? '', reason);
      assert.equal(documents.puts, 0);
      assert.equal((await model())?.maxOutputTokens, 4_096);
    });
  }

  test('[F35] a provider that cannot be reached is reported', async () => {
    const { options } = await fixture('http://127.0.0.1:1/v1');
    const { failed } = await refreshModelLists(options);
    assert.deepEqual(failed, [{ provider: 'house', reason: 'ECONNREFUSED' }]);
  });

  test('[F35] in the background a failure is a line in the log, and nothing else', async () => {
    const lines: string[] = [];
    const log: Log = { ...NO_LOG, warn: (_, line) => void lines.push(line) };
    const { options } = await fixture('http://127.0.0.1:1/v1');
    assert.equal(await refreshInBackground(options, log), false);
    const broken: Documents = {
      getDocument: async () => {
        throw new Error('the store is gone');
      },
      putDocument: async () => {},
    };
    assert.equal(await refreshInBackground({ ...options, documents: broken }, log), false);
    assert.deepEqual(lines, [
      'a provider did not give its model list; the last one stays in use',
      'the model lists of providers could not be stored; the last ones stay in use',
    ]);
  });

  test('a gateway that closes gives up a provider that does not answer', async (context) => {
    const closing = new AbortController();
    const baseUrl = await provider(context, () => closing.abort());
    const { options } = await fixture(baseUrl);
    const { failed } = await refreshModelLists({ ...options, signal: closing.signal });
    assert.equal(failed.length, 1);
  });

  test('newer lists of another gateway are noticed once each', async () => {
    const documents = new MemoryDocuments();
    let changes = 0;
    const watch = watchModelLists(documents, async () => {
      changes += 1;
    });
    await watch.look();
    await watch.look();
    assert.equal(changes, 0);
    await documents.putDocument(MODEL_LISTS_DOCUMENT, '{}');
    await watch.look();
    await watch.look();
    assert.equal(changes, 1);
    watch.stop();
  });
});
