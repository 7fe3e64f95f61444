/** A PostgreSQL that answers and cannot serve: requests are refused with a 503, nothing is lost, and it comes back by itself. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from '../support/postgres.ts';
import { call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { gatedUpstream } from '../support/upstreams/gated.ts';

const server = await startPostgres();
after(() => server.stop());

const CHAT = { max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

async function statusOf(gateway: StartedGateway, key: string, model = 'sandbox/alpha'): Promise<number> {
  const response = await call(`${gateway.origin}/v1/chat/completions`, { key, body: { model, ...CHAT } });
  await response.text();
  return response.status;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(20);
}

describe('[F52] a PostgreSQL', () => {
  test('that takes no writes any more: 503 and not ready, until it does again', async () => {
    await using gateway = await startedGateway({ env: { DATABASE_URL: server.url(await server.createDatabase()) } });
    const { key, id } = await gateway.creditKey();
    assert.equal(await statusOf(gateway, key), 200);
    const readOnly = async (setting: 'on' | 'off'): Promise<void> => {
      await server.query('postgres', `ALTER SYSTEM SET default_transaction_read_only = ${setting}`);
      await server.query('postgres', 'SELECT pg_reload_conf()');
    };
    const ready = async (): Promise<boolean> => (await call(`${gateway.origin}/readyz`)).status === 200;
    await readOnly('on');
    await until(async () => (await statusOf(gateway, key)) === 503);
    await until(async () => !(await ready()));
    await readOnly('off');
    await until(ready);
    const { requests } = await gateway.admin.showKey(id);
    assert.equal(await statusOf(gateway, key), 200);
    assert.equal((await gateway.admin.showKey(id)).requests, requests + 1);
    assert.deepEqual((await gateway.audit()).findings, []);
  });

  test('whose disk is full: what was answered meanwhile is charged once when there is room again', async () => {
    await using upstream = await gatedUpstream();
    const database = await server.createDatabase();
    const env = { DATABASE_URL: server.url(database) };
    await using gateway = await startedGateway({ env, config: upstream.config });
    const { key, id } = await gateway.creditKey();
    const answered = statusOf(gateway, key, 'gated/one');
    const provider = await upstream.next();
    await server.query(
      database,
      `CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER full_holds BEFORE INSERT ON gateway.holds FOR EACH STATEMENT EXECUTE FUNCTION public.full();
      CREATE TRIGGER full_entries BEFORE INSERT ON gateway.entries FOR EACH STATEMENT EXECUTE FUNCTION public.full()`,
    );
    provider.answer();
    assert.equal(await statusOf(gateway, key), 503);
    assert.equal((await gateway.admin.showKey(id)).used, 0);
    await server.query(
      database,
      'DROP TRIGGER full_holds ON gateway.holds; DROP TRIGGER full_entries ON gateway.entries',
    );
    assert.equal(await answered, 200);
    await until(async () => (await gateway.admin.showKey(id)).live_holds === 0);
    const { used, requests, reserved } = await gateway.admin.showKey(id);
    assert.ok(used > 0);
    assert.deepEqual([requests, reserved], [1, 0]);
    assert.equal(await statusOf(gateway, key), 200);
    assert.deepEqual((await gateway.audit()).findings, []);
  });
});
