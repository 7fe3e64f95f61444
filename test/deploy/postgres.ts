/** Gateways on a PostgreSQL as it is operated: behind PgBouncer, and with a standby that takes over under load. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { openingError } from '../../src/storage/postgres/error-mapping.ts';
import {
  assertBooks,
  type ChatUsage,
  costOf,
  farProvider,
  type Job,
  keyWhen,
  Load,
  MODEL,
  newJobs,
  until,
} from '../resilience/chaos/load.ts';
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

/** Every answer that a client has is in the request log, a moment later. */
async function assertLogged(
  server: TestPostgres,
  database: string,
  answers: ReadonlyMap<string, number>,
): Promise<void> {
  let missing: readonly string[] = [...answers.keys()];
  await until(async () => {
    // The log makes its table before its first row.
    const [log] = await server.query(database, `SELECT to_regclass('gateway.request_log') IS NOT NULL AS made`);
    if (log?.made !== true) return false;
    const sql = 'SELECT key_id, count(*)::int AS rows FROM gateway.request_log WHERE status = 200 GROUP BY key_id';
    const rows = new Map((await server.query(database, sql)).map((row) => [row.key_id, Number(row.rows)]));
    missing = [...answers].filter(([id, count]) => (rows.get(id) ?? 0) < count).map(([id]) => id);
    return missing.length === 0;
  });
  assert.deepEqual(missing, []);
}

function answersOf(jobs: readonly Job[]): ReadonlyMap<string, number> {
  return new Map(jobs.filter(({ usage }) => usage !== null).map(({ key }) => [key.id, 1]));
}

interface QuickClients extends AsyncDisposable {
  /** Resolves when they have so many more. */
  answers(count: number): Promise<void>;
  /** Ends them. Each key was charged for exactly what its client has answers to; how many these are. */
  assertCharged(): Promise<ReadonlyMap<string, number>>;
}

/** Each asks for one short answer after the other with a key of its own, so that some are acknowledged at any moment. */
async function quickClients(gateways: readonly GatewayProcess[]): Promise<QuickClients> {
  let answered = 0;
  let ended = false;
  const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: '[[tokens=3]]' }] });
  const run = async ({ origin, admin }: GatewayProcess) => {
    const { key, id } = await admin.createKey({ mode: 'credit', credit: '5' });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    let nanos = 0;
    let answers = 0;
    while (!ended) {
      const response = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status === 200) {
        nanos += costOf((JSON.parse(text) as { usage: ChatUsage }).usage);
        answers += 1;
        answered += 1;
      } else {
        assert.equal(response.status, 503, text);
        await delay(20);
      }
    }
    const { used } = await keyWhen(admin, id, (view) => view.live_holds === 0);
    return { id, charged: Math.round(used * 1e9), nanos, answers };
  };
  const running = Promise.all(gateways.flatMap((gateway) => Array.from({ length: 4 }, () => run(gateway))));
  running.catch(() => {});
  return {
    answers: async (count) => {
      const wanted = answered + count;
      await Promise.race([until(async () => answered >= wanted), running]);
      assert.ok(answered >= wanted);
    },
    assertCharged: async () => {
      ended = true;
      const clients = await running;
      for (const { charged, nanos } of clients) assert.equal(charged, nanos);
      return new Map(clients.map(({ id, answers }) => [id, answers]));
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      await running.catch(() => {});
    },
  };
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
      await assertLogged(server, database, answersOf(jobs));
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

describe('PgBouncer that is too small', { skip: pgbouncer.skip }, () => {
  test('[F52] a start that gets no session, or is no longer let in, says what to raise', async () => {
    await using server = await startPostgres();
    const advice = async (size: number, clients: number): Promise<string> => {
      await using pooler = await startPgBouncer(server.port, 'session', size, clients);
      const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres`;
      const [first, second] = [1, 2].map(() => new Connection({ url, statementTimeoutMs: 1_000, lockTimeoutMs: 0 }));
      assert.ok(first !== undefined && second !== undefined);
      try {
        await until(async () =>
          first.open().then(
            () => true,
            () => false,
          ),
        );
        return await second.open().then(
          () => 'it was let in',
          (error: unknown) => openingError(url, error).message,
        );
      } finally {
        await Promise.all([first.close(), second.close()]);
      }
    };
    assert.match(await advice(1, 10), /^Cannot use .*raise default_pool_size there$/);
    assert.match(await advice(1, 1), /^Cannot use .*raise max_client_conn there$/);
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
    await using quick = await quickClients([one, two]);
    await load.frames(JOBS * 20);
    await quick.answers(100);
    await primary.kill();
    await standby.query('postgres', 'SELECT pg_promote()');
    await load.ended;
    await quick.answers(100);
    const answers = await quick.assertCharged();
    const { complete } = await assertBooks(two.admin, jobs);
    assert.ok(complete > 0, 'streams that ran at that moment were seen to their end');
    assert.equal((await assertBooks(one.admin, before)).complete, JOBS);
    await assertLogged(standby, database, new Map([...answersOf([...before, ...jobs]), ...answers]));
  });
});
