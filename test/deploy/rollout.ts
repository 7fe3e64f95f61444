/** [F30] Two releases side by side: a rollout under load fails no request and charges each once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rollingUpgrade } from './rolling.ts';
import { tool } from './tools.ts';

describe('a rollout', { skip: tool('nginx').skip, timeout: 400_000 }, () => {
  test('of the next release, with a migration, behind nginx and under load: no failed request, every one charged once, a clean audit', async (context) => {
    const { complete, failures, charged, versions, audit, ms } = await rollingUpgrade();
    for (const [name, value] of Object.entries(ms)) context.diagnostic(`${(value / 1_000).toFixed(1)} s: ${name}`);
    context.diagnostic(`${complete} answers`);
    assert.deepEqual(failures, []);
    assert.ok(complete >= 80, String(complete));
    assert.equal(charged, complete);
    assert.deepEqual(versions, ['0.2.0', '0.2.1']);
    assert.match(audit, /^OK: every balance equals its entries/);
  });
});
