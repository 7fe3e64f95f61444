import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADAPTERS } from '../../../bench/peers/all.ts';

test('every gateway is warmed up as long as other programs on Node, whatever starts it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-peers-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const context = { upstreamOrigin: 'http://127.0.0.1:1', tls: null, port: 1, sparePort: 2, shapes: [], keys: 0 };
  // Those on grown books fill them first.
  const gateways = ADAPTERS.filter(({ name }) => name.startsWith('gateway') && !name.includes('grown'));
  assert.ok(gateways.some(({ name }) => name === 'gateway pg'));
  for (const { name, launch } of gateways) {
    const { runsOnNode } = launch({ ...context, folder: join(folder, name) });
    assert.equal(runsOnNode, true, name);
  }
});
