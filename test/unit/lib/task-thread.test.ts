import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TaskThread, type Thread } from '../../../src/lib/task-thread.ts';

/** Answers each task at once unless it fails, and says `asked to end` before it exits. */
class Echo extends EventEmitter implements Thread<string, string> {
  #failed = false;

  ref(): void {}
  unref(): void {}

  postMessage(task: string | null): void {
    setImmediate(() => {
      if (this.#failed) return;
      if (task !== null) this.emit('message', `${task} done`);
      else {
        this.emit('asked to end');
        this.emit('exit');
      }
    });
  }

  fail(error: Error): void {
    this.#failed = true;
    this.emit('error', error);
    this.emit('exit');
  }
}

function echoing(restMs: number): { readonly thread: TaskThread<string, string>; readonly started: Echo[] } {
  const started: Echo[] = [];
  const start = (): Echo => {
    const echo = new Echo();
    started.push(echo);
    return echo;
  };
  return { thread: new TaskThread(start, (reason) => new Error(`stopped${reason}`), restMs), started };
}

describe('a thread for tasks', () => {
  test('ends when nothing is asked of it, and the next task starts another one', async () => {
    const { thread, started } = echoing(1);
    for (const count of [1, 2, 3]) {
      assert.equal(await thread.ask('a'), 'a done');
      assert.equal(started.length, count);
      await once(started[count - 1] ?? new Echo(), 'asked to end');
    }
    await thread.close();
    assert.equal(started.length, 3);
  });

  test('answers what is asked while its predecessor still ends, and close waits for both', async () => {
    const { thread, started } = echoing(1);
    await thread.ask('a');
    const [first] = started;
    assert.ok(first);
    await once(first, 'asked to end');
    assert.deepEqual(await Promise.all([thread.ask('b'), thread.ask('c')]), ['b done', 'c done']);
    const ended = once(started[1] ?? first, 'exit');
    await thread.close();
    await ended;
  });

  test('that ends by itself fails what was asked of it, and the next task starts another one', async () => {
    const { thread, started } = echoing(60_000);
    const asked = [thread.ask('a'), thread.ask('b')];
    started[0]?.fail(new Error('out of memory'));
    for (const each of asked) await assert.rejects(each, { message: 'stopped: out of memory' });
    assert.equal(await thread.ask('c'), 'c done');
    await thread.close();
    assert.equal(started.length, 2);
  });

  test('that ends by itself while it rests does not hold up close', async () => {
    const { thread, started } = echoing(1);
    await thread.ask('a');
    started[0]?.fail(new Error('out of memory'));
    await delay(10);
    await thread.close();
  });

  test('[F31] has its own small young generation where the process has a flag for its own', async () => {
    const program = fileURLToPath(new URL('../../support/young-generation.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-semi-space-size=8', program]);
    // With the flag it is 16 MiB.
    assert.ok(Number(stdout) > 0 && Number(stdout) < 8 * 1_048_576, `${stdout.trim()} bytes`);
  });

  test('answers with what was asked where node watches the files that it loads', async () => {
    const program = fileURLToPath(new URL('../../support/young-generation.ts', import.meta.url));
    const env = { ...process.env, WATCH_REPORT_DEPENDENCIES: '1' };
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
    assert.ok(Number(stdout) > 0, stdout);
  });
});
