import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { scrape } from '../../../src/process/metrics.ts';

test('a scrape is refused where a worker does not answer: a sum without it would look like a restart', async () => {
  const settings = readSettings({ GATEWAY_WORKERS: '2' });
  const serving = {
    ready: async () => true,
    catalog: () => assert.fail('nothing else is read'),
    metrics: () => Promise.reject(new Error('a worker did not answer within 10000 ms')),
  };
  const ledger = { stats: () => assert.fail('nothing else is read') };
  await assert.rejects(
    scrape({
      settings,
      serving,
      ledger,
      audits: { last: null },
      alerts: { keysBelowCost: null },
      clock: { reading: () => ({}) },
      operators: { unauthenticated: 0 },
      ownFiles: () => ({ problems: [], certificates: [] }),
    }),
    {
      code: 'unavailable',
      message: 'no metrics at present: a worker did not answer within 10000 ms',
    },
  );
});
