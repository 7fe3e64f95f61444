import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADAPTERS } from '../../../bench/peers/all.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('every gateway is warmed up as long as other programs on Node, whatever starts it', () => {
  const folder = temporaryFolder();
  const context = { upstreamOrigin: 'http://127.0.0.1:1', tls: null, port: 1, sparePort: 2, shapes: [], keys: 0 };
  // Those on grown books fill them first.
  const gateways = ADAPTERS.filter(({ name }) => name.startsWith('gateway') && !name.includes('grown'));
  assert.ok(gateways.some(({ name }) => name === 'gateway pg'));
  for (const { name, launch } of gateways) {
    const { runsOnNode } = launch({ ...context, folder: join(folder, name) });
    assert.equal(runsOnNode, true, name);
  }
});
