import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation, Outcome } from '../../../../src/ledger/operations.ts';
import {
  packOperations,
  packOutcomes,
  unpackOperations,
  unpackOutcomes,
} from '../../../../src/ledger/sqlite/writer-messages.ts';
import { admitRequest, settleRequest, usageRecord } from '../../../contract/fixtures.ts';

const LARGEST = 2n ** 63n - 1n;

test('operations arrive as they were sent, in their order', () => {
  const rateCounted = { rateCounted: false };
  const admit = (request: ReturnType<typeof admitRequest>): Operation => ({ op: 'admit', owner: 'o', request });
  const settle = (change: Partial<ReturnType<typeof settleRequest>>): Operation => ({
    op: 'settle',
    request: settleRequest('k "1"', 'h\n1', LARGEST, change),
  });
  const reply = { status: 200, contentType: 'text/plain', body: Uint8Array.of(1, 2, 255) };
  const operations: Operation[] = [
    admit(admitRequest('k', 'h', LARGEST, rateCounted)),
    { op: 'ping' },
    admit(admitRequest('k', 'h', 0n, { rateCounted: true, hold: null })),
    admit(admitRequest('k', 'h', 5n, { ...rateCounted, claim: { name: 'c', fingerprint: 'f' } })),
    settle({ call: null }),
    settle({ call: { model: 'm', provider: 'p', format: 'chat', costNanos: LARGEST, providerCostNanos: 0n } }),
    settle({ usage: usageRecord({ costNanos: LARGEST, durationMs: 1.5 }), call: null, flag: 'odd' }),
    settle({ usage: usageRecord({ firstByteMs: null }), call: null }),
    settle({ usage: usageRecord({ streamed: true, outcome: 'broken', source: 'counted' }), reply }),
    { op: 'void', keyId: 'k', holdId: 'h' },
    { op: 'extend', keyId: 'k', holdId: 'h', amount: 7n },
  ];
  assert.deepEqual(unpackOperations(structuredClone(packOperations(operations))), operations);
  assert.deepEqual(unpackOperations(structuredClone(packOperations([]))), []);
});

test('outcomes arrive as they were given, in their order', () => {
  const rate = { limit: 5, remaining: 4, resetMs: 59_999 };
  const outcomes: Outcome[] = [
    null,
    { kind: 'admitted', rate: null, held: LARGEST },
    { kind: 'settled', charged: 0n },
    { kind: 'already_settled', charged: 3n },
    { kind: 'rate_limited', rate, retryAfterMs: 1 },
    { kind: 'admitted', rate, held: 0n },
    { charged: 1, voided: 2, more: false },
    { kind: 'owner_lost' },
  ];
  assert.deepEqual(unpackOutcomes(structuredClone(packOutcomes(outcomes))), outcomes);
});
