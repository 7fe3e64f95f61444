import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, test } from 'node:test';
import { type BackgroundThread, BackgroundWorker } from '../../../../src/ledger/sqlite/background-client.ts';
import type { BackgroundTask } from '../../../../src/ledger/sqlite/background-tasks.ts';

const CHECKPOINT: BackgroundTask = { op: 'checkpoint' };

/** Answers each task at once, and says `asked to end` before it exits. */
class Thread extends EventEmitter implements BackgroundThread {
  ref(): void {}
  unref(): void {}

  postMessage(task: BackgroundTask | null): void {
    setImmediate(() => {
      if (task !== null) this.emit('message', { outcome: null });
      else {
        this.emit('asked to end');
        this.emit('exit');
      }
    });
  }
}

describe('the background thread', () => {
  test('ends when nothing is asked of it, and the next task starts another one', async () => {
    const threads: Thread[] = [];
    const start = (): Thread => {
      const thread = new Thread();
      threads.push(thread);
      return thread;
    };
    const worker = new BackgroundWorker('file', start, 1);
    for (const started of [1, 2, 3]) {
      assert.equal(await worker.do(CHECKPOINT), null);
      assert.equal(threads.length, started);
      await once(threads[started - 1] ?? new Thread(), 'asked to end');
    }
    await worker.close();
    assert.equal(threads.length, 3);
  });

  test('answers what is asked while its predecessor still ends, and close waits for both', async () => {
    const threads: Thread[] = [];
    const worker = new BackgroundWorker('file', () => threads[threads.push(new Thread()) - 1] ?? new Thread(), 1);
    await worker.do(CHECKPOINT);
    const [first] = threads;
    assert.ok(first);
    await once(first, 'asked to end');
    assert.deepEqual(await Promise.all([worker.do(CHECKPOINT), worker.do(CHECKPOINT)]), [null, null]);
    const ended = once(threads[1] ?? first, 'exit');
    await worker.close();
    await ended;
  });
});
