import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DeadlineTimer, type HasDeadline } from '../../../src/lib/deadline-timer.ts';

interface Watched extends HasDeadline {
  expired: number;
  readonly over: Promise<void>;
}

function watched(): Watched {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    deadlineMs: Number.POSITIVE_INFINITY,
    expired: 0,
    over: promise,
    expire() {
      this.expired += 1;
      resolve();
    },
  };
}

const LONG_MS = 3_600_000;
// The timer of the deadlines does not keep the process alive.
const alive = setInterval(() => {}, 1_000);
after(() => clearInterval(alive));

test('each expires once, when its own deadline has passed; what was moved or has left does not', async () => {
  const deadlines = new DeadlineTimer<Watched>();
  const [first, moved, left, last] = [watched(), watched(), watched(), watched()];
  const nodes = [first, moved, left, last].map((one) => deadlines.add(one));
  deadlines.set(last, 60);
  deadlines.set(first, 1);
  deadlines.set(moved, 2);
  deadlines.set(moved, LONG_MS);
  deadlines.set(left, 3);
  for (const node of nodes.slice(2, 3)) deadlines.remove(node);
  await first.over;
  await last.over;
  assert.deepEqual([first.expired, moved.expired, left.expired, last.expired], [1, 0, 0, 1]);
  assert.equal(first.deadlineMs, Number.POSITIVE_INFINITY);
  assert.equal(deadlines.size, 3);
});

test('one that leaves while others expire does not expire with them', async () => {
  const deadlines = new DeadlineTimer<Watched>();
  const [first, second] = [watched(), watched()];
  deadlines.add(first);
  const node = deadlines.add(second);
  const { expire } = first;
  first.expire = () => {
    deadlines.remove(node);
    expire.call(first);
  };
  deadlines.set(first, 0);
  deadlines.set(second, 0);
  await first.over;
  assert.equal(second.expired, 0);
});

test('a deadline that is set behind another is met when its turn comes, although no timer was its own', async () => {
  const deadlines = new DeadlineTimer<Watched>();
  const [soon, later] = [watched(), watched()];
  deadlines.add(soon);
  deadlines.add(later);
  deadlines.set(soon, 1);
  deadlines.set(later, 50);
  await soon.over;
  deadlines.set(soon, LONG_MS);
  await later.over;
  assert.equal(soon.expired, 1);
});
