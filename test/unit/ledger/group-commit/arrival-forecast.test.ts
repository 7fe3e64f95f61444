import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ArrivalForecast } from '../../../../src/ledger/group-commit/arrival-forecast.ts';

describe('the forecast of arrivals', () => {
  test('a batch waits until those whom the last one answered are back, and not longer than twice as long as that one took', () => {
    const forecast = new ArrivalForecast();
    forecast.onAnswered(8, 8, 100.5, 102);
    assert.equal(forecast.waitMs(8, 102), 3);
    assert.equal(forecast.waitMs(15, 104), 1);
    assert.equal(forecast.waitMs(16, 104), 0, 'all are there');
    assert.equal(forecast.waitMs(9, 105), 0, 'the time is over');
  });

  test('however long a batch took, the next one waits for some milliseconds only', () => {
    const forecast = new ArrivalForecast();
    forecast.onAnswered(8, 0, 0, 5_000);
    assert.equal(forecast.waitMs(1, 5_000), 4);
  });

  test('nobody waits who is alone, or at first', () => {
    const forecast = new ArrivalForecast();
    assert.equal(forecast.waitMs(1, 0), 0);
    forecast.onAnswered(1, 0, 0, 3);
    assert.equal(forecast.waitMs(1, 3), 0);
    forecast.onAnswered(2, 1, 3, 6);
    assert.equal(forecast.waitMs(1, 6), 0);
  });

  test('where nobody comes back, waiting is tried ever more rarely, until it is worth it again', () => {
    const forecast = new ArrivalForecast();
    const waited: number[] = [];
    const batch = (index: number, arrived: number): void => {
      forecast.onAnswered(10, 1, index * 10 - 2, index * 10);
      if (forecast.waitMs(1, index * 10) > 0) waited.push(index);
      forecast.onSend(1 + arrived);
    };
    for (let index = 0; index < 20; index++) batch(index, 4);
    assert.deepEqual(waited, [0, 2, 5, 10, 19]);
    for (let index = 20; index < 40; index++) batch(index, 10);
    assert.deepEqual(waited.slice(5), [36, 37, 38, 39]);
  });
});
