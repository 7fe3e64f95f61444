/** The request log and a process that dies, or a log that cannot be written: requests and charges do not depend on it. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'undici';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { RequestLogFile, requestLogFile } from '../../../src/observe/request-log/sqlite/file.ts';
import { openFileReader } from '../../../src/observe/request-log/sqlite/file-reader.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { bodyOf } from '../../support/requests.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';

interface Answered {
  readonly id: string;
  readonly atMs: number;
}

/** Asks again and again over one connection until that breaks. */
class LoadingClient {
  readonly answered: Answered[] = [];
  readonly ended: Promise<void>;
  /** When it sent what was answered last. */
  #sentAtMs = 0;

  constructor(key: CreatedKey) {
    this.ended = this.#load(key);
  }

  /**
   * Answers after which the gateway has lived for another second: it has answered what was sent after that. By the clock alone,
   * a gateway to which a busy machine gave no time in its last second would have lost more.
   */
  get old(): readonly Answered[] {
    return this.answered.filter(({ atMs }) => atMs < this.#sentAtMs - 1_000);
  }

  async #load({ origin, key }: CreatedKey): Promise<void> {
    const client = new Client(origin);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const body = JSON.stringify(bodyOf('chat', 'Hello', { max_tokens: 5 }));
    for (;;) {
      const sentAtMs = performance.now();
      const request = { path: '/v1/chat/completions', method: 'POST', headers, body } as const;
      const response = await client.request(request).catch(() => null);
      const whole = await response?.body.text().catch(() => null);
      if (response === null || whole === null || response.statusCode !== 200) break;
      this.answered.push({ id: String(response.headers['x-request-id']), atMs: performance.now() });
      this.#sentAtMs = sentAtMs;
    }
    await client.destroy();
  }
}

function chat(key: CreatedKey): Promise<Response> {
  return call(`${key.origin}/v1/chat/completions`, { key: key.key, body: bodyOf('chat', 'Hello', { max_tokens: 5 }) });
}

async function logged(dataDir: string): Promise<Set<string>> {
  const reader = openFileReader(new RequestLogFile(requestLogFile(dataDir)));
  const ids = new Set<string>();
  for (let before: string | null = null; ; ) {
    const page = await reader.list({ limit: 1_000, before });
    for (const { id } of page.entries) ids.add(id);
    before = page.next;
    if (before === null) break;
  }
  await reader.close();
  return ids;
}

describe('a gateway that is killed under load', () => {
  test('loses at most the last second of its request log, and no charge', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-crash-'));
    try {
      await writeFile(configFileIn(dataDir), '{}');
      const gateway = await gatewayProcess(dataDir);
      const key = await gateway.admin.createKey({ mode: 'credit', credit: '1000', rpm_limit: 1_000_000 });
      const clients = Array.from({ length: 8 }, () => new LoadingClient(key));
      while (clients.some(({ old }) => old.length === 0)) await delay(50);
      await gateway.kill('SIGKILL');
      await Promise.all(clients.map(({ ended }) => ended));
      const ids = await logged(dataDir);
      assert.deepEqual(
        clients.flatMap(({ old }) => old).filter(({ id }) => !ids.has(id)),
        [],
      );
      const answered = clients.flatMap((client) => client.answered);
      await using again = await startedGateway({ dataDir });
      const view = await again.admin.showKey(key.id);
      assert.ok(view.requests >= answered.length, `${view.requests} charges for ${answered.length} answers`);
      assert.deepEqual((await again.audit()).findings, []);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

describe('a request log that cannot be written', () => {
  test('[F34] stops no request and no charge', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-crash-'));
    // Not a file, so that nothing can be written there.
    mkdirSync(requestLogFile(dataDir));
    try {
      await using gateway = await startedGateway({ dataDir });
      const key = await gateway.creditKey();
      for (let i = 0; i < 3; i++) assert.equal((await chat(key)).status, 200);
      assert.equal((await gateway.admin.showKey(key.id)).requests, 3);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  test('that is orderly stopped has every request', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-crash-'));
    try {
      const ids: string[] = [];
      for (let start = 0; start < 2; start++) {
        await using gateway = await startedGateway({ dataDir });
        const key = await gateway.creditKey();
        for (let i = 0; i < 5; i++) ids.push((await chat(key)).headers.get('x-request-id') ?? '');
      }
      assert.deepEqual(await logged(dataDir), new Set(ids));
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
