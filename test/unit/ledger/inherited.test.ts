/** What a key carries of the accounts above it, as it is stored. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inheritedIn, inheritedText } from '../../../src/ledger/rules/limits.ts';

const NOTHING = { models: null, outputLimit: null, addresses: null };

test('is read as it was written', () => {
  const inherited = [
    { ...NOTHING, models: ['a/*'], tpmLimited: false },
    { ...NOTHING, tpmLimited: true },
  ];
  assert.deepEqual(inheritedIn(inheritedText(inherited), 'acct_1'), inherited);
  assert.deepEqual(inheritedIn(inheritedText([]), 'acct_1'), []);
  assert.deepEqual(inheritedIn(inheritedText([]), null), []);
});

test('[R72] written before it said so, an account above may limit tokens per minute', () => {
  assert.deepEqual(inheritedIn(null, 'acct_1'), [{ ...NOTHING, tpmLimited: true }]);
  const before = JSON.stringify([{ ...NOTHING, outputLimit: 7 }]);
  assert.deepEqual(inheritedIn(before, 'acct_1'), [{ ...NOTHING, outputLimit: 7, tpmLimited: true }]);
  assert.deepEqual(inheritedIn(null, null), []);
});
