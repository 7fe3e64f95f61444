import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '../../../src/config/problem.ts';
import { catalogAt } from '../../../src/core/provider.ts';
import { configFolder } from './config-fixture.ts';

const PROVIDER = 'providers: { house: { kind: openai, base_url: "https://house.example/v1", markup: 2 } }';

async function load(prices: string, now: string, pricing = 'pricing: { input: 1, output: 4 }') {
  const folder = await configFolder();
  await folder.write(
    `${PROVIDER}\nmodels:\n  - { id: m, provider: house, ${pricing}, aliases: [n], prices: ${prices} }\n`,
  );
  return folder.load({ now: new Date(now) });
}

async function problemOf(prices: string): Promise<string> {
  try {
    await load(prices, '2027-01-01');
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.join('\n');
  }
  return assert.fail('it was taken');
}

describe('prices that take effect at a time', () => {
  const prices = `[{ from: "2027-04-01T00:00:00+02:00", markup: 3 }, { from: 2027-01-01, pricing: { input: 2, output: 8 } }]`;

  test('count from that moment on, not before, whatever their order in the file', async () => {
    const { catalog } = await load(prices, '2026-12-31T23:59:59.999Z');
    const input = (at: string) => catalogAt(catalog, Date.parse(at)).models.get('m')?.publishedPricing.input;
    assert.equal(catalog.models.get('m')?.publishedPricing.input, 2);
    assert.equal(catalog.pricesUntilMs, Date.parse('2027-01-01T00:00:00Z'));
    assert.equal(input('2026-12-31T23:59:59.999Z'), 2);
    assert.equal(input('2027-01-01T00:00:00Z'), 4);
    assert.equal(input('2027-03-31T21:59:59.999Z'), 4);
    assert.equal(input('2027-03-31T22:00:00Z'), 6);
    assert.equal(catalogAt(catalog, Date.parse('2027-05-01')).pricesUntilMs, Number.POSITIVE_INFINITY);
    assert.equal(catalogAt(catalog, Date.parse('2027-05-01')).models.get('n')?.publishedPricing.input, 6);
  });

  test('leave what the provider asks for out of the mark-up', async () => {
    const { catalog } = await load(prices, '2027-05-01');
    const model = catalog.models.get('m');
    assert.deepEqual(model?.priceChanges, []);
    assert.equal(model?.publishedPricing.input, 6);
    const rate = model?.providerPricing;
    assert.equal((rate?.tiers[0].rates.input ?? 0n) / (rate?.per ?? 1n), 2_000n);
  });

  test('are refused where there is no such day, where two have the same time, and where nothing changes', async () => {
    assert.match(
      await problemOf('[{ from: 2027-02-30, markup: 2 }]'),
      /models\[0\]\.prices\[0\]\.from: is no day or time/,
    );
    assert.match(
      await problemOf('[{ from: 2027-02-03, markup: 2 }, { from: "2027-02-03T01:00:00+01:00", markup: 3 }]'),
      /prices\[1\]\.from: is the time of another change/,
    );
    assert.match(await problemOf('[{ from: tomorrow, markup: 2 }]'), /must be a day like 2027-01-01/);
    assert.match(await problemOf('[{ from: 2027-02-03 }]'), /must give pricing or markup besides from/);
  });
});
