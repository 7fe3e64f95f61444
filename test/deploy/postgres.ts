/** Gateways on a PostgreSQL as it is operated: behind PgBouncer, and with a standby that takes over under load. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { assertBooks, farProvider, type Job, Load, newJobs, until } from '../resilience/chaos/load.ts';
import { type GatewayProcess, gatewayProcess } from '../support/gateway-process.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { keepsPrepared, pgbouncer, startPgBouncer } from './pgbouncer.ts';

const JOBS = 24;
const SECRET = 'an installation secret for tests only';
/** A busy machine may need long; a server that is gone refuses at once. */
const PATIENT = 'connect_timeout=300';

let sandbox: Sandbox;
before(async () => {
  sandbox = await startSandbox();
});
after(() => sandbox.close());

async function startGateway(DATABASE_URL: string, flags: readonly string[] = []): Promise<GatewayProcess> {
  const dataDir = temporaryFolder('gateway-operated');
  await writeFile(join(dataDir, 'gateway.yaml'), farProvider(sandbox.port));
  return gatewayProcess(dataDir, { DATABASE_URL, GATEWAY_SECRET: SECRET }, flags);
}

/** Every answer that a client saw complete has its row in the request log, a moment later. */
async function assertLogged(server: TestPostgres, database: string, jobs: readonly Job[]): Promise<void> {
  const wanted = jobs.filter(({ usage }) => usage !== null).map(({ key }) => key.id);
  let missing: readonly string[] = wanted;
  await until(async () => {
    const rows = await server.query(database, 'SELECT DISTINCT key_id FROM gateway.request_log WHERE status = 200');
    const logged = new Set(rows.map(({ key_id: id }) => id));
    missing = wanted.filter((id) => !logged.has(id));
    return missing.length === 0;
  });
  assert.deepEqual(missing, []);
}

for (const poolMode of ['session', 'transaction']) {
  describe(`PgBouncer in ${poolMode} mode`, { skip: pgbouncer.skip, timeout: 600_000 }, () => {
    test('[F52] gateways under load, PgBouncer killed and back: each charge is made once, the log has every answer', async (t) => {
      await using server = await startPostgres();
      const database = await server.createDatabase();
      await using pooler = await startPgBouncer(server.port, poolMode);
      const url = `postgres://postgres@127.0.0.1:${pooler.port}/${database}?${PATIENT}`;
      const one = await startGateway(url);
      t.after(() => one.kill('SIGKILL'));
      const two = await startGateway(url, ['--workers', '2']);
      t.after(() => two.kill('SIGKILL'));
      const jobs = await newJobs(one.admin, JOBS);
      const load = new Load(jobs, (job) => (job % 2 === 0 ? one : two).origin);
      await load.frames(JOBS * 20);
      await pooler.restart();
      await load.ended;
      const { complete } = await assertBooks(one.admin, jobs);
      assert.ok(complete > 0);
      await assertLogged(server, database, jobs);
    });

    test('[F52] statements with a name run in every session, and leave no setting in any', async () => {
      await using server = await startPostgres();
      await using pooler = await startPgBouncer(server.port, poolMode);
      const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?${PATIENT}`;
      const options = { url, statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };
      const connections = Array.from({ length: 4 }, () => new Connection(options));
      const set = `(SELECT count(*)::int FROM pg_settings WHERE source = 'session' AND name = 'lock_timeout')`;
      const prepared = `EXISTS (SELECT FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%')`;
      const kept = poolMode === 'transaction' && keepsPrepared();
      for (let round = 0; round < 5; round++) {
        const rows = await Promise.all(
          connections.map((connection) =>
            connection.transaction('', async (query) => {
              const [row] = await query(
                `SELECT $1::int + 1 AS sum, ${set} AS set, ${prepared} AS prepared`,
                [round],
                'sum',
              );
              return row;
            }),
          ),
        );
        assert.deepEqual(rows, Array(4).fill({ sum: round + 1, set: 1, prepared: kept }));
      }
      for (const connection of connections) await connection.close();
      const client = new Client({ connectionString: url });
      await client.connect();
      for (let round = 0; round < 8; round++) {
        assert.deepEqual((await client.query(`SELECT ${set} AS set`)).rows, [{ set: 0 }]);
      }
      await client.end();
    });
  });
}

describe('PgBouncer in statement mode', { skip: pgbouncer.skip }, () => {
  test('[F52] is refused with one line that says what to set', async () => {
    await using server = await startPostgres();
    await using pooler = await startPgBouncer(server.port, 'statement');
    const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?${PATIENT}`;
    await assert.rejects(openPostgresStore({ url }), /pool_mode = transaction or session, not statement/);
  });
});

describe('a primary and a synchronous standby', { timeout: 600_000 }, () => {
  test('[F52] the primary dies under load and the standby takes over: nothing acknowledged is lost, nothing charged twice', async (t) => {
    await using primary = await startPostgres();
    const database = await primary.createDatabase();
    await using standby = await primary.standby();
    await primary.query('postgres', `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await primary.query('postgres', 'SELECT pg_reload_conf()');
    const replicating = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
    await until(async () => (await primary.query('postgres', replicating)).length === 1);
    assert.equal((await primary.query('postgres', replicating)).length, 1);

    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
    const url = `postgres://postgres@${hosts}/${database}?target_session_attrs=read-write&${PATIENT}`;
    const one = await startGateway(url);
    t.after(() => one.kill('SIGKILL'));
    const two = await startGateway(url, ['--workers', '2']);
    t.after(() => two.kill('SIGKILL'));
    const before = await newJobs(one.admin, JOBS);
    await new Load(before, (job) => (job % 2 === 0 ? one : two).origin).ended;
    const jobs = await newJobs(one.admin, JOBS);
    const load = new Load(jobs, (job) => (job % 2 === 0 ? one : two).origin);
    await load.frames(JOBS * 20);
    await primary.kill();
    await standby.query('postgres', 'SELECT pg_promote()');
    await load.ended;
    const { complete } = await assertBooks(two.admin, jobs);
    assert.ok(complete > 0, 'streams that ran at that moment were seen to their end');
    assert.equal((await assertBooks(one.admin, before)).complete, JOBS);
    await assertLogged(standby, database, [...before, ...jobs]);
  });
});
