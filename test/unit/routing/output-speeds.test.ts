import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OutputSpeeds } from '../../../src/routing/output-speeds.ts';

const TARGET = { provider: 'one', upstreamModel: 'a-model' };

/** Streams that each reported so much beyond the first slice in ten seconds, with this share of it visible. */
function speedsOf(outputs: readonly number[], visibleShare = 0): OutputSpeeds {
  const speeds = new OutputSpeeds();
  for (const output of outputs) note(speeds, output, visibleShare);
  return speeds;
}

function note(speeds: OutputSpeeds, output: number, visibleShare = 0): void {
  speeds.note(TARGET, {
    outputTokens: 2_048 + output,
    visibleTokens: (2_048 + output) * visibleShare,
    firstTokens: 2_048,
    sinceAcceptedMs: 10_000,
    sinceHeadersMs: 8_000,
  });
}

const times = (count: number, output: number): number[] => Array.from({ length: count }, () => output);

describe('[R13] the speed of a target', () => {
  test('is not known before fifty streams, and is twice that of the fastest after that', () => {
    assert.equal(speedsOf(times(49, 500)).bound(TARGET), null);
    assert.equal(speedsOf([...times(49, 500), 900]).bound(TARGET), 180);
    assert.equal(speedsOf(times(50, 500)).bound({ ...TARGET, upstreamModel: 'another' }), null);
  });

  test('is raised at once by a faster stream, and falls when the fastest is no longer among the last thousand', () => {
    const speeds = speedsOf(times(60, 500));
    note(speeds, 4_000);
    assert.equal(speeds.bound(TARGET), 800);
    for (let stream = 0; stream < 999; stream++) note(speeds, 300);
    assert.equal(speeds.bound(TARGET), 800);
    note(speeds, 300);
    assert.equal(speeds.bound(TARGET), 60);
  });

  test('of output that is not shown is the median, and nothing where all of it is shown', () => {
    const speeds = speedsOf([...times(30, 0), ...times(21, 1_952)]);
    assert.equal(speeds.hidden(TARGET), 256);
    assert.equal(speedsOf(times(60, 2_000), 0.95).hidden(TARGET), 0);
    assert.equal(speedsOf(times(49, 2_000)).hidden(TARGET), null);
  });

  test('is the same after it was stored and read again', () => {
    const before = speedsOf([...times(700, 500), ...times(40, 2_500), 7_777]);
    const after = new OutputSpeeds();
    after.merge(JSON.parse(JSON.stringify(before.toStored())));
    assert.equal(after.bound(TARGET), before.bound(TARGET));
    assert.equal(after.hidden(TARGET), before.hidden(TARGET));
  });

  test('of another gateway is taken over where it is faster, unless this one has seen a thousand streams itself', () => {
    const fast = speedsOf(times(60, 9_000)).toStored();
    const few = speedsOf(times(80, 500));
    few.merge(fast);
    assert.equal(few.bound(TARGET), 1_800);
    const many = speedsOf(times(1_000, 500));
    many.merge(fast);
    assert.equal(many.bound(TARGET), 100);
  });

  test('has changed where a stream was noted since the last look', () => {
    const speeds = speedsOf([500]);
    assert.deepEqual([speeds.takeChanged(), speeds.takeChanged()], [true, false]);
  });
});
