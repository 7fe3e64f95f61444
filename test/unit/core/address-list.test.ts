import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddressRange, isInRanges, isRangeWithin } from '../../../src/core/address-list.ts';

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

test('a range is within another one of its family that is as wide or wider; an address is within what has it', () => {
  const ranges = ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'];
  for (const inside of [
    ...['10.0.0.0/8', '10.1.0.0/16', '10.255.255.255', '10.1.2.3/9', '192.0.2.7', '192.0.2.7/32'],
    ...['2001:db8::/32', '2001:db8:1::/48', '2001:db8::1', '::ffff:10.1.2.3'],
  ]) {
    assert.ok(isRangeWithin(ranges, inside), inside);
  }
  for (const outside of [
    ...['10.0.0.0/7', '11.0.0.0/16', '0.0.0.0/0', '192.0.2.7/31', '192.0.2.0/24', '::ffff:10.0.0.0/96'],
    ...['2001:db8::/31', '2001:db9::/48', '::/0', '', 'host', '10.0.0.0/33'],
  ]) {
    assert.ok(!isRangeWithin(ranges, outside), outside);
  }
  assert.ok(isRangeWithin(['0.0.0.0/0'], '10.0.0.0/8') && isRangeWithin(['::/0'], '2001:db8::/32'));
  assert.ok(!isRangeWithin(['0.0.0.0/0'], '2001:db8::/32') && !isRangeWithin([], '10.0.0.1'));
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
