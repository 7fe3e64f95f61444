import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
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
  const query = async (text: string, values: readonly unknown[] = []) => {
    const ids = values[0] as readonly string[];
    return text.includes('accounts WHERE key_id') ? ids.filter((id) => !locked.has(id)).map((id) => ({ id })) : [];
  };
  beforeEach(() => {
    [nowMs, locked] = [1_000, new Set(['k1', 'k2', 'k3'])];
  });

  test('are looked for when a wait was too long; where there is none, it was something else', async () => {
    const stuck = new StuckRows(() => nowMs);
    assert.deepEqual([await stuck.look(query, ROUTES), stuck.any], [true, true]);
    assert.equal(await stuck.look(query, ROUTES), false);
    assert.equal(await new StuckRows(() => nowMs).look(query, new Map([['k4', LONE]])), false);
  });

  const part = (stuck: StuckRows, routes = ROUTES, batch = BATCH) =>
    stuck.part(query, stuck.among(routes), routes, batch);

  test('are tried two at a time, once a second, in turn', async () => {
    const stuck = new StuckRows(() => nowMs);
    await stuck.look(query, ROUTES);
    const tried = async () => [...(await part(stuck)).tried];
    assert.deepEqual(await tried(), ['k1', 'k2']);
    assert.deepEqual(await tried(), []);
    nowMs += 1_000;
    assert.deepEqual(await tried(), ['k3', 'k1']);
    assert.deepEqual(await tried(), []);
  });

  test('are left out of a batch until they are free', async () => {
    const stuck = new StuckRows(() => nowMs);
    await stuck.look(query, ROUTES);
    const left = async () => [...(await part(stuck)).stuck.keys()];
    assert.deepEqual(await left(), ['k1', 'k2', 'k3']);
    locked = new Set(['k2', 'k3']);
    assert.deepEqual(await left(), ['k2', 'k3']);
    locked = new Set();
    assert.deepEqual([await left(), stuck.any], [[], false]);
  });

  test('are found below a root that another gateway has just taken', async () => {
    const stuck = new StuckRows(() => nowMs);
    const below = new Map([['k1', { ...LONE, rootId: 'r', accountIds: ['r'] }]]);
    const routes = new Map([...below, ['k4', { ...LONE, rootId: 'r', accountIds: ['r'] }]]);
    const busy = async (text: string, values: readonly unknown[] = []) =>
      text.includes('tree_accounts') ? [] : await query(text, values);
    assert.equal(await stuck.look(busy, routes), true);
    const rootFree = async (text: string, values: readonly unknown[] = []) =>
      text.includes('tree_accounts')
        ? (values[0] as readonly string[]).filter((id) => id === 'r').map((id) => ({ id }))
        : await query(text, values);
    const { free, stuck: left } = await stuck.part(rootFree, stuck.among(routes), routes, BATCH);
    assert.deepEqual([[...left.keys()], free.size], [['k1'], 3]);
  });

  test('are forgotten when nobody has asked for them in ten minutes', async () => {
    const stuck = new StuckRows(() => nowMs);
    await stuck.look(query, ROUTES);
    const other = new Map([['k4', LONE]]);
    assert.deepEqual([stuck.among(other).size, stuck.any], [0, true]);
    nowMs += 600_001;
    assert.deepEqual([stuck.among(other).size, stuck.any], [0, false]);
  });
});
