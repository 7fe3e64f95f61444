import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Health } from '../../../src/routing/target-health.ts';
import { target, testClock } from './fixtures.ts';

const ALPHA = target('alpha');
const KEY = 'key_1';

function failing(health: Health, times: number): void {
  for (let i = 0; i < times; i++) health.begin(ALPHA, KEY, true).failed();
}

describe('the circuit of a target', () => {
  test('stays closed through nine failures and opens with the tenth', () => {
    const health = new Health(testClock());
    failing(health, 9);
    assert.equal(health.circuit(ALPHA, KEY), 'closed');
    failing(health, 1);
    assert.equal(health.circuit(ALPHA, KEY), 'open');
  });

  test('stays closed where most calls succeed', () => {
    const health = new Health(testClock());
    for (let i = 0; i < 30; i++) health.begin(ALPHA, KEY, true).succeeded(5);
    failing(health, 12);
    assert.equal(health.circuit(ALPHA, KEY), 'closed');
  });

  test('forgets failures that are older than its window', () => {
    const clock = testClock();
    const health = new Health(clock);
    failing(health, 9);
    clock.advance(31_000);
    failing(health, 9);
    assert.equal(health.circuit(ALPHA, KEY), 'closed');
  });

  test('never opens by calls that the client ended or that the request itself spoiled', () => {
    const health = new Health(testClock());
    for (let i = 0; i < 100; i++) health.begin(ALPHA, KEY, true).cancelled();
    assert.equal(health.circuit(ALPHA, KEY), 'closed');
  });

  test('lets one probe through at a time, and closes when it succeeds', () => {
    const clock = testClock();
    const health = new Health(clock);
    failing(health, 10);
    clock.advance(4_999);
    assert.equal(health.circuit(ALPHA, KEY), 'open');
    clock.advance(1);
    assert.equal(health.circuit(ALPHA, KEY), 'due');
    const probe = health.begin(ALPHA, KEY, true);
    assert.equal(health.circuit(ALPHA, KEY), 'open');
    probe.succeeded(5);
    assert.equal(health.circuit(ALPHA, KEY), 'closed');
    failing(health, 9);
    assert.equal(health.circuit(ALPHA, KEY), 'closed', 'the window begins anew');
  });

  test('stays open for twice as long after each failed probe, up to a minute', () => {
    const clock = testClock();
    const health = new Health(clock);
    failing(health, 10);
    for (const openMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      clock.advance(openMs - 1);
      assert.equal(health.circuit(ALPHA, KEY), 'open');
      clock.advance(1);
      assert.equal(health.circuit(ALPHA, KEY), 'due');
      health.begin(ALPHA, KEY, true).failed();
    }
  });

  test('probes again at once when a probe was cancelled by its client', () => {
    const clock = testClock();
    const health = new Health(clock);
    failing(health, 10);
    clock.advance(5_000);
    health.begin(ALPHA, KEY, true).cancelled();
    assert.equal(health.circuit(ALPHA, KEY), 'due');
  });

  test('is not closed by a call that began before it opened', () => {
    const clock = testClock();
    const health = new Health(clock);
    const early = health.begin(ALPHA, KEY, true);
    clock.advance(1);
    failing(health, 10);
    early.succeeded(5);
    assert.equal(health.circuit(ALPHA, KEY), 'open');
  });

  test('needs at least ten failures within thirty seconds, whatever comes in whatever order', () => {
    const step = fc.record({ advanceMs: fc.nat(5_000), outcome: fc.constantFrom('succeeded', 'failed', 'cancelled') });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const clock = testClock();
        const health = new Health(clock);
        const failuresAtMs: number[] = [];
        for (const { advanceMs, outcome } of steps) {
          clock.advance(advanceMs);
          const call = health.begin(ALPHA, KEY, false);
          if (outcome === 'succeeded') call.succeeded(1);
          else if (outcome === 'cancelled') call.cancelled();
          else {
            call.failed();
            failuresAtMs.push(clock.nowMs());
          }
          const recent = failuresAtMs.filter((atMs) => atMs > clock.nowMs() - 30_000).length;
          if (health.circuit(ALPHA, KEY) !== 'closed') return recent >= 10;
        }
        return true;
      }),
    );
  });
});

describe('[R66] [F39] whose failures open a circuit', () => {
  const failingFor = (health: Health, keyId: string, times: number): void => {
    for (let i = 0; i < times; i++) health.begin(ALPHA, keyId, true).failed();
  };

  test('one key shuts a target for itself alone, however often it fails', () => {
    const health = new Health(testClock());
    health.begin(ALPHA, 'good', true).succeeded(5);
    failingFor(health, 'bad', 1_000);
    assert.equal(health.circuit(ALPHA, 'bad'), 'open');
    assert.equal(health.circuit(ALPHA, 'good'), 'closed');
    assert.equal(health.circuit(ALPHA, 'new'), 'closed');
  });

  test('several keys shut it for all, each of which counts once', () => {
    const health = new Health(testClock());
    failingFor(health, 'a', 100);
    failingFor(health, 'b', 100);
    assert.equal(health.circuit(ALPHA, 'c'), 'closed');
    failingFor(health, 'c', 1);
    assert.equal(health.circuit(ALPHA, 'd'), 'open');
    assert.equal(health.dueInMs(ALPHA, 'd'), 5_000);
  });

  test('not where the target serves most of the keys', () => {
    const health = new Health(testClock());
    for (let i = 0; i < 10; i++) health.begin(ALPHA, `good_${i}`, true).succeeded(5);
    for (const key of ['a', 'b', 'c']) failingFor(health, key, 20);
    assert.equal(health.circuit(ALPHA, 'good_1'), 'closed');
    assert.equal(health.circuit(ALPHA, 'a'), 'open');
  });

  test('not by failures that are older than the window', () => {
    const clock = testClock();
    const health = new Health(clock);
    failingFor(health, 'a', 1);
    failingFor(health, 'b', 1);
    clock.advance(31_000);
    failingFor(health, 'c', 1);
    assert.equal(health.circuit(ALPHA, 'd'), 'closed');
  });
});

describe('what is known of a target', () => {
  test('belongs to one upstream model at one provider', () => {
    const health = new Health(testClock());
    failing(health, 10);
    health.coolDown(ALPHA, 1_000);
    for (const other of [target('alpha', { upstreamModel: 'other' }), target('beta')]) {
      assert.equal(health.circuit(other, KEY), 'closed');
      assert.equal(health.coolingMs(other), 0);
    }
  });

  test('outlives the target itself: a reload makes new ones of the same name', () => {
    const health = new Health(testClock());
    failing(health, 10);
    health.coolDown(ALPHA, 1_000);
    const again = target('alpha');
    assert.notEqual(again, ALPHA);
    assert.deepEqual([health.circuit(again, KEY), health.coolingMs(again)], ['open', 1_000]);
    health.coolDown(again, 2_000);
    assert.equal(health.coolingMs(ALPHA), 2_000);
  });

  test('a cool-down lasts as long as was asked for, but not for hours', () => {
    const clock = testClock();
    const health = new Health(clock);
    health.coolDown(ALPHA, 20_000);
    health.coolDown(ALPHA, 1_000);
    assert.equal(health.coolingMs(ALPHA), 20_000);
    clock.advance(20_000);
    assert.equal(health.coolingMs(ALPHA), 0);
    health.coolDown(ALPHA, 86_400_000);
    assert.equal(health.coolingMs(ALPHA), 300_000);
  });

  test('first-byte times are averaged, streamed and whole apart, and forgotten after a minute', () => {
    const clock = testClock();
    const health = new Health(clock);
    assert.equal(health.latencyMs(ALPHA, true), null);
    health.begin(ALPHA, KEY, true).succeeded(100);
    health.begin(ALPHA, KEY, true).succeeded(200);
    assert.equal(health.latencyMs(ALPHA, true), 130);
    assert.equal(health.latencyMs(ALPHA, false), null);
    clock.advance(60_000);
    assert.equal(health.latencyMs(ALPHA, true), null);
    health.begin(ALPHA, KEY, true).succeeded(300);
    assert.equal(health.latencyMs(ALPHA, true), 300);
  });
});
