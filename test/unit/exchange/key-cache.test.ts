/** What is kept of credentials that were seen before: enough to be quick, and nothing that lets a wrong one in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KeyRecord, newKeyText } from '../../../src/core/key.ts';
import { KeyCache } from '../../../src/exchange/key-cache.ts';

const TEXT = newKeyText('credit');
const KEY: KeyRecord = {
  id: 'k',
  version: 1,
  mode: 'credit',
  label: null,
  status: 'active',
  expiresAtMs: null,
  providerScope: 'all',
  models: null,
  rpmLimit: null,
  tpmLimit: null,
  parallelLimit: null,
  runsLimit: null,
  outputLimit: null,
  addresses: null,
  inherited: [],
  budget: null,
  period: 'none',
  accountId: null,
  cap: null,
  captureDays: null,
  createdAtMs: 0,
  prefix: '',
};

/** A cache that has seen this header lead to the key. */
async function seen(header: string, found: () => KeyRecord | null = () => KEY): Promise<[KeyCache, string]> {
  const cache = new KeyCache({ findKey: async () => found() }, 'secret');
  const digest = cache.digestOf(TEXT, 'bearer', header);
  assert.ok(digest);
  await cache.fetch(digest);
  cache.digestOf(TEXT, 'bearer', header);
  return [cache, digest];
}

test('a header that has led to a key is known again', async () => {
  const header = `Bearer ${TEXT}`;
  const [cache, digest] = await seen(header);
  assert.equal(cache.knownDigest('bearer', header), digest);
  assert.equal(cache.cached(digest), KEY);
});

test('but not as another kind of header', async () => {
  const header = `Bearer ${TEXT}`;
  const [cache] = await seen(header);
  assert.equal(cache.knownDigest('x-api-key', header), undefined);
});

test('nor one that is longer than it need be: a key can be spelled in endless ways', async () => {
  const header = `Bearer ${' '.repeat(1_000)}${TEXT}`;
  const [cache] = await seen(header);
  assert.equal(cache.knownDigest('bearer', header), undefined);
});

test('nor one whose key was not found', async () => {
  const header = `Bearer ${TEXT}`;
  const [cache] = await seen(header, () => null);
  assert.equal(cache.knownDigest('bearer', header), undefined);
});

test('when a key is gone, no header is known any more', async () => {
  const header = `Bearer ${TEXT}`;
  let key: KeyRecord | null = KEY;
  const [cache, digest] = await seen(header, () => key);
  key = null;
  await cache.fetch(digest);
  assert.equal(cache.knownDigest('bearer', header), undefined);
  assert.equal(cache.cached(digest), undefined);
});
