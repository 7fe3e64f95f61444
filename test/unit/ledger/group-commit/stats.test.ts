import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GroupCommit } from '../../../../src/ledger/group-commit/group-commit.ts';
import type { Store } from '../../../../src/ledger/store.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { settleRequest } from '../../../contract/fixtures.ts';

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

test('the backlog has each end of a hold that failed, from its failure until the store has taken it, once', async () => {
  let failure: Error | null = null;
  let flushFailure: Error | null = null;
  const held: (() => void)[] = [];
  let holding = false;
  const store: Store = {
    apply: async (batch) => {
      if (holding) await new Promise<void>((resolve) => held.push(resolve));
      if (failure !== null) throw failure;
      return batch.map(() => null);
    },
    flushed: async () => {
      if (flushFailure !== null) throw flushFailure;
    },
    close: async () => {},
  };
  const operations = new GroupCommit(store, { queueMax: 3 });
  const backlog = async (): Promise<number> => (await operations.stats()).backlog;
  const settle = (holdId: string) =>
    operations.run<'settle'>({ op: 'settle', request: settleRequest('k', holdId, 1n) });
  const voided = (holdId: string) => operations.run<'void'>({ op: 'void', holdId, keyId: 'k' });
  const ping = () => operations.run<'ping'>({ op: 'ping' });
  const failed = (work: Promise<unknown>) => assert.rejects(work, StoreError);

  failure = new StoreError('the disk is full');
  await Promise.all([failed(settle('h1')), failed(voided('h2')), failed(ping())]);
  assert.equal(await backlog(), 2, 'what nobody sends again does not wait');
  await failed(settle('h1'));
  assert.equal(await backlog(), 2);

  const again = failed(settle('h1'));
  const first = failed(settle('h3'));
  assert.equal(await backlog(), 3, 'in the queue again, and for the first time');
  const fourth = failed(voided('h4'));
  await failed(voided('h5'));
  assert.equal(await backlog(), 5, 'where the queue was full as well');
  await Promise.all([again, first, fourth]);
  assert.equal(await backlog(), 5);

  failure = null;
  flushFailure = new StoreError('the disk failed');
  await failed(settle('h6'));
  assert.equal(await backlog(), 6);
  flushFailure = null;
  holding = true;
  const taken = ['h1', 'h3', 'h6'].map(settle);
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await backlog(), 6, 'under way');
  holding = false;
  held.shift()?.();
  await Promise.all(taken);
  assert.equal(await backlog(), 3);
  await Promise.all(['h2', 'h4', 'h5'].map(voided));
  assert.equal(await backlog(), 0);
});
