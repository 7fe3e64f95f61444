/** What reports say about requests that were refused or failed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { UsageView } from '../../../src/admin/usage/schema.ts';
import { gateway as command } from '../../support/admin-fixture.ts';
import { freePort } from '../../support/free-port.ts';
import { say } from '../../support/requests.ts';
import { call, type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

async function counted(gateway: StartedGateway, query: object, wanted: number): Promise<UsageView> {
  for (;;) {
    const report = await gateway.admin.usage(query);
    if (report.total.failed + report.without_key.failed >= wanted) return report;
    await delay(20);
  }
}

/** One model works, and the provider of the other is not there. */
async function halfBroken(): Promise<StartedGateway> {
  const port = await freePort();
  const provider = { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'unused', formats: ['chat'] };
  return startedGateway({
    config: JSON.stringify({
      providers: { down: provider },
      models: [
        {
          id: 'broken',
          context_window: 1_000,
          max_output_tokens: 100,
          pricing: { input: 1, output: 1 },
          targets: [{ provider: 'down', model: 'm' }],
        },
      ],
      routing: { max_attempts: 1 },
      sandbox: true,
    }),
  });
}

describe('requests that failed', () => {
  test('are in every report by condition, beside what was charged', async () => {
    await using gateway = await halfBroken();
    const { admin } = gateway;
    const account = (await admin.accounts.create({ name: 'Acme' })).id;
    await admin.accounts.addCredit(account, { amount: '5' });
    const rich = await admin.createKey({ mode: 'credit', label: 'rich', account });
    const poor = await gateway.creditKey({ label: 'poor', credit: '0.000001' });
    await (await say(rich, 'chat', 'Hello')).text();
    for (let index = 0; index < 3; index += 1) await (await say(rich, 'chat', 'Hello', { model: 'broken' })).text();
    await (await say(poor, 'chat', 'Hello')).text();
    await (await say(rich, 'chat', 'Hello', { model: 'nobody/knows' })).text();
    const stranger = await call(`${gateway.origin}/v1/chat/completions`, { key: 'mg_c_unknown', body: {} });
    assert.equal(stranger.status, 401);

    const { total, without_key, complete } = await counted(gateway, {}, 6);
    assert.equal(complete, true);
    assert.deepEqual([total.requests, total.failed, total.error_rate], [1, 5, 0.833333]);
    const [unavailable = '', ...others] = Object.keys(total.failed_by_condition).sort(
      (a, b) => (total.failed_by_condition[b] ?? 0) - (total.failed_by_condition[a] ?? 0),
    );
    assert.deepEqual(others.sort(), ['insufficient_credit', 'model_not_found']);
    assert.equal(total.failed_by_condition[unavailable], 3);
    assert.deepEqual(without_key.failed_by_condition, { invalid_credentials: 1 });

    const by = async (query: object): Promise<readonly unknown[]> =>
      (await admin.usage(query)).data.map(({ label, account_name, model, provider, requests, failed, error_rate }) => [
        ...[label ?? account_name ?? model ?? provider ?? null, requests, failed, error_rate],
      ]);
    assert.deepEqual(await by({ by: 'label' }), [
      ['poor', 0, 1, 1],
      ['rich', 1, 4, 0.8],
    ]);
    assert.deepEqual(await by({ by: 'account' }), [
      [null, 0, 1, 1],
      ['Acme', 1, 4, 0.8],
    ]);
    assert.deepEqual(await by({ by: 'model', label: 'rich' }), [
      [null, 0, 1, 1],
      ['broken', 0, 3, 1],
      ['sandbox/alpha', 1, 0, 0],
    ]);
    assert.deepEqual(await by({ by: 'provider', model: 'broken' }), [['down', 0, 3, 1]]);
    // Those that were charged come first, and what only failed has the places that are left.
    assert.deepEqual(await by({ by: 'model', top: 1 }), [['sandbox/alpha', 1, 1, 0.5]]);
    assert.deepEqual(await by({ by: 'model', top: 2 }), [
      ['sandbox/alpha', 1, 1, 0.5],
      ['broken', 0, 3, 1],
    ]);
    assert.deepEqual(await by({ by: 'model', top: 1, order: 'failed' }), [['broken', 0, 3, 1]]);
    const [first] = (await admin.usage({ by: 'day,key,label', top: 1, order: 'failed' })).data;
    assert.deepEqual([first?.label, first?.requests, first?.failed], ['rich', 1, 4]);
    assert.equal((await admin.usage({ by: 'key', top: 1, order: 'failed' })).total.failed, 5);

    // A key that is called otherwise now is one row all the same, by the name that it has.
    await admin.changeKey(rich.id, { label: 'renamed' });
    assert.deepEqual((await admin.usage({ by: 'key,label' })).data.map(({ label, failed }) => [label, failed]).sort(), [
      ['poor', 1],
      ['renamed', 4],
    ]);

    const table = await command(gateway.dataDir, 'usage', '--by', 'model');
    assert.match(table.stdout, /\nbroken +0 +0 +0 +3 +100\.0 % /);
    assert.match(
      table.stdout,
      /\nFailed: [a-z_]+=3, [^\n]*insufficient_credit=1[^\n]*\nSee them: gateway requests list --condition /,
    );
    assert.match(table.stdout, /\nBeside them, requests without a known key: invalid_credentials=1\.\n/);
    const listed = await command(gateway.dataDir, 'requests', 'list', '--condition', 'any', '--json');
    assert.equal(JSON.parse(listed.stdout).data.length, 6);
  });

  test('are counted where nothing was ever charged', async () => {
    await using gateway = await halfBroken();
    const key = await gateway.creditKey();
    const { since } = await gateway.admin.usage({});
    await (await say(key, 'chat', 'Hello', { model: 'broken' })).text();
    await counted(gateway, {}, 1);
    const table = await command(gateway.dataDir, 'usage');
    assert.match(table.stdout, /^Usage from .*\n\nREQUESTS [^\n]*\n *0 +0 +0 +1 +100\.0 % /);
    assert.match(table.stdout, new RegExp(`--since ${since.slice(0, 10)}`));
  });
});
