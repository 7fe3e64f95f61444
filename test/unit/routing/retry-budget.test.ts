import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RetryBudget } from '../../../src/routing/retry-budget.ts';
import { testClock } from './fixtures.ts';

test('in an outage the retries stay within a fifth of the exchanges, one a second and a small reserve', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 400 }), (gapsMs) => {
      const clock = testClock();
      const budget = new RetryBudget(clock);
      let elapsedMs = 0;
      let retries = 0;
      for (const gapMs of gapsMs) {
        clock.advance(gapMs);
        elapsedMs += gapMs;
        budget.earn();
        for (let again = 0; again < 3; again++) if (budget.take()) retries += 1;
      }
      return retries <= 20 + gapsMs.length / 5 + elapsedMs / 1_000;
    }),
  );
});

test('a quiet gateway can always fail over', () => {
  const clock = testClock();
  const budget = new RetryBudget(clock);
  for (let exchange = 0; exchange < 200; exchange++) {
    clock.advance(1_000);
    budget.earn();
    assert.equal(budget.take(), true);
  }
});
