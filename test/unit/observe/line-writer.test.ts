import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Descriptor, LineWriter } from '../../../src/observe/line-writer.ts';

const MIB = 1024 ** 2;

/** A descriptor whose writes end when the test says so. */
class Pipe implements Descriptor {
  text = '';
  #pending: (() => void) | null = null;
  /** What the next writes end with: a number of bytes, or an error. */
  readonly outcomes: (number | string)[] = [];

  get busy(): boolean {
    return this.#pending !== null;
  }

  write(bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void): void {
    assert.equal(this.#pending, null, 'two writes at once');
    this.#pending = () => {
      const outcome = this.outcomes.shift() ?? bytes.length;
      if (typeof outcome === 'string') {
        done(Object.assign(new Error(outcome), { code: outcome }), 0);
        return;
      }
      this.text += Buffer.from(bytes.subarray(0, outcome)).toString();
      done(null, outcome);
    };
  }

  writeSync(bytes: Uint8Array): number {
    this.text += Buffer.from(bytes).toString();
    return bytes.length;
  }

  /** Ends the write that is under way. */
  end(): void {
    const end = this.#pending;
    this.#pending = null;
    end?.();
  }

  endAll(): void {
    while (this.busy) this.end();
  }
}

test('lines are written in their order, in few writes, whole although the descriptor takes only a part', () => {
  const pipe = new Pipe();
  const writer = new LineWriter(pipe);
  pipe.outcomes.push(7, 1);
  const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i} of ünïcode and 🦉\n`);
  for (const line of lines) writer.write(line);
  writer.flush();
  pipe.endAll();
  assert.equal(pipe.text, lines.join(''));
});

test('a line that is longer than a block keeps its place', () => {
  const pipe = new Pipe();
  const writer = new LineWriter(pipe);
  const long = `${'é'.repeat(100_000)}\n`;
  for (const line of ['before\n', long, 'after\n']) writer.write(line);
  writer.flush();
  pipe.endAll();
  assert.equal(pipe.text, `before\n${long}after\n`);
});

test('the end of the process writes what was collected', () => {
  const pipe = new Pipe();
  const writer = new LineWriter(pipe);
  writer.write('collected\n');
  assert.equal(pipe.text, '');
  writer.flushSync();
  assert.equal(pipe.text, 'collected\n');
});

test('a descriptor that nobody reads costs a bounded number of lines, which are counted', () => {
  const pipe = new Pipe();
  const writer = new LineWriter(pipe);
  const line = `${'x'.repeat(1_023)}\n`;
  for (let i = 0; i < 6_000; i += 1) writer.write(line);
  pipe.endAll();
  writer.flush();
  pipe.endAll();
  const told = /"dropped":(\d+)/.exec(pipe.text);
  const kept = pipe.text.split(line).length - 1;
  assert.equal(kept + Number(told?.[1]), 6_000);
  assert.ok(pipe.text.length < 4.2 * MIB, `${pipe.text.length} bytes`);
});

test('a full pipe is tried again, and a closed one is given up', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pipe = new Pipe();
  const writer = new LineWriter(pipe);
  pipe.outcomes.push('EAGAIN');
  writer.write('kept\n');
  writer.flush();
  pipe.end();
  assert.equal(pipe.text, '');
  t.mock.timers.tick(1_000);
  pipe.endAll();
  assert.equal(pipe.text, 'kept\n');
  pipe.outcomes.push('EPIPE');
  writer.write('lost\n');
  writer.flush();
  pipe.endAll();
  writer.write('next\n');
  writer.flush();
  pipe.endAll();
  assert.equal(pipe.text, 'kept\nnext\n');
});
