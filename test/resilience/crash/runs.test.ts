/** kill -9 in the middle of background responses: each has one end and one charge, and every reader sees it. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import OpenAI from 'openai';
import type { Response as Answer } from 'openai/resources/responses/responses';
import { command } from '../../support/admin-fixture.ts';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { startPostgres } from '../../support/postgres.ts';
import { usage } from '../../support/requests.ts';
import { eventually } from '../../support/run-scene.ts';
import { call } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const RUNS = 5;
/** At 10 ms each it lasts a minute. */
const LONG = '[[tokens=6000]] [[delay=10]] go on';
const SHORT = '[[tokens=12]] be short';

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`[R77] [F2] [F54] killed in the middle of runs on ${engine}: failed, charged once, and read by everybody alike`, async (t) => {
    await using postgres = engine === 'sqlite' ? null : await startPostgres();
    const env: Record<string, string> =
      postgres === null
        ? {}
        : { DATABASE_URL: postgres.url(await postgres.createDatabase()), GATEWAY_LEASE_SECONDS: '1' };
    const start = async (dataDir: string): Promise<GatewayProcess> => {
      await writeFile(join(dataDir, 'gateway.yaml'), 'sandbox: true\n');
      const gateway = await gatewayProcess(dataDir, env);
      t.after(() => gateway.kill('SIGKILL'));
      return gateway;
    };
    const [ownDir, otherDir] = [temporaryFolder('gateway-runs'), temporaryFolder('gateway-runs')];
    const dying = await start(ownDir);
    // On PostgreSQL another gateway finds out; the embedded store is opened again.
    const other = engine === 'sqlite' ? null : await start(otherDir);
    const keys = await Promise.all(
      Array.from({ length: RUNS }, () => dying.admin.createKey({ mode: 'credit', credit: '5' })),
    );
    const clientOf = (key: (typeof keys)[number], origin: string): OpenAI =>
      new OpenAI({ apiKey: key.key, baseURL: `${origin}/v1`, maxRetries: 0 });
    const finished = await clientOf(keys[0] as (typeof keys)[number], dying.origin).responses.create({
      model: 'sandbox/alpha',
      input: SHORT,
      background: true,
    });
    const before = await eventsOf(dying.origin, keys[0]?.key ?? '', finished.id);
    assert.match(before, /"type":"response\.completed"/);
    const [paidBefore] = await Promise.all(
      keys.slice(0, 1).map(async (key) => (await usage({ ...key, origin: dying.origin })).credits.used),
    );

    const runs = await Promise.all(
      keys.map(async (key) => {
        const client = clientOf(key, dying.origin);
        const { id } = await client.responses.create({ model: 'sandbox/alpha', input: LONG, background: true });
        let deltas = 0;
        // Far enough to have been marked several times.
        for await (const event of await client.responses.retrieve(id, { stream: true })) {
          if (event.type === 'response.output_text.delta' && ++deltas >= 250) break;
        }
        return { key, id };
      }),
    );
    await dying.kill('SIGKILL');
    const living = other ?? (await start(ownDir));

    for (const { key, id } of runs) {
      const client = clientOf(key, living.origin);
      const response = await eventually(async (): Promise<Answer | null> => {
        const shown = await client.responses.retrieve(id);
        return shown.status === 'in_progress' ? null : shown;
      });
      assert.equal(response.status, 'failed');
      assert.equal(response.error?.code, 'server_error');
      assert.match(response.error?.message ?? '', /gateway.*has stopped/);
      const first = await eventsOf(living.origin, key.key, id);
      assert.match(first, /event: response\.failed\ndata: [^\n]*"server_error"[^\n]*\n\n$/);
      assert.equal(await eventsOf(living.origin, key.key, id), first);
      const said = [...first.matchAll(/"type":"response\.output_text\.delta".*?"delta":("[^"]*")/g)];
      assert.equal(response.output_text, said.map(([, delta = '']) => JSON.parse(delta)).join(''));
      assert.ok(said.length >= 250, 'it holds what had been produced');
      assert.equal((response.error as { request_id?: string }).request_id, id.replace('resp_', 'req_'));
      const numbers = [...first.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
      assert.equal(await eventsOf(living.origin, key.key, id, numbers.at(-1)), '', 'beyond the end');
      assert.equal((await client.responses.cancel(id)).status, 'failed', 'it has ended');
      const { credits } = await usage({ ...key, origin: living.origin });
      const spent = credits.used - (key === keys[0] ? (paidBefore ?? 0) : 0);
      assert.ok(spent > 0, 'what was marked is charged');
      // 4 credits for a million tokens.
      assert.ok(spent <= (6_000 * 4) / 1e6, String(spent));
      assert.equal(credits.reserved, 0);
      const lost = id.replace('resp_', 'req_');
      const charge = new RegExp(
        `no request ${lost} .*the ledger has its charge: 0\\.\\d+ credits of key ${key.id}, .*its gateway died`,
      );
      await assert.rejects(living.admin.call('showRequest', { id: lost }), charge);
      if (engine === 'sqlite') assert.match((await command(ownDir, 'requests', 'show', lost)).stderr, charge);
    }
    // A run that had ended before is there as it was, and is resumed anywhere.
    assert.equal(await eventsOf(living.origin, keys[0]?.key ?? '', finished.id), before);
    const tail = await eventsOf(living.origin, keys[0]?.key ?? '', finished.id, 3);
    assert.ok(tail.length > 0 && before.endsWith(tail));
    const audit = await living.admin.audit();
    assert.deepEqual([audit.findings, audit.live_holds], [[], 0]);
  });
}

async function eventsOf(origin: string, key: string, id: string, after?: number): Promise<string> {
  const query = after === undefined ? '' : `&starting_after=${after}`;
  const response = await call(`${origin}/v1/responses/${id}?stream=true${query}`, { key });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text.replaceAll(': keep-alive\n\n', '');
}
