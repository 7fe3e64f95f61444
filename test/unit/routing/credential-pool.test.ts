import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CredentialPools } from '../../../src/routing/credential-pool.ts';
import { provider, testClock } from './fixtures.ts';

const NONE: ReadonlySet<string | null> = new Set();
const THREE = provider('alpha', ['k1', 'k2', 'k3']);

describe('the key pool of a provider', () => {
  test('uses its keys in turn', () => {
    const pools = new CredentialPools(testClock());
    assert.deepEqual(
      [1, 2, 3, 4].map(() => pools.take(THREE, NONE)),
      ['k1', 'k2', 'k3', 'k1'],
    );
  });

  test('passes over a key that rests, until it has rested', () => {
    const clock = testClock();
    const pools = new CredentialPools(clock);
    pools.coolDown(THREE, 'k2', 5_000);
    assert.deepEqual(
      [1, 2, 3].map(() => pools.take(THREE, NONE)),
      ['k1', 'k3', 'k1'],
    );
    clock.advance(5_000);
    assert.equal(pools.take(THREE, NONE), 'k2');
  });

  test('uses the key that rests the shortest when all rest', () => {
    const pools = new CredentialPools(testClock());
    pools.coolDown(THREE, 'k1', 3_000);
    pools.coolDown(THREE, 'k2', 1_000);
    assert.equal(pools.coolingMs(THREE), 0);
    pools.coolDown(THREE, 'k3', 2_000);
    assert.equal(pools.coolingMs(THREE), 1_000);
    assert.equal(pools.take(THREE, NONE), 'k2');
  });

  test('gives none that the exchange has tried in vain', () => {
    const pools = new CredentialPools(testClock());
    assert.equal(pools.take(THREE, new Set(['k1', 'k3'])), 'k2');
    assert.equal(pools.take(THREE, new Set(['k1', 'k2', 'k3'])), undefined);
  });

  test('serves a provider that needs no key, which can rest too', () => {
    const pools = new CredentialPools(testClock());
    const open = provider('local', []);
    assert.equal(pools.take(open, NONE), null);
    assert.equal(pools.take(open, new Set([null])), undefined);
    pools.coolDown(open, null, 700);
    assert.equal(pools.coolingMs(open), 700);
    assert.equal(pools.take(open, NONE), null);
  });

  test('goes on when a reload changes the keys', () => {
    const pools = new CredentialPools(testClock());
    pools.coolDown(THREE, 'k1', 5_000);
    const changed = provider('alpha', ['k4']);
    assert.equal(pools.coolingMs(changed), 0);
    assert.equal(pools.take(changed, NONE), 'k4');
  });
});
