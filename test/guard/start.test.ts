/** What a plain start loads: the time to the first answer is mostly the time to load modules. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadedModules } from './counters.ts';

/**
 * Each is loaded when it is needed: a config file, a price to look up, an exact count, PostgreSQL, a package as provider,
 * an operator's request.
 */
const LATER = [
  'yaml',
  '@pydantic/genai-prices',
  'gpt-tokenizer',
  'typebox',
  'pg',
  'ai',
  '@ai-sdk',
  'fastify',
  '@fastify',
  'prom-client',
  'ws',
];

test('a start without a config file, and a first answer, load no package that only others need', async () => {
  const { call, startedGateway } = await import('../support/started-gateway.ts');
  const folder = await mkdtemp(join(tmpdir(), 'gateway-guard-'));
  const before = process.cwd();
  // There must be no config file at the default place.
  process.chdir(folder);
  // Workers load what the test runner imports, by paths relative to the working directory.
  await symlink(join(before, 'test'), join(folder, 'test'));
  try {
    await using gateway = await startedGateway();
    const key = /credit key .*: +(\S+)/.exec(gateway.printed.join('\n'))?.[1] ?? '';
    const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await call(`${gateway.origin}/v1/chat/completions`, { key, body })).status, 200);
    const loaded = LATER.filter((name) => loadedModules.some((url) => url.includes(`/node_modules/${name}/`)));
    assert.deepEqual(loaded, []);
    assert.ok(
      loadedModules.some((url) => url.includes('/node_modules/undici/')),
      'what is needed was seen',
    );
  } finally {
    process.chdir(before);
    await rm(folder, { recursive: true, force: true });
  }
});
