/** What `gateway usage` and `GET /admin/v1/usage` say about requests that a gateway served, and that it is what was charged. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { storeFile } from '../../../src/admin/data-folder.ts';
import { gateway as command } from '../../support/admin-fixture.ts';
import { GENERATIONS, say } from '../../support/requests.ts';
import { scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import { withGateway } from '../../support/started-gateway.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const gateway = await withGateway();

function entriesOf(dataDir: string, keyId: string): { readonly amount: number; readonly providerCost: number } {
  const database = new DatabaseSync(storeFile(dataDir), { readOnly: true });
  const sums = `SELECT sum(amount) AS amount, sum(provider_cost_nanos) AS cost FROM entries WHERE key_id = ? AND kind = 'charge'`;
  const { amount, cost } = database.prepare(sums).get(keyId) ?? {};
  database.close();
  return { amount: Number(amount) / 1e9, providerCost: Number(cost) / 1e9 };
}

describe('usage reports of a gateway', () => {
  test('[R52] count each answered request once, by model and format, to the nano of what was charged', async () => {
    const key = await gateway.creditKey({ label: 'reports' });
    for (const name of GENERATIONS) await (await say(key, name, 'Hello', { stream: name === 'chat' })).text();
    const report = await gateway.admin.usage({ by: 'format,model', key: key.id });
    assert.deepEqual(
      report.data.map(({ format, model, requests, cancelled }) => [format, model, requests, cancelled]),
      [
        ['chat', 'sandbox/alpha', 1, 0],
        ['messages', 'sandbox/beta', 1, 0],
        ['responses', 'sandbox/alpha', 1, 0],
      ],
    );
    const { total } = report;
    const entries = entriesOf(gateway.dataDir, key.id);
    assert.deepEqual([total.charged_credits, total.provider_cost], [entries.amount, entries.providerCost]);
    const { used, requests, input_tokens, output_tokens } = await gateway.admin.showKey(key.id);
    assert.deepEqual(
      [total.cost, total.requests, total.input_tokens, total.output_tokens],
      [used, requests, input_tokens, output_tokens],
    );
    // Every answer has begun, and none of them before it was asked for or after its end.
    const { first_byte_ms: first, duration_ms: whole } = total;
    assert.ok(first !== null && whole !== null && first.p50 >= 0 && first.p50 <= whole.p99, JSON.stringify(total));
  });

  test('the command prints a table, CSV and JSON of it, and one line where it is asked for nonsense', async () => {
    const { dataDir } = gateway;
    const table = await command(dataDir, 'usage', '--by', 'label,format', '--label', 'reports', '--since', '1d');
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /^Usage from .*\n\nLABEL +FORMAT +REQUESTS[^\n]*\nreports +chat +1 /);
    const csv = await command(dataDir, 'usage', '--by', 'format', '--label', 'reports', '--csv');
    assert.deepEqual(
      csv.stdout.split('\n').map((line) => line.split(',').slice(0, 2).join(',')),
      ['format,requests', 'chat,1', 'messages,1', 'responses,1', ''],
    );
    const json = await command(dataDir, 'usage', '--label', 'reports', '--json');
    assert.equal(JSON.parse(json.stdout).total.requests, 3);
    const wrong = await command(dataDir, 'usage', '--by', 'colour');
    assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
    assert.match(wrong.stderr, /^gateway: --by is "colour": must be a list of day, hour, key, label, [^\n]*\n$/);
  });

  test('[R49] a cancelled call is in them with its model, its provider and what it costs, although it has no record', async () => {
    await using fixture = await scriptedGateway({});
    const key = await fixture.gateway.tokenKey();
    const client = streamed(key, 'chat');
    const call = await fixture.first.next();
    call.streamHead();
    for (const frame of SPEECH.chat.opening) call.chunk(frame);
    call.chunk(SPEECH.chat.text('x'.repeat(4_000)));
    await client.until(/x{4000}/);
    client.close();
    await call.closed;
    const { used } = await settled(fixture.gateway, key);
    const { data } = await fixture.gateway.admin.usage({ by: 'model,provider,format' });
    const [row] = data;
    assert.ok(row !== undefined && data.length === 1);
    assert.deepEqual([row.model, row.format, row.requests, row.cancelled], ['tested', 'chat', 0, 1]);
    assert.ok(row.provider !== null && (row.provider_cost ?? 0) > 0, JSON.stringify(row));
    assert.deepEqual([row.charged_tokens, row.charged_credits], [used, 0]);
    // The model costs 1 and 4 per million tokens of input and output.
    assert.ok(row.cost > used * 1e-6 && row.cost < used * 4e-6, JSON.stringify(row));
  });
});
