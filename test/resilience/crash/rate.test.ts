/** kill -9, restart at once: a request that was forwarded keeps its place in the rate limit, settled or not. */
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

const LIMIT = 20;
const KILLS = 5;
const REQUESTS_AT_ONCE = 8;
const MINUTE_MS = 60_000;

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'alpha-sim',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
});

for (const flags of [[], ['--workers', '2']]) {
  test(`[R11] killed again and again${flags.length > 0 ? ` with ${flags.join(' ')}` : ''}: the provider never sees more than the limit within a minute`, async (t) => {
    let sentAtMs = 0;
    /**
     * Between these times a request that came to the provider was admitted. Every second one is never answered: its process is
     * killed meanwhile.
     */
    const arrivals: { readonly sentAtMs: number; readonly arrivedAtMs: number }[] = [];
    const provider = createServer((request, response) => {
      arrivals.push({ sentAtMs, arrivedAtMs: performance.now() });
      const answered = arrivals.length % 2 === 0;
      request.resume().once('end', () => {
        if (answered) response.setHeader('content-type', 'application/json').end(ANSWER);
      });
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    t.after(() => {
      provider.closeAllConnections();
      provider.close();
    });
    await using postgres = flags.length === 0 ? null : await startPostgres();
    const env = postgres === null ? {} : { DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    const dataDir = temporaryFolder('gateway-rate');
    await writeFile(join(dataDir, 'gateway.yaml'), farProvider((provider.address() as AddressInfo).port));

    let key = '';
    for (let start = 0; start <= KILLS; start++) {
      const gateway = await gatewayProcess(dataDir, env, flags);
      t.after(() => gateway.kill('SIGKILL'));
      if (start === 0) {
        key = (await gateway.admin.createKey({ mode: 'credit', credit: '1', rpm_limit: LIMIT })).key;
      }
      const body = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] };
      sentAtMs = performance.now();
      const requests = Array.from({ length: REQUESTS_AT_ONCE }, async () => {
        // The connection of a request that the provider does not answer ends with the process.
        const response = await call(`${gateway.origin}/v1/chat/completions`, { key, body }).catch(() => null);
        await response?.text().catch(() => '');
      });
      // Half of those that are admitted are answered, and so is everything that is refused.
      await ended(requests, REQUESTS_AT_ONCE / 2);
      await gateway.kill('SIGKILL');
      await Promise.all(requests);
    }

    // A kill can come between an admission and its forwarding.
    assert.ok(arrivals.length > LIMIT / 2, `${arrivals.length} requests came to the provider`);
    for (const [index, { arrivedAtMs }] of arrivals.slice(LIMIT).entries()) {
      const tookMs = arrivedAtMs - (arrivals[index]?.sentAtMs ?? 0);
      assert.ok(tookMs > MINUTE_MS - 100, `${LIMIT + 1} requests were admitted within ${tookMs} ms`);
    }
  });
}

/** Resolves when so many of these have ended. */
function ended(promises: readonly Promise<void>[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    for (const promise of promises) {
      void promise.finally(() => {
        left--;
        if (left === 0) resolve();
      });
    }
  });
}
