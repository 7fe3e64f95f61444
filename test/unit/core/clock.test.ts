import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SystemClock } from '../../../src/core/clock.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { watchClock } from '../../../src/process/clock-watch.ts';

const START = Date.UTC(2026, 10, 17);
const HOUR_MS = 3_600_000;

/** A machine whose two clocks the test moves. */
function machine() {
  const at = { wallMs: START, runMs: 5_000 };
  const clock = new SystemClock(
    () => at.wallMs,
    () => at.runMs,
  );
  const pass = (ms: number): void => {
    at.wallMs += ms;
    at.runMs += ms;
  };
  return { at, clock, pass };
}

describe('the clock of a process', () => {
  test('[F50] follows a wall clock that jumps ahead at once; what measures how long something lasts does not', () => {
    const { at, clock, pass } = machine();
    pass(10_000);
    assert.deepEqual([clock.nowMs(), clock.steady.nowMs()], [START + 10_000, START + 10_000]);
    at.wallMs += HOUR_MS;
    pass(1_000);
    assert.deepEqual([clock.nowMs(), clock.steady.nowMs()], [START + HOUR_MS + 11_000, START + 11_000]);
    assert.deepEqual(clock.jumped, { times: 1, ms: HOUR_MS });
    at.wallMs += 2_000;
    clock.nowMs();
    assert.deepEqual(clock.jumped, { times: 2, ms: HOUR_MS + 2_000 });
  });

  test('[F11] never runs backwards: a wall clock that is set back changes nothing, and neither does its way home', () => {
    const { at, clock, pass } = machine();
    at.wallMs -= HOUR_MS;
    assert.equal(clock.nowMs(), START);
    assert.equal(clock.aheadMs, HOUR_MS);
    pass(1_000);
    assert.equal(clock.nowMs(), START + 1_000);
    at.wallMs += HOUR_MS;
    assert.equal(clock.nowMs(), START + 1_000);
    assert.deepEqual([clock.jumped.times, clock.aheadMs], [0, 0]);
  });

  test('a clock that is corrected by less than a second has not jumped', () => {
    const { at, clock } = machine();
    at.wallMs += 1_000;
    assert.equal(clock.nowMs(), START);
    at.wallMs += 1;
    assert.equal(clock.nowMs(), START + 1_001);
  });
});

test('[F50] a jump is one line in the log and one in the metric, and so is a clock that was set back', () => {
  const { at, clock } = machine();
  const lines: string[] = [];
  const log = { ...NO_LOG, warn: (fields: object, line: string) => void lines.push(JSON.stringify([fields, line])) };
  const watch = watchClock(clock, log, 1_000_000);
  at.wallMs += HOUR_MS;
  // Whoever asks first, it is noticed.
  clock.nowMs();
  const jumped = [{ labels: [], value: 1 }];
  assert.deepEqual(watch.reading(), {
    gateway_clock_jumps_total: jumped,
    gateway_clock_ahead_seconds: [{ labels: [], value: 0 }],
  });
  assert.deepEqual(watch.reading().gateway_clock_jumps_total, jumped);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"seconds":3600.*jumped ahead: expiries and budget periods follow/);
  at.wallMs -= 60_000;
  assert.deepEqual(watch.reading().gateway_clock_ahead_seconds, [{ labels: [], value: 60 }]);
  watch.reading();
  assert.equal(lines.length, 2);
  assert.match(lines[1] ?? '', /"seconds":60.*was set back/);
  watch.close();
});
