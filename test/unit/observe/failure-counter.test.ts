/** What a serving thread counts of requests that failed, and what it does while they cannot be stored. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import { FailureCounter, GROUPS_MAX } from '../../../src/observe/failures/counter.ts';
import type { FailureCount } from '../../../src/observe/failures/store.ts';
import { type RecordParts, requestRecord } from '../../support/request-entries.ts';

const NOON = Date.UTC(2026, 10, 15, 12);

function counterOf(count: (counts: readonly FailureCount[]) => Promise<void>) {
  const stored: FailureCount[] = [];
  const counter = new FailureCounter({
    log: NO_LOG,
    sink: {
      count: async (counts) => {
        await count(counts);
        stored.push(...counts);
      },
    },
  });
  const failed = (parts: RecordParts = {}): void =>
    counter.finished(requestRecord({ atMs: NOON + 1_234_567, condition: 'upstream_error', ...parts }));
  return { counter, failed, stored };
}

const taken = async (): Promise<void> => {};

describe('the counter of failed requests', () => {
  test('counts what was refused or failed, once and by its group, and nothing that was charged', async () => {
    const { counter, failed, stored } = counterOf(taken);
    failed();
    failed({
      change: (record) => {
        record.keyLabel = 'renamed';
      },
    });
    failed({ condition: 'limit_reached', providers: [] });
    failed({ condition: null });
    failed({
      change: (record) => {
        record.settlement = 'charge';
      },
    });
    failed({ endpoint: 'usage' });
    await counter.close();
    assert.deepEqual(
      stored.map(({ startMs, keyId, label, model, provider, condition, failed: count }) => [
        ...[startMs, keyId, label, model, provider, condition, count],
      ]),
      [
        [NOON, 'key_1', 'renamed', 'tested', 'one', 'upstream_error', 2],
        [NOON, 'key_1', '', 'tested', '', 'limit_reached', 1],
      ],
    );
  });

  test('a caller without a known key adds no groups, whatever it asks for', async () => {
    const { counter, failed, stored } = counterOf(taken);
    for (let index = 0; index < 100; index += 1) {
      failed({ keyId: null, model: `invented-${index}`, providers: [], condition: 'invalid_credentials' });
    }
    await counter.close();
    assert.deepEqual(
      stored.map(({ keyId, model, failed: count }) => [keyId, model, count]),
      [['', '', 100]],
    );
  });

  test('what the store does not take is kept, is bounded, and loses no count', async () => {
    let out = true;
    const { counter, failed, stored } = counterOf(async () => {
      if (out) throw new Error('out of reach');
    });
    const all = GROUPS_MAX + 500;
    for (let index = 0; index < all; index += 1) failed({ keyId: `key_${index}` });
    const closed = counter.close();
    failed({ keyId: 'key_0' });
    out = false;
    await closed;
    assert.equal(stored.length, GROUPS_MAX + 1);
    assert.equal(
      stored.reduce((sum, { failed: count }) => sum + count, 0),
      all + 1,
    );
    assert.equal(stored.find(({ keyId }) => keyId === '')?.failed, 500);
    assert.equal(stored.find(({ keyId }) => keyId === 'key_0')?.failed, 2);
  });
});
