/** The owner of a hold: it ends once, and its end goes on being tried until the store has taken it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import { Admission } from '../../../src/exchange/admission.ts';
import type { Ledger } from '../../../src/ledger/port.ts';
import { settleRequest } from '../../contract/fixtures.ts';

/** Counts what it is asked; nothing else of a ledger is used. */
function countingLedger() {
  const asked = { settle: 0, void: 0 };
  const ledger: Pick<Ledger, 'settle' | 'void'> = {
    settle: async () => {
      asked.settle += 1;
      return { kind: 'settled', charged: 3n };
    },
    void: async () => {
      asked.void += 1;
      return { kind: 'voided' };
    },
  };
  return { asked, ledger: ledger as Ledger };
}

test('a hold ends once: a second end is a fault of the program, and reaches no store', async () => {
  for (const first of ['settle', 'void'] as const) {
    const { asked, ledger } = countingLedger();
    const admission = new Admission(ledger, NO_LOG, 'hold', 'key', 5n);
    const end = {
      settle: () => admission.settle({ amount: 3n, tokens: 0n }, () => settleRequest('key', 'hold', 3n)),
      void: () => admission.void(),
    };
    await end[first]();
    assert.throws(() => end.settle(), /has ended already/);
    await assert.rejects(end.void(), /has ended already/);
    assert.deepEqual(asked, { settle: first === 'settle' ? 1 : 0, void: first === 'void' ? 1 : 0 });
  }
});
