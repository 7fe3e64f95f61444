import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Currency } from '../../../src/core/currency.ts';

describe('credits in a currency', () => {
  test('are rounded to its smallest unit, half of one away from zero', () => {
    const euro = new Currency('EUR', 1_000_000_000n);
    for (const [nanos, text] of [
      [0n, '0.00'],
      [4_999_999n, '0.00'],
      [5_000_000n, '0.01'],
      [-5_000_000n, '-0.01'],
      [-4_999_999n, '0.00'],
      [123_456_789_123_456_789n, '123456789.12'],
    ] as const) {
      assert.equal(euro.text(nanos), text);
    }
    assert.equal(euro.text(null), null);
    assert.equal(new Currency('JPY', 150_000_000_000n).text(1_005_000_000n), '151');
    assert.equal(new Currency('BHD', 1_000_000_000n).text(1_500_000n), '0.002');
    assert.equal(new Currency('EUR', 10_000_000n).text(1_000_000_000n), '0.01');
  });
});
