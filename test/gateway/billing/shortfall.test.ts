/** What the audit cannot see: charges that add up and are too small. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addedUp, Shortfalls } from '../../../src/observe/shortfalls.ts';
import { dense } from '../../support/cut-gateway.ts';
import { requestRecord } from '../../support/request-entries.ts';
import { scrapeOf } from '../../support/scrape.ts';
import { ask, scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

describe('a charge that its hold does not cover', () => {
  test('[R13] [F18] is counted in the metrics with what is missing, and the operator is told of the key and the day', async () => {
    await using fixture = await scriptedGateway({ settings: { alerts: {} }, model: { visible_output: true } });
    const { gateway, first } = fixture;
    const rich = await gateway.creditKey();
    const answer = ask(rich, 'chat', { max_tokens: 10 });
    (await first.next()).reply(200, JSON.stringify(SPEECH.chat.whole('Hi')));
    assert.equal((await answer).status, 200);
    // What this one pays for is less than what its answer comes to, most of which it does not get.
    const key = await gateway.creditKey({ credit: '0.009' });
    const client = streamed(key, 'chat');
    const call = await first.next();
    call.streamHead();
    call.chunk(SPEECH.chat.opening.join('') + SPEECH.chat.text(dense(7_000)));
    assert.match((await client.ended).text, /"finish_reason":"length"/);
    const used = (await settled(gateway, rich)).used + (await settled(gateway, key)).used;
    let scrape = await scrapeOf(gateway.dataDir);
    while (scrape.sum('gateway_requests_total') < 2) scrape = await scrapeOf(gateway.dataDir);
    const labels = { model: 'tested', provider: 'one' };
    assert.equal(scrape.sum('gateway_charges_clamped_total', labels), 1);
    const missing = scrape.sum('gateway_charge_shortfall_credits_total', labels);
    const price = scrape.sum('gateway_cost_credits_total', labels);
    assert.ok(missing > 0 && Math.abs(price - used - missing) < 1e-9, `${price} less ${used} is not ${missing}`);
    assert.equal(scrape.sum('gateway_usage_counted_total'), 1);

    const day = new Date().toISOString().slice(0, 10);
    for (;;) {
      const told = (await gateway.admin.alerts.list({})).data.map(({ type, data }) => ({ type, ...data }));
      const [shortfall] = told.filter(({ type }) => type === 'charge.shortfall');
      if (shortfall === undefined) await sleep(50);
      else {
        assert.deepEqual(
          { ...shortfall, day },
          { type: 'charge.shortfall', key: key.id, day, charges: 1, credits: missing },
        );
        break;
      }
    }
  });

  test('usage that the provider does not report is counted in a metric, by how its call ended', async () => {
    await using fixture = await scriptedGateway();
    const { gateway, first } = fixture;
    const key = await gateway.creditKey();
    const answer = ask(key, 'chat', { max_tokens: 10 });
    (await first.next()).reply(200, JSON.stringify({ ...SPEECH.chat.whole('Hi'), usage: undefined }));
    assert.equal((await answer).status, 200);
    let scrape = await scrapeOf(gateway.dataDir);
    while (scrape.sum('gateway_requests_total') < 1) scrape = await scrapeOf(gateway.dataDir);
    const labels = { model: 'tested', provider: 'one', outcome: 'complete' };
    assert.equal(scrape.sum('gateway_usage_counted_total', labels), 1);
    assert.equal(scrape.sum('gateway_charges_clamped_total'), 0);
  });
});

test('shortfalls are kept by key and day for two days, and those of several threads are added up', () => {
  const dayMs = 86_400_000;
  const kept = new Shortfalls();
  const finish = (atMs: number, keyId: string, mode: 'credit' | 'token_budget', owed: bigint, charged: bigint) =>
    kept.finished(Object.assign(requestRecord(), { receivedAtMs: atMs, keyId, mode, owed, charged }));
  finish(0, 'a', 'credit', 10n, 4n);
  finish(1, 'a', 'credit', 10n, 10n);
  finish(dayMs, 'a', 'credit', 10n, 9n);
  finish(dayMs, 'a', 'credit', 10n, 8n);
  finish(dayMs, 'b', 'token_budget', 10n, 3n);
  const ofB = { key: 'b', day: '1970-01-02', charges: 1, nanos: 0n, tokens: 7n };
  const ofA = { key: 'a', day: '1970-01-02', charges: 2, nanos: 3n, tokens: 0n };
  assert.deepEqual(kept.list(2 * dayMs), [
    { key: 'a', day: '1970-01-01', charges: 1, nanos: 6n, tokens: 0n },
    ofA,
    ofB,
  ]);
  assert.deepEqual(kept.list(3 * dayMs), [ofA, ofB]);
  assert.deepEqual(addedUp([[ofA, ofB], [ofB]]), [ofA, { ...ofB, charges: 2, tokens: 14n }]);
});
