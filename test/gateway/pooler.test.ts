/** A gateway whose connections to PostgreSQL go through a pooler that keeps sessions, or only transactions, as PgBouncer does. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { readSettings } from '../../src/config/settings.ts';
import { LogDatabase } from '../../src/observe/request-log/postgres/database.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import { upgrade } from '../../src/process/data/upgrade.ts';
import { ADVISORY_LOCKS } from '../../src/storage/advisory-locks.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { startPostgres } from '../support/postgres.ts';
import { startSessionPooler } from '../support/session-pooler.ts';
import { call, startedGateway } from '../support/started-gateway.ts';
import { startTransactionPooler } from '../support/transaction-pooler.ts';

const server = await startPostgres();
after(() => server.stop());
const CHAT = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

async function urlThrough(port: number): Promise<URL> {
  const url = new URL(server.url(await server.createDatabase()));
  url.port = String(port);
  return url;
}

describe('PostgreSQL behind a pooler in session mode', () => {
  test('every connection begins with parameters that the pooler knows, and the request log has its records', async () => {
    await using pooler = await startSessionPooler(server.port);
    const url = await urlThrough(pooler.port);
    await using gateway = await startedGateway({ env: { DATABASE_URL: url.href } });
    const { key } = await gateway.creditKey();
    const response = await call(`${gateway.origin}/v1/chat/completions`, { key, body: CHAT });
    assert.equal(response.status, 200, await response.text());
    const id = response.headers.get('x-request-id') ?? '';
    const reader = new PostgresRequestReader(url.href);
    while ((await reader.find(id)) === null) {
      assert.deepEqual(pooler.refused, []);
      await sleep(20);
    }
    await reader.close();
    assert.deepEqual(pooler.refused, []);
  });

  test('the request log’s connection has its settings all the same', async () => {
    await using pooler = await startSessionPooler(server.port);
    const url = await urlThrough(pooler.port);
    const log = new LogDatabase(url.href);
    const [row] = await log.query(
      `SELECT current_setting('statement_timeout') AS timeout, current_setting('synchronous_commit') AS waits`,
    );
    assert.deepEqual(row, { timeout: '10s', waits: 'on' });
    await log.close();
  });
});

describe('[F52] PostgreSQL behind a pooler in transaction mode', () => {
  test('everything works, and no session of the server keeps anything of it', async () => {
    await using pooler = await startTransactionPooler(server.port);
    const url = await urlThrough(pooler.port);
    // It is there for as long as the gateway, so that the pooler keeps the sessions.
    const client = new Client({ connectionString: url.href });
    await client.connect();
    await using gateway = await startedGateway({ env: { DATABASE_URL: url.href } });
    const { key, id: keyId } = await gateway.creditKey();
    const ask = (body: object, headers = {}) => call(`${gateway.origin}/v1/chat/completions`, { key, body, headers });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(CHAT)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    await Promise.all(answers.map((answer) => answer.text()));
    assert.match(await (await ask({ ...CHAT, stream: true })).text(), /\[DONE\]/);
    for (const replayed of [null, 'true']) {
      const response = await ask(CHAT, { 'idempotency-key': 'once' });
      assert.equal(response.headers.get('idempotent-replayed'), replayed);
      await response.text();
    }
    assert.equal((await gateway.admin.showKey(keyId)).requests, 22);
    assert.deepEqual((await gateway.admin.listKeys()).map(({ id }) => id).includes(keyId), true);
    assert.deepEqual((await gateway.audit()).findings, []);
    const reader = new PostgresRequestReader(url.href);
    const id = answers[0]?.headers.get('x-request-id') ?? '';
    while ((await reader.find(id)) === null) await sleep(20);
    await reader.close();
    await gateway.stop();
    const left = new Map<unknown, unknown>();
    for (let i = 0; i < 12; i++) {
      const { rows } = await client.query(`SELECT pg_backend_pid() AS process,
        (SELECT count(*)::int FROM pg_settings WHERE source = 'session' AND name <> 'client_encoding') AS settings,
        (SELECT count(*)::int FROM pg_prepared_statements) AS statements,
        (SELECT count(*)::int FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS locks`);
      const [{ process, ...rest }] = rows as [{ process: number }];
      left.set(process, rest);
    }
    await client.end();
    assert.ok(left.size > 1, 'more than one session was used');
    for (const rest of left.values()) assert.deepEqual(rest, { settings: 0, statements: 0, locks: 0 });
  });

  test('DATABASE_DIRECT_URL changes the schema, at a start and by the command, and nothing else', async () => {
    await using pooler = await startTransactionPooler(server.port);
    await server.query('postgres', 'CREATE ROLE direct LOGIN SUPERUSER');
    for (const change of ['start', 'upgrade']) {
      const url = await urlThrough(pooler.port);
      const database = url.pathname.slice(1);
      const env = { DATABASE_URL: url.href, DATABASE_DIRECT_URL: server.url(database, 'direct') };
      if (change === 'upgrade') await upgrade(readSettings(env));
      await using gateway = await startedGateway({ env });
      await gateway.creditKey();
      const owners = await server.query(
        database,
        `SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'gateway' AND tablename IN ('entries', 'operators')`,
      );
      const ownerOf = (name: string): unknown => owners.find(({ tablename }) => tablename === name)?.tableowner;
      assert.equal(ownerOf('entries'), 'direct', change);
      assert.notEqual(ownerOf('operators'), 'direct', change);
      const open = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'direct'`;
      assert.deepEqual(await server.query('postgres', open), [{ n: 0 }]);
    }
  });

  test('a transaction that is given up is undone, and its connection comes back', async () => {
    await using pooler = await startTransactionPooler(server.port);
    const url = await urlThrough(pooler.port);
    const connection = new Connection({ url: url.href, statementTimeoutMs: 500, lockTimeoutMs: 500 });
    await connection.query('CREATE TABLE made (n integer)');
    const late = connection.transaction('', async (query) => {
      await query('INSERT INTO made VALUES (1)');
      await query('SELECT pg_sleep(600)');
    });
    await assert.rejects(late, /statement timeout/);
    assert.deepEqual(await connection.query('SELECT n FROM made'), []);
    await assert.rejects(connection.query('SELECT 1 / 0'), { code: '22012' });
    assert.equal((await connection.query('SELECT 2 AS n'))[0]?.n, 2);
    await connection.close();
  });
});

describe('[F53] a gateway that stops in the middle of a transaction', () => {
  async function keepsNobody(href: string): Promise<void> {
    const options = { url: href, statementTimeoutMs: 1_000, lockTimeoutMs: 200 };
    const stopping = new Connection(options);
    const other = new Connection(options);
    await other.query('CREATE TABLE hot (n integer)');
    await other.query('INSERT INTO hot VALUES (0)');
    const locked = Promise.withResolvers<void>();
    const woken = Promise.withResolvers<void>();
    const stopped = stopping.transaction('', async (query) => {
      await query('UPDATE hot SET n = n + 1');
      locked.resolve();
      await woken.promise;
      await query('SELECT 1');
    });
    await locked.promise;
    await assert.rejects(other.query('UPDATE hot SET n = n + 10'), { code: '55P03' });
    // The server ends what does not go on; until then each try ends with the lock's time-out.
    for (let taken = false; !taken; ) {
      taken = await other.query('UPDATE hot SET n = n + 10').then(
        () => true,
        (error: { code?: string }) => {
          assert.equal(error.code, '55P03');
          return false;
        },
      );
    }
    woken.resolve();
    await assert.rejects(stopped);
    assert.deepEqual(await stopping.query('SELECT n FROM hot'), [{ n: 10 }]);
    await Promise.all([stopping.close(), other.close()]);
  }

  test('keeps nobody waiting longer than the lock’s time-out, and is undone', async () => {
    await keepsNobody(server.url(await server.createDatabase()));
  });

  test('the same behind a pooler in transaction mode', async () => {
    await using pooler = await startTransactionPooler(server.port);
    await keepsNobody((await urlThrough(pooler.port)).href);
  });
});

describe('a connection with an end', () => {
  test('is closed when nobody uses it, and the next query opens another', async () => {
    const url = server.url(await server.createDatabase());
    const connection = new Connection({ url, statementTimeoutMs: 10_000, lockTimeoutMs: 0, idleMs: 20 });
    const process = async (): Promise<unknown> => (await connection.query('SELECT pg_backend_pid() AS id'))[0]?.id;
    const first = await process();
    await sleep(200);
    assert.notEqual(await process(), first);
    await connection.close();
  });
});

describe('advisory locks', () => {
  test('have each a number of its own', () => {
    const numbers = Object.values(ADVISORY_LOCKS);
    assert.equal(new Set(numbers).size, numbers.length);
  });

  test('are taken by the numbers of the one list', () => {
    const source = resolve(import.meta.dirname, '../../src');
    const takers = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(source, name), 'utf8'))
      .flatMap((text) => [...text.matchAll(/pg_(?:try_)?advisory_\w+\([^)]*\)[^;]*?;/g)].map(([call]) => call));
    assert.ok(takers.length > 0);
    assert.deepEqual(
      takers.filter((call) => !/ADVISORY_LOCKS[.[]/.test(call)),
      [],
    );
  });
});
