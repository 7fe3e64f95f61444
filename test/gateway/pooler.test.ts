/** A gateway whose sessions with PostgreSQL go through a pooler that keeps them, as PgBouncer in session mode does. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LogDatabase } from '../../src/observe/request-log/postgres/database.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import { ADVISORY_LOCKS } from '../../src/storage/advisory-locks.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { startPostgres } from '../support/postgres.ts';
import { startSessionPooler } from '../support/session-pooler.ts';
import { call, startedGateway } from '../support/started-gateway.ts';

const server = await startPostgres();
after(() => server.stop());

describe('PostgreSQL behind a pooler in session mode', () => {
  test('every connection begins with parameters that the pooler knows, and the request log has its records', async () => {
    await using pooler = await startSessionPooler(server.port);
    const url = new URL(server.url(await server.createDatabase()));
    url.port = String(pooler.port);
    await using gateway = await startedGateway({ env: { DATABASE_URL: url.href } });
    const { key } = await gateway.creditKey();
    const body = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
    const response = await call(`${gateway.origin}/v1/chat/completions`, { key, body });
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
    const url = new URL(server.url(await server.createDatabase()));
    url.port = String(pooler.port);
    const log = new LogDatabase(url.href);
    const [row] = await log.query(
      `SELECT current_setting('statement_timeout') AS timeout, current_setting('synchronous_commit') AS waits`,
    );
    assert.deepEqual(row, { timeout: '10s', waits: 'off' });
    await log.close();
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
