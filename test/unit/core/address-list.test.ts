import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddressRange, isInRanges } from '../../../src/core/address-list.ts';

test('addresses and ranges of both families are told from what is none', () => {
  for (const good of ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::/0', '::ffff:10.0.0.1']) {
    assert.ok(isAddressRange(good), good);
  }
  for (const bad of [
    '',
    '10.0.0.0/',
    '10.0.0.0/33',
    '::/129',
    '10.0.0',
    'host',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    ' ::1',
  ]) {
    assert.ok(!isAddressRange(bad), bad);
  }
});

test('an address is looked for in the ranges of its family; an unknown one is in none', () => {
  const ranges = ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32', '::1'];
  for (const inside of ['10.1.255.255', '192.0.2.7', '2001:db8:ffff::1', '::1', '::ffff:10.1.2.3']) {
    assert.ok(isInRanges(ranges, inside), inside);
  }
  for (const outside of ['10.2.0.1', '192.0.2.8', '2001:db9::1', '::2', '', 'unknown', '10.1.0.0/16']) {
    assert.ok(!isInRanges(ranges, outside), outside);
  }
  assert.ok(isInRanges(['0.0.0.0/0'], '8.8.8.8') && !isInRanges(['0.0.0.0/0'], '2001:db8::1'));
  assert.ok(!isInRanges([], '::1'));
});
