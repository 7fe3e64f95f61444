/** kill -9, restart at once: tokens that were counted stay counted, and requests that died with the process are over. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { startPostgres } from '../../support/postgres.ts';
import { call } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { farProvider, MODEL } from '../chaos/load.ts';

const MINUTE_MS = 60_000;
const OUTPUT_TOKENS = 2;
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'alpha-sim',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: OUTPUT_TOKENS, total_tokens: 7 },
});

for (const flags of [[], ['--workers', '2']]) {
  const how = flags.length > 0 ? ` with ${flags.join(' ')}` : '';
  test(`[R72] killed again and again${how}: tokens per minute stay counted, parallel requests do not`, async (t) => {
    // What is never answered dies with its process.
    const provider = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      request.once('end', () => {
        if (body.includes('answer me')) response.setHeader('content-type', 'application/json').end(ANSWER);
        else provider.emit('unanswered');
      });
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    t.after(() => {
      provider.closeAllConnections();
      provider.close();
    });
    await using postgres = flags.length === 0 ? null : await startPostgres();
    const env =
      postgres === null
        ? {}
        : { DATABASE_URL: postgres.url(await postgres.createDatabase()), GATEWAY_LEASE_SECONDS: '1' };
    const dataDir = temporaryFolder('gateway-limits');
    await writeFile(join(dataDir, 'gateway.yaml'), farProvider((provider.address() as AddressInfo).port));
    const start = async () => {
      const gateway = await gatewayProcess(dataDir, env, flags);
      t.after(() => gateway.kill('SIGKILL'));
      const ask = (key: string, said: string) => {
        const body = { model: MODEL, messages: [{ role: 'user', content: said }] };
        return call(`${gateway.origin}/v1/chat/completions`, { key, body });
      };
      /** A request that the provider has and never answers. */
      const begin = async (key: string): Promise<void> => {
        const received = once(provider, 'unanswered');
        void ask(key, 'forget me').catch(() => {});
        await received;
      };
      const refusedBy = async (key: string): Promise<string> => {
        const response = await ask(key, 'answer me');
        const { error } = (await response.json()) as { error?: { code: string; message: string } };
        if (response.status === 200) return '';
        assert.deepEqual([response.status, error?.code], [429, 'rate_limit_exceeded']);
        const retryAfterS = Number(response.headers.get('retry-after'));
        assert.ok(retryAfterS > 0 && retryAfterS <= 60, String(retryAfterS));
        return error?.message ?? '';
      };
      return { gateway, begin, refusedBy };
    };

    const first = await start();
    const { admin, origin } = first.gateway;
    const body = { model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'answer me' }] };
    const lone = await admin.createKey({ mode: 'credit', credit: '1', parallel_limit: 1 });
    const counted = await call(`${origin}/v1/messages/count_tokens`, { key: lone.key, body });
    const { input_tokens: input } = (await counted.json()) as { input_tokens: number };
    const limits = { tpm_limit: 4 * input + OUTPUT_TOKENS };
    const root = await admin.accounts.create({ name: 'root', ...limits });
    await admin.accounts.addCredit(root.id, { amount: '1' });
    const below = await admin.createKey({ mode: 'credit', account: root.id });
    const own = await admin.createKey({ mode: 'credit', credit: '1', ...limits });
    const keys = [own.key, below.key];
    const firstAt = performance.now();
    for (const key of keys) {
      assert.equal(await first.refusedBy(key), '');
      await first.begin(key);
    }
    await first.begin(lone.key);
    assert.match(await first.refusedBy(lone.key), /parallel requests is reached/);
    await first.gateway.kill('SIGKILL');

    /** At once where the store is the process's own; with others, when its lease is over. */
    const free = async ({ refusedBy }: Awaited<ReturnType<typeof start>>): Promise<void> => {
      for (;;) {
        const message = await refusedBy(lone.key);
        if (message === '') return;
        assert.ok(postgres !== null);
        assert.match(message, /parallel requests is reached/);
      }
    };
    const second = await start();
    await free(second);
    await second.begin(lone.key);
    // Two inputs and one output are counted: another input fits, whose output leaves no room for a fourth.
    for (const key of keys) assert.equal(await second.refusedBy(key), '');
    await second.gateway.kill('SIGKILL');

    const third = await start();
    for (const key of keys) {
      const message = await third.refusedBy(key);
      // On a machine that needs a minute for two starts, what was counted first may count no more.
      if (message === '') assert.ok(performance.now() - firstAt >= MINUTE_MS, 'tokens were forgotten');
      else assert.match(message, /tokens per minute is reached/);
    }
    await free(third);
    await third.gateway.kill('SIGKILL');
  });
}
