/** From outside: a provider's own list decides what the gateway publishes, and never whether it starts. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startedGateway } from '../support/started-gateway.ts';

async function provider(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function configFor(baseUrl: string): string {
  return JSON.stringify({
    providers: { house: { kind: 'openai', base_url: baseUrl } },
    models: [{ id: 'm', provider: 'house', pricing: { input: 1, output: 2 }, public: true }],
    sandbox: false,
  });
}

async function published(
  origin: string,
): Promise<{ context_window: number | null; max_output_tokens: number } | undefined> {
  const response = await fetch(`${origin}/v1/models`);
  const { data } = (await response.json()) as { data: { context_window: number | null; max_output_tokens: number }[] };
  return data[0];
}

test('the limits that a provider lists are published, kept in the store, and shown by `gateway models`', async (context) => {
  let answers = true;
  const baseUrl = await provider(context, (_, response) => {
    if (answers) response.end(JSON.stringify({ data: [{ id: 'm', max_model_len: 32_768, max_output_tokens: 9_999 }] }));
    else response.writeHead(500).end();
  });
  const config = configFor(baseUrl);
  await using gateway = await startedGateway({ config });
  const { asked } = await gateway.admin.refreshModelLists();
  assert.deepEqual(asked, [{ provider: 'house', models: 1 }]);
  const model = await published(gateway.origin);
  assert.deepEqual([model?.context_window, model?.max_output_tokens], [32_768, 9_999]);

  const env = {
    ...process.env,
    GATEWAY_DATA: gateway.dataDir,
    GATEWAY_CONFIG: join(gateway.dataDir, 'gateway.yaml'),
  };
  const command = (...line: string[]) => promisify(execFile)(process.execPath, ['bin/gateway.mjs', ...line], { env });
  const [row] = JSON.parse((await command('models', '--json')).stdout);
  assert.equal(row.id, 'm');
  assert.deepEqual(row.price, {
    value: { input: 1, output: 2 },
    source: 'configured',
    from: 'the config file',
    date: null,
  });
  assert.deepEqual(
    [row.max_output_tokens.value, row.max_output_tokens.source, row.max_output_tokens.from],
    [9_999, 'listed', 'the model list of house'],
  );
  assert.match(row.max_output_tokens.date, /^\d{4}-\d{2}-\d{2}$/);
  assert.match(
    (await command('models')).stdout,
    /^MODEL .*\nm +1 \/ 2 +the config file +32768 +the model list of house/,
  );

  answers = false;
  await gateway.stop();
  await using again = await startedGateway({ config, dataDir: gateway.dataDir });
  assert.equal((await published(again.origin))?.max_output_tokens, 9_999);
});

test('[F35] a provider that never gives its list keeps the gateway neither from starting nor from stopping', async (context) => {
  const asked = Promise.withResolvers<void>();
  const baseUrl = await provider(context, () => asked.resolve());
  const gateway = await startedGateway({ config: configFor(baseUrl) });
  assert.deepEqual([(await published(gateway.origin))?.max_output_tokens], [4_096]);
  await asked.promise;
  await gateway[Symbol.asyncDispose]();
});

test('a provider that is added while the gateway runs is asked for its list', async (context) => {
  const list = (limit: number): RequestListener => {
    return (_, response) => response.end(JSON.stringify({ data: [{ id: 'm', max_output_tokens: limit }] }));
  };
  const config = (baseUrls: readonly string[]): string =>
    JSON.stringify({
      providers: Object.fromEntries(baseUrls.map((base_url, n) => [`p${n}`, { kind: 'openai', base_url }])),
      models: baseUrls.map((_, n) => ({
        id: `p${n}/m`,
        targets: [{ provider: `p${n}`, model: 'm' }],
        pricing: { input: 1, output: 2 },
        public: true,
      })),
      sandbox: false,
    });
  const first = await provider(context, list(1_111));
  await using gateway = await startedGateway({ config: config([first]) });
  const second = await provider(context, list(2_222));
  await writeFile(join(gateway.dataDir, 'gateway.yaml'), config([first, second]));
  let limits: (number | undefined)[] = [];
  for (const deadlineMs = Date.now() + 120_000; Date.now() < deadlineMs; await delay(20)) {
    const response = await fetch(`${gateway.origin}/v1/models`);
    const { data } = (await response.json()) as { data: { max_output_tokens?: number }[] };
    limits = data.map(({ max_output_tokens }) => max_output_tokens);
    if (limits.includes(1_111) && limits.includes(2_222)) break;
  }
  assert.deepEqual(limits, [1_111, 2_222]);
});
