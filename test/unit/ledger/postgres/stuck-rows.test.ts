import assert from 'node:assert/strict';
import { beforeEach, describe, mock, test } from 'node:test';
import type { KeyedOperation } from '../../../../src/ledger/postgres/needs.ts';
import type { Route } from '../../../../src/ledger/postgres/payers.ts';
import { StuckRows } from '../../../../src/ledger/postgres/stuck-rows.ts';

const KEYS = ['k1', 'k2', 'k3', 'k4'];
const LONE: Route = {
  rootId: null,
  accountIds: [],
  keyLimitsRequests: false,
  limitingAccountIds: [],
  tokensLimited: false,
  promoted: false,
};
const ROUTES = new Map(KEYS.map((id) => [id, LONE]));
const BATCH: readonly KeyedOperation[] = KEYS.map((keyId) => ({ op: 'summary', keyId }));

describe('rows that somebody keeps locked', () => {
  let nowMs = 1_000;
  let locked = new Set<unknown>();
  let asked = 0;
  const query = async (text: string, values: readonly unknown[] = []) => {
    asked++;
    const ids = values[0] as readonly string[];
    return text.includes('accounts WHERE key_id') ? ids.filter((id) => !locked.has(id)).map((id) => ({ id })) : [];
  };
  beforeEach(() => {
    mock.method(performance, 'now', () => nowMs);
    [nowMs, asked, locked] = [1_000, 0, new Set(['k1', 'k2', 'k3'])];
  });

  test('are looked for when a wait was too long; where there is none, it was something else', async () => {
    const stuck = new StuckRows();
    assert.deepEqual([await stuck.look(query, ROUTES), stuck.any], [true, true]);
    assert.equal(await stuck.look(query, ROUTES), false);
    assert.equal(await new StuckRows().look(query, new Map([['k4', LONE]])), false);
  });

  test('are tried two at a time, and each once a second', async () => {
    const stuck = new StuckRows();
    await stuck.look(query, ROUTES);
    const tried = async () => [...(await stuck.part(query, ROUTES, BATCH)).tried];
    assert.deepEqual(await tried(), ['k1', 'k2']);
    assert.deepEqual(await tried(), ['k3']);
    assert.deepEqual(await tried(), []);
    nowMs += 1_000;
    assert.deepEqual(await tried(), ['k1', 'k2']);
  });

  test('are left out of a batch until they are free, or were waited for', async () => {
    const stuck = new StuckRows();
    await stuck.look(query, ROUTES);
    const left = async () => [...(await stuck.part(query, ROUTES, BATCH)).stuck.keys()];
    assert.deepEqual(await left(), ['k1', 'k2', 'k3']);
    locked = new Set(['k2', 'k3']);
    assert.deepEqual(await left(), ['k2', 'k3']);
    stuck.forget('k3');
    assert.deepEqual(await left(), ['k2']);
  });

  test('are forgotten when nobody has asked for them in ten minutes, and cost nothing where they are not asked for', async () => {
    const stuck = new StuckRows();
    await stuck.look(query, ROUTES);
    asked = 0;
    await stuck.part(query, new Map([['k4', LONE]]), BATCH.slice(3));
    assert.deepEqual([asked, stuck.any], [0, true]);
    nowMs += 600_001;
    await stuck.part(query, new Map([['k4', LONE]]), BATCH.slice(3));
    assert.deepEqual([asked, stuck.any], [0, false]);
  });
});
