import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wrongRepeat } from '../../../src/ledger/rules/money-rules.ts';

const given = { entryId: 'first', amountNanos: 100n, note: null };
const booked = { amount: 100n, expiresAtMs: null, atMs: 5_000 };

test('[F49] "first" of an earlier release is the credit that the key was created with, and no purchase of an operator', () => {
  assert.match(wrongRepeat(booked, given, 5_000) ?? '', /"first" is the credit that the key was created with/);
  // One that an operator chose later, and one of an account, are repeated as others are.
  assert.equal(wrongRepeat(booked, given, 4_000), null);
  assert.equal(wrongRepeat(booked, given, null), null);
  assert.equal(wrongRepeat(booked, { ...given, entryId: 'invoice' }, 5_000), null);
  assert.match(wrongRepeat(booked, { ...given, amountNanos: 99n }, null) ?? '', /booked before, with another amount/);
});

test('an entry that is sent again with another expiry is refused with the one that it has', () => {
  const expiresAtMs = Date.UTC(2026, 11, 24);
  const promotion = { ...given, expiresAtMs };
  assert.equal(wrongRepeat({ ...booked, expiresAtMs }, promotion, null), null);
  assert.equal(
    wrongRepeat({ ...booked, expiresAtMs }, { ...promotion, expiresAtMs: expiresAtMs + 1 }, null),
    'this entry was booked before, as credit that expires at 2026-12-24T00:00:00.000Z',
  );
  assert.equal(wrongRepeat(booked, promotion, null), 'this entry was booked before, as credit that does not expire');
});
