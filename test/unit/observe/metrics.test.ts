import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestRecord } from '../../../src/core/request-record.ts';
import { BATCH_OPERATIONS, COMMIT_SECONDS } from '../../../src/ledger/group-commit/batch-stats.ts';
import { Histogram } from '../../../src/lib/histogram.ts';
import { FAMILIES } from '../../../src/observe/metrics/families.ts';
import { merged, ofWorker, type Reading } from '../../../src/observe/metrics/reading.ts';
import { renderMetrics } from '../../../src/observe/metrics/render.ts';
import { RequestMetrics } from '../../../src/observe/metrics/request-metrics.ts';
import { SeriesTree } from '../../../src/observe/metrics/series-tree.ts';
import { Scrape } from '../../support/scrape.ts';

async function scraped(reading: Reading): Promise<Scrape> {
  return new Scrape(await renderMetrics(reading));
}

describe('metrics', () => {
  test('every family is in a scrape, with its help and type, also where nothing has happened', async () => {
    const { families } = await scraped({});
    assert.deepEqual(
      families.map(({ name, help, type }) => [name, help, type.toLowerCase()]),
      Object.entries(FAMILIES).map(([name, { help, type }]) => [name, help, type]),
    );
  });

  test('a histogram counts a value at its bound, and all in its last bucket', async () => {
    const histogram = new Histogram(FAMILIES.gateway_admission_seconds.buckets);
    for (const value of [0.0005, 0.0006, 4, 1_000]) histogram.observe(value);
    const scrape = await scraped({ gateway_admission_seconds: [{ labels: [], value: histogram }] });
    const [metric] = scrape.family('gateway_admission_seconds').metrics;
    assert.deepEqual(
      ['0.0005', '0.001', '2.5', '5', '+Inf'].map((bound) => metric?.buckets?.[bound]),
      ['1', '2', '2', '3', '4'],
    );
    assert.deepEqual([metric?.count, Number(metric?.sum)], ['4', histogram.sum]);
  });

  test('labels that try to break out of their line do not', async () => {
    const hostile = 'a"} 1\nevil_total{x="\\';
    const scrape = await scraped({ gateway_targets_skipped_total: [{ labels: [hostile, 'cooling'], value: 2 }] });
    assert.equal(scrape.families.length, Object.keys(FAMILIES).length);
    assert.equal(scrape.sum('gateway_targets_skipped_total'), 2);
  });

  test('workers are summed, and told apart where each has a value of its own', () => {
    const worker: Reading = {
      gateway_ledger_backlog: [{ labels: [], value: 2 }],
      gateway_connections: [{ labels: [], value: 3 }],
      gateway_admission_seconds: [{ labels: [], value: { counts: [1, 2], sum: 3 } }],
    };
    assert.deepEqual(merged([ofWorker(worker, 1), ofWorker(worker, 2)]), {
      gateway_ledger_backlog: [{ labels: [], value: 4 }],
      gateway_connections: [
        { labels: ['1'], value: 3 },
        { labels: ['2'], value: 3 },
      ],
      gateway_admission_seconds: [{ labels: [], value: { counts: [2, 4], sum: 6 } }],
    });
  });

  test('the number of series is bounded, and nothing is lost beyond it', () => {
    const tree = new SeriesTree(() => ({ value: 0 }));
    for (let index = 0; index < 20_000; index++) tree.at(`model-${index}`, 'provider').value += 1;
    tree.at('model-0', 'provider').value += 1;
    const series = tree.entries();
    assert.equal(series.length, 10_001);
    assert.deepEqual(series[0], [['model-0', 'provider'], { value: 2 }]);
    assert.deepEqual(series.at(-1), [['other', 'other'], { value: 10_000 }]);
  });

  test('a model that is not in the catalog, and a key, are no labels', () => {
    const metrics = new RequestMetrics({ perKey: false });
    const record = new RequestRecord('req_1', null, 0);
    record.keyId = 'key_1';
    record.read('made/up', false, true);
    record.finish(metrics);
    assert.doesNotMatch(JSON.stringify(metrics.reading()), /made|key_1/);
  });

  test('the ledger counts by the bounds that a scrape shows', () => {
    assert.deepEqual(FAMILIES.gateway_ledger_commit_seconds.buckets, COMMIT_SECONDS);
    assert.deepEqual(FAMILIES.gateway_ledger_batch_operations.buckets, BATCH_OPERATIONS);
  });
});
