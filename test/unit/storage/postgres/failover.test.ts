/** A connection to two servers: which one it uses when one of them ends, hangs or takes no writes. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '../../../../src/storage/postgres/connection.ts';
import { openingError } from '../../../../src/storage/postgres/error-mapping.ts';
import { certificateOfLocalhost } from '../../../support/certificate.ts';
import { startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

let one: TestPostgres;
let two: TestPostgres;
let connection: Connection;

function connectTo(hosts: string, target = 'read-write'): Connection {
  const url = `postgres://postgres@${hosts}/postgres?connect_timeout=2&target_session_attrs=${target}`;
  return new Connection({ url, statementTimeoutMs: 1_000, lockTimeoutMs: 1_000 });
}

const both = (): string => `127.0.0.1:${one.port},127.0.0.1:${two.port}`;

/** Writes, as a gateway does: again until it is done. */
async function portWritten(): Promise<number> {
  for (;;) {
    try {
      const [row] = await connection.query(
        `WITH row AS (INSERT INTO written VALUES (1)) SELECT current_setting('port')::int AS port`,
      );
      return Number(row?.port);
    } catch {
      await pause(20);
    }
  }
}

async function readOnly(server: TestPostgres, on: boolean): Promise<void> {
  await server.query('postgres', `ALTER SYSTEM SET default_transaction_read_only = ${on ? 'on' : 'off'}`);
  await server.query('postgres', 'SELECT pg_reload_conf()');
  // The setting is there when the server's own processes have read it.
  const asked = `SELECT current_setting('default_transaction_read_only') AS setting`;
  while ((await server.query('postgres', asked))[0]?.setting !== (on ? 'on' : 'off')) await pause(20);
}

describe('[F52] a connection to several servers', () => {
  before(async () => {
    [one, two] = await Promise.all([startPostgres(), startPostgres()]);
    for (const server of [one, two]) await server.query('postgres', 'CREATE TABLE written (n integer)');
  });
  after(() => Promise.all([one.stop(), two.stop()]));
  beforeEach(() => {
    connection = connectTo(both());
  });
  afterEach(() => connection.close());

  test('is with the first that takes writes, and leaves one that no longer does at the first statement', async () => {
    await readOnly(one, true);
    assert.equal(await portWritten(), two.port);
    await readOnly(one, false);
    assert.equal(await portWritten(), two.port, 'what works is kept');
    await readOnly(two, true);
    // A session may have read the new setting a moment later than others.
    while ((await portWritten()) !== one.port);
    await readOnly(two, false);
  });

  test('goes to the other when its server ends, and when it hangs', async () => {
    const first = await portWritten();
    const [used, other] = first === one.port ? [one, two] : [two, one];
    const thaw = await used.freeze();
    try {
      assert.equal(await portWritten(), other.port);
    } finally {
      thaw();
    }
    await other.kill();
    assert.equal(await portWritten(), used.port);
    await other.restart('immediate');
  });

  test('with none that takes writes: one line that says what each did', async () => {
    await Promise.all([readOnly(one, true), readOnly(two, true)]);
    const url = `postgres://u:s3cret@${both()}/db`;
    await assert.rejects(connection.open(), (error: unknown) => {
      const { message } = openingError(url, error);
      assert.match(
        message,
        /^Cannot use .*:\d+,.*:\d+\/db \(.*:\d+: it takes no writes; .*: it takes no writes\): .*primary$/,
      );
      assert.doesNotMatch(message, /s3cret/);
      return true;
    });
    const any = connectTo(both(), 'any');
    assert.equal((await any.query('SELECT 1 AS n'))[0]?.n, 1);
    await any.close();
    await Promise.all([readOnly(one, false), readOnly(two, false)]);
    assert.notEqual(await portWritten(), 0);
  });

  test('goes to the address of a name, and checks the certificate against the name', async () => {
    const folder = temporaryFolder('gateway-postgres-tls');
    const { key, cert } = certificateOfLocalhost();
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    writeFileSync(keyFile, key, { mode: 0o640 });
    writeFileSync(certFile, cert);
    // The server runs as nobody then, and takes a key of root that its group may read.
    if (process.getuid?.() === 0) chownSync(keyFile, 0, 65_534);
    chmodSync(keyFile, process.getuid?.() === 0 ? 0o640 : 0o600);
    chmodSync(folder, 0o755);
    const tls = ['ssl=on', `ssl_cert_file=${certFile}`, `ssl_key_file=${keyFile}`].flatMap((one) => ['-c', one]);
    await using server = await startPostgres(tls);
    const attempt = async (host: string): Promise<unknown> => {
      const url = `postgres://postgres@${host}:${server.port}/postgres?sslmode=verify-full&sslrootcert=${certFile}&connect_timeout=300`;
      const secured = new Connection({ url, statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
      try {
        const [row] = await secured.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
        return row?.ssl;
      } finally {
        await secured.close();
      }
    };
    assert.equal(await attempt('localhost'), true);
    await assert.rejects(attempt('127.0.0.1'), /certificate/);
  });
});
