import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Period, periodEndMs, periodStartMs } from '../../../src/core/period.ts';

const ROWS: readonly (readonly [period: Period, at: string, start: string, end: string])[] = [
  ['day', '2026-03-10T00:00:00.000Z', '2026-03-10', '2026-03-11'],
  ['day', '2026-03-10T23:59:59.999Z', '2026-03-10', '2026-03-11'],
  ['day', '2026-12-31T23:59:59.999Z', '2026-12-31', '2027-01-01'],
  ['day', '2028-02-28T12:00:00.000Z', '2028-02-28', '2028-02-29'],
  ['day', '2028-02-29T12:00:00.000Z', '2028-02-29', '2028-03-01'],
  // The clocks of many countries change on this day; UTC does not.
  ['day', '2026-03-29T01:30:00.000Z', '2026-03-29', '2026-03-30'],
  ['week', '2026-03-09T00:00:00.000Z', '2026-03-09', '2026-03-16'],
  ['week', '2026-03-15T23:59:59.999Z', '2026-03-09', '2026-03-16'],
  ['week', '2026-03-16T00:00:00.000Z', '2026-03-16', '2026-03-23'],
  ['week', '2027-01-01T12:00:00.000Z', '2026-12-28', '2027-01-04'],
  ['week', '2028-02-29T12:00:00.000Z', '2028-02-28', '2028-03-06'],
  ['week', '1970-01-01T00:00:00.000Z', '1969-12-29', '1970-01-05'],
  ['month', '2026-01-31T23:59:59.999Z', '2026-01-01', '2026-02-01'],
  ['month', '2026-02-28T23:59:59.999Z', '2026-02-01', '2026-03-01'],
  ['month', '2028-02-29T23:59:59.999Z', '2028-02-01', '2028-03-01'],
  ['month', '2100-02-28T23:59:59.999Z', '2100-02-01', '2100-03-01'],
  ['month', '2026-04-30T00:00:00.000Z', '2026-04-01', '2026-05-01'],
  ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
];

for (const [period, at, start, end] of ROWS) {
  test(`[R17] the ${period} that holds ${at} begins ${start} and ends ${end}, in UTC`, () => {
    const atMs = Date.parse(at);
    assert.equal(periodStartMs(period, atMs), Date.parse(`${start}T00:00:00Z`));
    assert.equal(periodEndMs(period, atMs), Date.parse(`${end}T00:00:00Z`));
  });
}

test('[R17] a budget without a period never begins anew', () => {
  assert.equal(periodStartMs('none', Date.parse('2026-03-10T12:00:00Z')), 0);
  assert.equal(periodEndMs('none', Date.parse('2026-03-10T12:00:00Z')), null);
});
