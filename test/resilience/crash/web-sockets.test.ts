/** kill -9 in the middle of responses over WebSockets: charged once by what was marked, and another gateway goes on. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { startPostgres } from '../../support/postgres.ts';
import { usage } from '../../support/requests.ts';
import { eventually } from '../../support/run-scene.ts';
import { SocketClient } from '../../support/socket-client.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const CLIENTS = 5;
/** At 10 ms each it lasts a minute. */
const LONG = '[[tokens=6000]] [[delay=10]] go on';

test('[R80] [F2] one of two gateways on PostgreSQL is killed: its responses are charged once, and their conversations go on at the other', async (t) => {
  await using postgres = await startPostgres();
  const env = { DATABASE_URL: postgres.url(await postgres.createDatabase()), GATEWAY_LEASE_SECONDS: '1' };
  const start = async (): Promise<GatewayProcess> => {
    const dataDir = temporaryFolder('gateway-web-sockets');
    await writeFile(join(dataDir, 'gateway.yaml'), 'sandbox: true\n');
    const gateway = await gatewayProcess(dataDir, env);
    t.after(() => gateway.kill('SIGKILL'));
    return gateway;
  };
  const [dying, living] = [await start(), await start()];
  const sessions = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const key = await dying.admin.createKey({ mode: 'credit', credit: '5' });
      const client = await SocketClient.open({ key: key.key, origin: dying.origin });
      const first = await client.create('[[tokens=5]] be short').completed();
      const paid = (await usage({ ...key, origin: living.origin })).credits.used;
      client.create(LONG, { previous_response_id: first.id });
      // Far enough to have been marked several times.
      for (let deltas = 0; deltas < 250; ) if ((await client.next()).type === 'response.output_text.delta') deltas += 1;
      return { key: { ...key, origin: living.origin }, client, first, paid };
    }),
  );
  await dying.kill('SIGKILL');
  for (const { key, client, first, paid } of sessions) {
    await client[Symbol.asyncDispose]();
    const { credits } = await eventually(async () => {
      const seen = await usage(key);
      return seen.credits.reserved === 0 ? seen : null;
    });
    const spent = credits.used - paid;
    assert.ok(spent > 0, 'what was marked is charged');
    // 4 credits for a million tokens, and what the prompt has.
    assert.ok(spent <= (6_000 * 4 + 200) / 1e6, String(spent));
    await using again = await SocketClient.open(key);
    const next = await again.create('[[tokens=5]] and now?', { previous_response_id: first.id }).completed();
    assert.equal(next.previous_response_id, first.id);
    const { input_tokens: input = 0, output_tokens: output = 0 } = next.usage ?? {};
    const after = (await usage(key)).credits;
    assert.equal((after.used - credits.used).toFixed(9), ((input + output * 4) / 1e6).toFixed(9));
    assert.equal(after.reserved, 0);
  }
  const audit = await living.admin.audit();
  assert.deepEqual([audit.findings, audit.live_holds], [[], 0]);
});
