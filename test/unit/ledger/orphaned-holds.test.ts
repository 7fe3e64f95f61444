/** Holds of admissions whose answer was lost: given back when the store answers again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedgerOn } from '../../../src/ledger/ledger.ts';
import { StoreError } from '../../../src/storage/errors.ts';
import { admitRequest } from '../../contract/fixtures.ts';

test('[F30] the run of such a hold ends before it: no run lives without its hold', async () => {
  const asked: string[] = [];
  const voided = Promise.withResolvers<void>();
  const runner = {
    now: () => null,
    run: async ({ op, end, holdId }: { op: string; end?: object; holdId?: string }) => {
      if (op === 'admit') throw new StoreError('the answer was lost');
      asked.push(JSON.stringify([op, holdId, end]));
      if (asked.length === 3) voided.resolve();
      return null;
    },
    mark: () => {},
    stats: () => {},
    close: async () => {},
  };
  const ledger = createLedgerOn(runner as unknown as Parameters<typeof createLedgerOn>[0]);
  const run = { id: 'resp_1', response: '{}', input: null, keepMs: 1, keyBytesMax: 1 };
  const { hold } = admitRequest('k', 'h1', 1n);
  assert.ok(hold !== null);
  await assert.rejects(ledger.admit({ ...admitRequest('k', 'h1', 1n), hold: { ...hold, run } }), StoreError);
  await assert.rejects(ledger.admit(admitRequest('k', 'h2', 1n)), StoreError);
  await voided.promise;
  assert.deepEqual(asked.toSorted(), [
    '["endRun",null,{"id":"resp_1","status":"lost","events":[]}]',
    '["void","h1",null]',
    '["void","h2",null]',
  ]);
  assert.ok(
    asked.indexOf('["endRun",null,{"id":"resp_1","status":"lost","events":[]}]') < asked.indexOf('["void","h1",null]'),
  );
  await ledger.close();
});
