import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Batcher } from '../../../../src/ledger/group-commit/batcher.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import type { Operation, Result } from '../../../../src/ledger/operations.ts';
import { MARK_INTERVAL_MS, type Mark } from '../../../../src/ledger/port.ts';
import type { Store } from '../../../../src/ledger/store.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { settleRequest, usageRecord } from '../../../contract/fixtures.ts';

/** A store that answers when the test says so. */
class HeldStore implements Store {
  readonly batches: (readonly Operation[])[] = [];
  readonly #answers: ((error: Error | null) => void)[] = [];
  closed = false;

  apply(batch: readonly Operation[]): Promise<readonly Result[]> {
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      this.#answers.push((error) => (error === null ? resolve(batch.map(() => null)) : reject(error)));
    });
  }

  answer(error: Error | null = null): void {
    this.#answers.shift()?.(error);
  }

  names(): readonly (readonly string[])[] {
    return this.batches.map((batch) => batch.map(({ op }) => op));
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

function markOf(holdId: string, charge: bigint): Mark {
  return { holdId, keyId: 'k', charge, tokens: usageRecord().tokens };
}

/** Until the batch of this turn is out, or the answers of the store have arrived. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await nextTurn();
}

describe('batcher', () => {
  test('what is asked in one turn goes as one batch; what comes meanwhile waits and goes together', async () => {
    const store = new HeldStore();
    const batcher = new Batcher(store);
    const first = [batcher.run<'ping'>({ op: 'ping' }), batcher.run<'summary'>({ op: 'summary', keyId: 'k' })];
    await turns();
    const second = [batcher.run<'ping'>({ op: 'ping' })];
    await turns();
    second.push(batcher.run<'ping'>({ op: 'ping' }));
    await turns();
    assert.deepEqual(store.names(), [['ping', 'summary']]);
    store.answer();
    await Promise.all(first);
    await turns();
    assert.deepEqual(store.names(), [
      ['ping', 'summary'],
      ['ping', 'ping'],
    ]);
    store.answer();
    await Promise.all(second);
    await batcher.close();
    assert.equal(store.closed, true);
  });

  test('what must wait for a flush anyway goes together behind the one that runs; what need not goes at once', async () => {
    const flushes: (() => void)[] = [];
    const held = new HeldStore();
    const store: Store = {
      apply: (batch) => held.apply(batch),
      flushed: () => new Promise((resolve) => flushes.push(resolve)),
      close: async () => {},
    };
    const batcher = new Batcher(store);
    const ping = (): Promise<null> => batcher.run<'ping'>({ op: 'ping' });
    const told = [ping()];
    await turns();
    held.answer();
    await turns();
    assert.equal(flushes.length, 1);
    told.push(ping());
    await turns();
    told.push(ping());
    await turns();
    assert.deepEqual(held.names(), [['ping']]);
    flushes.shift()?.();
    await turns();
    assert.deepEqual(held.names(), [['ping'], ['ping', 'ping']]);
    held.answer();
    await turns();
    told.push(ping());
    const summary = batcher.run<'summary'>({ op: 'summary', keyId: 'k' });
    await turns();
    assert.deepEqual(held.names().at(-1), ['ping', 'summary']);
    held.answer();
    assert.equal(await summary, null);
    for (const flush of flushes) flush();
    await Promise.all(told);
  });

  test('where several wait together, the next ones wait for all that are under way, and no longer than a moment', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const flushes: (() => void)[] = [];
    const batches: string[][] = [];
    const store: Store = {
      apply: async (batch) => {
        batches.push(batch.map(({ op }) => op));
        return batch.map(({ op }) => (op === 'recover' ? { charged: 0, voided: 1, more: false } : null));
      },
      now: () => ({ kind: 'admitted', rate: null, held: 1n }),
      flushed: () => new Promise((resolve) => flushes.push(resolve)),
      close: async () => {},
    };
    const batcher = new Batcher(store);
    const begin = (id: string): void => {
      const hold = { id, amount: 1n, amountMin: 1n, ttlMs: 1_000 };
      batcher.now<'admit'>({ op: 'admit', owner: 'o', request: { keyId: 'k', keyVersion: 1, claim: null, hold } });
    };
    const told: Promise<unknown>[] = [];
    const end = (holdId: string): void => {
      told.push(batcher.run<'void'>({ op: 'void', keyId: 'k', holdId }));
    };
    const flushNow = async (): Promise<void> => {
      for (const flush of flushes.splice(0)) flush();
      await turns();
    };

    const together = async (...ids: string[]): Promise<void> => {
      for (const id of ids) begin(id);
      for (const id of ids) end(id);
      await turns();
      assert.deepEqual(batches.splice(0), [ids.map(() => 'void')]);
      await flushNow();
    };

    begin('under way');
    await together('alone');
    await together('a', 'b', 'c');

    begin('d');
    end('d');
    await turns();
    assert.deepEqual(batches, [], 'one has not come yet');
    end('under way');
    await turns();
    assert.deepEqual(batches.splice(0), [['void', 'void']], 'all have come');
    await flushNow();

    await together('e', 'f', 'g');
    begin('slow');
    begin('h');
    end('h');
    await turns();
    assert.deepEqual(batches, []);
    t.mock.timers.tick(4);
    await turns();
    assert.deepEqual(batches.splice(0), [['void']], 'nobody waits for long');
    await flushNow();

    end('slow');
    await turns();
    batches.length = 0;
    await flushNow();
    await together('i', 'j', 'k');
    begin('recovered');
    await batcher.run<'recover'>({ op: 'recover', limit: 1 });
    batches.length = 0;
    begin('l');
    end('l');
    await turns();
    assert.deepEqual(batches.splice(0), [['void']], 'a hold that was recovered is not waited for');
    await flushNow();
    await Promise.all(told);
    await batcher.close();
  });

  test('a failing store fails every operation of its batch, and the next batch goes its own way', async () => {
    const store = new HeldStore();
    const batcher = new Batcher(store);
    const failed = Promise.allSettled([batcher.run<'ping'>({ op: 'ping' }), batcher.run<'ping'>({ op: 'ping' })]);
    await turns();
    const later = batcher.run<'ping'>({ op: 'ping' });
    store.answer(new Error('the disk is gone'));
    for (const result of await failed) {
      assert.ok(result.status === 'rejected' && result.reason instanceof StoreError);
      assert.equal(result.reason.message, 'the disk is gone');
    }
    await turns();
    store.answer();
    assert.equal(await later, null);
    await batcher.close();
  });

  test('a full queue refuses more, instead of growing without end', async () => {
    const store = new HeldStore();
    const batcher = new Batcher(store, { queueMax: 3, batchMax: 2 });
    const accepted = Array.from({ length: 3 }, () => batcher.run<'ping'>({ op: 'ping' }));
    await assert.rejects(batcher.run<'ping'>({ op: 'ping' }), StoreError);
    await turns();
    store.answer();
    await turns();
    store.answer();
    await Promise.all(accepted);
    assert.deepEqual(store.names(), [['ping', 'ping'], ['ping']]);
    await batcher.close();
  });

  test('marks ride on the next batch, the newest of each hold; those of a hold that ends are dropped', async () => {
    const store = new HeldStore();
    const ledger = createLedger(store);
    ledger.mark(markOf('a', 1n));
    ledger.mark(markOf('b', 1n));
    ledger.mark(markOf('a', 2n));
    ledger.mark(markOf('c', 1n));
    ledger.mark(markOf('d', 1n));
    await turns();
    assert.deepEqual(store.batches, []);
    const settled = ledger.settle(settleRequest('k', 'c', 1n));
    const voided = ledger.void('d', 'k');
    await turns();
    assert.deepEqual(store.names(), [['settle', 'void', 'mark']]);
    assert.deepEqual(store.batches[0]?.[2], { op: 'mark', number: 1, marks: [markOf('a', 2n), markOf('b', 1n)] });
    store.answer();
    await Promise.all([settled, voided]);
    await ledger.close();
    assert.equal(store.batches.length, 1);
  });

  test('a mark goes by itself when no batch comes in time, and again when its batch failed', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = new HeldStore();
    const batcher = new Batcher(store, { markDelayMs: 1_000 });
    batcher.mark(markOf('a', 1n));
    t.mock.timers.tick(999);
    await turns();
    assert.deepEqual(store.batches, []);
    t.mock.timers.tick(1);
    await turns();
    assert.deepEqual(store.batches, [[{ op: 'mark', number: 1, marks: [markOf('a', 1n)] }]]);
    store.answer(new Error('down'));
    await turns();
    t.mock.timers.tick(1_000);
    await turns();
    assert.equal(store.batches.length, 2);
    assert.deepEqual(store.batches[1], [{ op: 'mark', number: 2, marks: [markOf('a', 1n)] }]);
    store.answer();
    await batcher.close();
  });

  test('a mark whose time comes while a batch is under way goes when that is over', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = new HeldStore();
    const batcher = new Batcher(store, { markDelayMs: 50 });
    const asked = batcher.run<'ping'>({ op: 'ping' });
    await turns();
    batcher.mark(markOf('h', 1n));
    t.mock.timers.tick(50);
    await turns();
    assert.deepEqual(store.names(), [['ping']]);
    store.answer();
    await asked;
    await turns();
    assert.deepEqual(store.names(), [['ping'], ['mark']]);
    store.answer();
  });

  test('[F2] marks of very many holds go in several batches, one after the other, and others in between', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = new HeldStore();
    const batcher = new Batcher(store, { markDelayMs: 50 });
    const names = Array.from({ length: 1_200 }, (_, index) => `h${index}`);
    for (const name of names) batcher.mark(markOf(name, 1n));
    t.mock.timers.tick(50);
    await turns();
    assert.deepEqual(store.names(), [['mark']]);
    // A later mark has its own time; those that are left do not wait for it.
    batcher.mark(markOf('late', 1n));
    const asked = batcher.run<'ping'>({ op: 'ping' });
    for (let answered = 0; answered < 3; answered++) {
      store.answer();
      await turns();
    }
    await asked;
    assert.deepEqual(store.names(), [['mark'], ['ping', 'mark'], ['mark']]);
    const marked = store.batches.flatMap((batch) => batch.flatMap((each) => (each.op === 'mark' ? each.marks : [])));
    assert.deepEqual(
      marked.map(({ holdId }) => holdId),
      [...names, 'late'],
    );
    await batcher.close();
  });

  test('marks of very many holds wait, where the store fails, as those of one do', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = new HeldStore();
    const batcher = new Batcher(store, { markDelayMs: 50 });
    for (let index = 0; index < 1_200; index++) batcher.mark(markOf(`h${index}`, 1n));
    t.mock.timers.tick(50);
    await turns();
    store.answer(new Error('down'));
    await turns();
    assert.equal(store.batches.length, 1);
    t.mock.timers.tick(50);
    await turns();
    assert.equal(store.batches.length, 2);
    for (let answered = 0; answered < 3; answered++) {
      store.answer();
      await turns();
    }
    assert.equal(store.batches.length, 4);
    await batcher.close();
  });

  test('[F2] what was produced more than a second ago is in the store, however unlucky its time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const STEP_MS = 10;
    let nowMs = 0;
    /** Up to when the store knows of what was produced. */
    let storedMs = 0;
    const batcher = new Batcher({
      apply: async (batch) => {
        for (const operation of batch) if (operation.op === 'mark') storedMs = Number(operation.marks[0]?.charge);
        return batch.map(() => null);
      },
      close: async () => {},
    });
    const marking = setInterval(() => batcher.mark(markOf('h', BigInt(nowMs))), MARK_INTERVAL_MS);
    let oldestMs = 0;
    for (; nowMs < 10_000; nowMs += STEP_MS) {
      oldestMs = Math.max(oldestMs, nowMs - storedMs);
      t.mock.timers.tick(STEP_MS);
      await turns();
    }
    clearInterval(marking);
    // The commit itself takes some milliseconds.
    assert.ok(oldestMs <= 950, `${oldestMs} ms would have been lost`);
    await batcher.close();
  });

  test('closing sends what waits, and refuses what comes later', async () => {
    const store = new HeldStore();
    const batcher = new Batcher(store);
    const waiting = batcher.run<'ping'>({ op: 'ping' });
    batcher.mark(markOf('a', 1n));
    const closed = batcher.close();
    await assert.rejects(batcher.run<'ping'>({ op: 'ping' }), StoreError);
    await turns();
    assert.deepEqual(store.names(), [['ping', 'mark']]);
    store.answer();
    await waiting;
    await closed;
    assert.equal(store.closed, true);
  });
});
