/** A fault of this program that ends an exchange: what a provider has completed is charged, everything else is given back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AttemptEnd } from '../../../src/exchange/attempt-end.ts';
import type { Exchange } from '../../../src/exchange/exchange.ts';
import { giveUp } from '../../../src/exchange/run.ts';

const METER = { reported: null, reportedFinal: false, outputBytes: 5 };
const COMPLETE: AttemptEnd = {
  kind: 'complete',
  contentType: 'application/json',
  meter: METER,
  position: null,
  terminal: () => Buffer.from('{}'),
};

/** What is asked of an exchange; `settle` decides whether its hold has ended then. */
function asked(settle: () => Promise<boolean>) {
  const calls: unknown[] = [];
  let ended = false;
  const exchange: Pick<Exchange, 'run' | 'settle' | 'void' | 'ended'> = {
    run: null,
    get ended() {
      return ended;
    },
    async settle(...order) {
      calls.push(order);
      ended = await settle();
      return { kind: 'settled', charged: 1n };
    },
    async void() {
      calls.push('void');
      ended = true;
    },
  };
  return { exchange, calls };
}

describe('[R49] an exchange that this program gives up', () => {
  test('is charged for an answer that was complete, and keeps no reply', async () => {
    const { exchange, calls } = asked(async () => true);
    await giveUp(exchange, COMPLETE);
    assert.deepEqual(calls, [[METER, 'broken', null]]);
  });

  test('costs nothing before an answer was complete', async () => {
    const stopped = { kind: 'stopped', reason: 'drain', accepted: false, meter: null, position: null } as const;
    for (const end of [null, stopped]) {
      const { exchange, calls } = asked(async () => true);
      await giveUp(exchange, end);
      assert.deepEqual(calls, ['void']);
    }
  });

  test('leaves nothing held where the charge is what cannot be made', async () => {
    const { exchange, calls } = asked(() => Promise.reject(new TypeError('a fault of this program')));
    await assert.rejects(giveUp(exchange, COMPLETE), TypeError);
    assert.deepEqual(calls, [[METER, 'broken', null], 'void']);
  });
});
