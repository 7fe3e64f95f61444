/** The request log and a process that dies, or a log that cannot be written: requests and charges do not depend on it. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/api.ts';
import { requestLogFile } from '../../../src/observe/request-log/sqlite/file.ts';
import { openFileReader } from '../../../src/observe/request-log/sqlite/reader.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { bodyOf } from '../../support/requests.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';

interface Answered {
  readonly id: string;
  readonly atMs: number;
}

function chat(key: CreatedKey): Promise<Response> {
  return call(`${key.origin}/v1/chat/completions`, { key: key.key, body: bodyOf('chat', 'Hello', { max_tokens: 5 }) });
}

async function logged(dataDir: string): Promise<Set<string>> {
  const reader = openFileReader(requestLogFile(dataDir));
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
  for (const workers of ['1', '2']) {
    test(`loses at most the last second of its request log, and no charge, with ${workers} worker(s)`, async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'gateway-crash-'));
      try {
        await writeFile(configFileIn(dataDir), '{}');
        const gateway = await gatewayProcess(dataDir, { GATEWAY_WORKERS: workers });
        const key = await gateway.admin.createKey({ mode: 'credit', credit: '1000', rpm_limit: 1_000_000 });
        const answered: Answered[] = [];
        let killed = false;
        const load = async (): Promise<void> => {
          while (!killed) {
            const response = await chat(key).catch(() => null);
            if (response === null) return;
            const whole = await response.text().catch(() => null);
            if (whole === null || response.status !== 200) return;
            answered.push({ id: response.headers.get('x-request-id') ?? '', atMs: performance.now() });
          }
        };
        const clients = Array.from({ length: 8 }, load);
        // Long enough that some answers are older than a second, whatever the machine is busy with.
        while (answered.length < 20 || performance.now() - (answered[0]?.atMs ?? 0) < 1_500) {
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const killedAtMs = performance.now();
        await gateway.kill('SIGKILL');
        killed = true;
        await Promise.all(clients);
        const ids = await logged(dataDir);
        const old = answered.filter(({ atMs }) => atMs < killedAtMs - 1_000);
        assert.ok(old.length > 0);
        assert.deepEqual(
          old.filter(({ id }) => !ids.has(id)),
          [],
        );
        await using again = await startedGateway({ dataDir });
        const view = await again.admin.showKey(key.id);
        assert.ok(view.requests >= answered.length, `${view.requests} charges for ${answered.length} answers`);
        assert.deepEqual((await again.audit()).findings, []);
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    });
  }
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
      for (const workers of ['1', '2']) {
        await using gateway = await startedGateway({ dataDir, env: { GATEWAY_WORKERS: workers } });
        const key = await gateway.creditKey();
        for (let i = 0; i < 5; i++) ids.push((await chat(key)).headers.get('x-request-id') ?? '');
      }
      assert.deepEqual(await logged(dataDir), new Set(ids));
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
