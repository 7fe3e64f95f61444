/** A setting of an earlier release that does nothing here is named at the start, and nothing else changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_LOG } from '../../src/core/log.ts';
import { startedGateway } from '../support/started-gateway.ts';

async function warningsWith(env: Record<string, string>): Promise<string[]> {
  const warnings: string[] = [];
  const warn = (_fields: object, message: string): unknown => warnings.push(message);
  await using gateway = await startedGateway({ env, log: { ...NO_LOG, warn } });
  assert.equal((await fetch(`${gateway.origin}/healthz`)).status, 200);
  return warnings;
}

test('GATEWAY_HTTP is one line in the log, whatever it is set to', async () => {
  for (const value of ['lean', 'node', 'other']) {
    const warnings = await warningsWith({ GATEWAY_HTTP: value });
    assert.equal(warnings.filter((line) => /GATEWAY_HTTP has no effect any longer/.test(line)).length, 1, value);
  }
  assert.deepEqual(await warningsWith({}), []);
});

test('several workers on the embedded store are one process, and a line in the log that says what has them', async () => {
  const warnings = await warningsWith({ GATEWAY_WORKERS: '2' });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^several workers need PostgreSQL: .*gateway migrate --to postgres$/);
});
