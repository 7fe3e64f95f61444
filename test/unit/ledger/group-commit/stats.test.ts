import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreError } from '../../../../src/ledger/errors.ts';
import { GroupCommit } from '../../../../src/ledger/group-commit/group-commit.ts';
import type { Store } from '../../../../src/ledger/store.ts';

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

test('the batches of requests and changes are counted, those that failed too, and reports are not', async () => {
  let failure: Error | null = null;
  const waiting: (() => void)[] = [];
  const background: Store = { apply: async (batch) => batch.map(() => null), close: async () => {} };
  const store: Store = {
    apply: async (batch) => {
      if (failure !== null) throw failure;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return batch.map(() => null);
    },
    background,
    close: async () => {},
  };
  const operations = new GroupCommit(store);
  await operations.run<'audit'>({ op: 'audit' });
  assert.equal(total((await operations.stats()).batchOperations.counts), 0);

  const pings = [operations.run<'ping'>({ op: 'ping' }), operations.run<'ping'>({ op: 'ping' })];
  assert.equal((await operations.stats()).backlog, 2);
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const sent = await operations.stats();
  assert.deepEqual([sent.backlog, sent.batchOperations.sum, total(sent.commitSeconds.counts)], [0, 2, 0]);
  waiting.shift()?.();
  await Promise.all(pings);
  assert.equal(total((await operations.stats()).commitSeconds.counts), 1);

  failure = new StoreError('the disk is full');
  await assert.rejects(operations.run<'ping'>({ op: 'ping' }), /the disk is full/);
  const { failedBatches, failedOperations, commitSeconds } = await operations.stats();
  assert.deepEqual([failedBatches, failedOperations, total(commitSeconds.counts)], [1, 1, 1]);
  await operations.run<'getKey'>({ op: 'getKey', keyId: 'k' });
  assert.equal(total((await operations.stats()).commitSeconds.counts), 2);
});

test('where the disk is waited for apart, only batches in which something waits for it count as commits', async () => {
  const store: Store = {
    apply: async (batch) => batch.map(() => null),
    flushed: async () => {},
    close: async () => {},
  };
  const operations = new GroupCommit(store);
  const commits = async () => total((await operations.stats()).commitSeconds.counts);
  await operations.run<'getKey'>({ op: 'getKey', keyId: 'k' });
  assert.equal(await commits(), 0);
  await operations.run<'ping'>({ op: 'ping' });
  assert.equal(await commits(), 1);
});
