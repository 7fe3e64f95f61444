import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readiness } from '../../../src/process/readiness.ts';
import { pending } from '../../support/pending.ts';

/** A store whose lookups end when the test says so. */
function gatedStore() {
  const lookups: PromiseWithResolvers<null>[] = [];
  return {
    lookups,
    findKey: (): Promise<null> => {
      const lookup = Promise.withResolvers<null>();
      lookups.push(lookup);
      return lookup.promise;
    },
  };
}

test('[F6] a gateway is ready only after its store was read, and asks it again for every later answer', async () => {
  const store = gatedStore();
  let nowMs = 0;
  const readiness = new Readiness({ ledger: store, serving: () => true, nowMs: () => nowMs });
  const first = readiness.ready();
  const second = readiness.ready();
  assert.equal(await pending(first), true);
  store.lookups[0]?.resolve(null);
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.equal(store.lookups.length, 1, 'those that ask at once share a lookup');

  nowMs += 249;
  assert.equal(await readiness.ready(), true);
  assert.equal(store.lookups.length, 1, 'the route has no credential: the store is not read for each request');
  nowMs += 1;
  const third = readiness.ready();
  store.lookups[1]?.reject(new Error('the store is down'));
  assert.equal(await third, false);

  nowMs += 250;
  const fourth = readiness.ready();
  store.lookups[2]?.resolve(null);
  assert.equal(await fourth, true, 'it is ready again by itself');
});

test('[F6] a store that does not answer is not waited for without end', async () => {
  const readiness = new Readiness({ ledger: gatedStore(), serving: () => true, timeoutMs: 1 });
  assert.equal(await readiness.ready(), false);
});

test('[F9] a gateway that drains is not ready, also where the drain began during the lookup', async () => {
  const store = gatedStore();
  let serving = true;
  const readiness = new Readiness({ ledger: store, serving: () => serving });
  const asked = readiness.ready();
  serving = false;
  store.lookups[0]?.resolve(null);
  assert.equal(await asked, false);
  assert.equal(await readiness.ready(), false);
  assert.equal(store.lookups.length, 1);
});
