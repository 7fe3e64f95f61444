/** How the tables of the ledger are made and changed, while others serve. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Client } from 'pg';
import { createLedger, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { readMigrations } from '../../src/ledger/migrations.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { openSyncStore } from '../../src/ledger/sqlite/engine.ts';
import { moveToPostgres } from '../../src/ledger/transfer/move.ts';
import { inPostgres } from '../../src/ledger/transfer/postgres-side.ts';
import { StoreError, StoreVersionError } from '../../src/storage/errors.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { migrateSchema } from '../../src/storage/postgres/migration.ts';
import { untilWaitedFor } from '../support/overlap.ts';
import { startTransactionPooler } from '../support/transaction-pooler.ts';
import { admitRequest, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, replicas, server, template } from './postgres-books.ts';

const nothing = async (): Promise<void> => undefined;

const WAITING = `SELECT FROM pg_locks WHERE NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

async function untilWaiting(database: string, count: number): Promise<void> {
  while ((await server.query(database, WAITING)).length < count);
}

/** As a migration of the next release does. */
async function addColumn(
  url: string,
  waits: { readonly waitMs: number; readonly tries: number },
  onWait?: (message: string) => void,
): Promise<void> {
  const columns = `SELECT FROM information_schema.columns WHERE column_name = 'of_the_next_release'`;
  const migrations = ['accounts', 'tree_accounts'].map(
    (table) => `ALTER TABLE gateway.${table} ADD COLUMN of_the_next_release text`,
  );
  const connection = new Connection({ url, statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
  try {
    await migrateSchema(
      connection,
      {
        lock: 'ledgerMigration',
        onWait,
        pending: async (query) => ((await query(columns)).length > 0 ? [] : migrations),
        sqlOf: (sql) => sql,
        apply: async (query, pending) => {
          for (const sql of pending) await query(sql);
        },
      },
      { pauseMs: 10, ...waits },
    );
  } finally {
    await connection.close();
  }
}

export function migrations(): void {
  describe('changes of the schema', () => {
    test('several gateways that start at once on an empty database create it once, and agree on everything', async () => {
      const url = server.url(await server.createDatabase());
      const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore({ url })));
      const secrets = await Promise.all(stores.map((store) => store.sharedSecret(null)));
      assert.equal(new Set(secrets).size, 1);
      assert.match(secrets[0] ?? '', /^[0-9a-f]{64}$/);
      const first = await Promise.all(stores.map((store) => store.claimFirstStart()));
      assert.deepEqual(first.sort(), [false, false, false, false, true]);
      for (const store of stores) await store.close();
      const again = await openPostgresStore({ url });
      assert.equal(await again.sharedSecret(null), secrets[0]);
      assert.equal(await again.claimFirstStart(), false);
      await again.close();
    });

    test('a gateway that starts while another changes the schema waits as long as that takes', async (t) => {
      const url = server.url(await server.createDatabase());
      const other = new Client(url);
      await other.connect();
      try {
        await other.query('BEGIN');
        await other.query('SELECT pg_advisory_xact_lock($1)', [0x6a7e_3a11]);
        t.mock.timers.enable({ apis: ['setTimeout'] });
        const told: string[] = [];
        const opening = openPostgresStore({ url, onWait: (message) => told.push(message) });
        const waits = `SELECT count(*)::integer AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
        while ((await other.query<{ n: number }>(waits)).rows[0]?.n !== 1);
        t.mock.timers.tick(3_600_000);
        await other.query('COMMIT');
        t.mock.timers.reset();
        await (await opening).close();
        assert.deepEqual(told, ['Another process changes the schema of the database: waiting for it.']);
      } finally {
        await other.end();
      }
    });

    test('a change of the schema that waits for a transaction of somebody else holds up no request for long, and then names it', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const { id } = await ledger.createKey(newKey({ credit: 5n }));
      await server.query(
        database,
        `CREATE ROLE migrator LOGIN; GRANT USAGE ON SCHEMA gateway TO migrator; GRANT ALL ON ALL TABLES IN SCHEMA gateway TO migrator`,
      );
      const as = (name: string, user?: string) =>
        new Client({ connectionString: server.url(database, user), application_name: name });
      const others = [as('model-gateway requests', 'migrator'), as('pg_dump')];
      for (const other of others) await other.connect();
      try {
        for (const other of others) await other.query('BEGIN; SELECT count(*) FROM gateway.accounts');
        const refused =
          /not changed: process \d+ of the server \(pg_dump(, since 2.*)?\) has locked tables of it\. Start again/;
        // Since when somebody else has them, one who is no superuser is not shown.
        for (const user of [undefined, 'migrator']) {
          const failed = addColumn(server.url(database, user), { waitMs: 50, tries: 2 });
          await assert.rejects(failed, (error) => error instanceof StoreError && refused.test(error.message));
        }
        const told: string[] = [];
        const endless = { waitMs: 50, tries: 10_000 };
        const migrated = addColumn(server.url(database), endless, (message) => told.push(message));
        // Behind a wait without end they would wait until the others have ended.
        for (const hold of ['one', 'two', 'three']) {
          await untilWaiting(database, 1);
          assert.equal((await ledger.admit(admitRequest(id, hold, 1n))).kind, 'admitted');
        }
        for (const other of others) await other.query('COMMIT');
        await migrated;
        assert.equal(told.length, 1);
        assert.match(
          told[0] ?? '',
          /^Waiting to change the schema .*: process \d+ of the server \(pg_dump, since 2.*\)/,
        );
      } finally {
        for (const other of others) await other.end();
        await server.query(database, 'DROP OWNED BY migrator; DROP ROLE migrator');
      }
      assert.equal((await ledger.admit(admitRequest(id, 'four', 1n))).kind, 'admitted');
      await closeAll(ledgers);
    });

    test('a change of the schema that waits in a circle with somebody else is made when that one has ended', async () => {
      const { database, ledgers } = await replicas(1);
      const [first, other] = [await server.connect(database), await server.connect(database)];
      try {
        await first.query('BEGIN; LOCK TABLE gateway.tree_accounts');
        await other.query(`BEGIN; SET LOCAL deadlock_timeout = '1h'; SELECT count(*) FROM gateway.accounts`);
        // This side notices first.
        const url = `${server.url(database)}&options=${encodeURIComponent('-c deadlock_timeout=1ms')}`;
        const changed = addColumn(url, { waitMs: 60_000, tries: 10_000 });
        await untilWaiting(database, 1);
        const ended = other.query('SELECT count(*) FROM gateway.tree_accounts').then(() => other.query('COMMIT'));
        await untilWaiting(database, 2);
        await first.query('COMMIT');
        await ended;
        await changed;
      } finally {
        await first.end();
        await other.end();
      }
      await closeAll(ledgers);
    });

    test('a move of a whole ledger waits for a request, and does not stop it half-way', async () => {
      const { database, ledgers } = await replicas(1);
      const request = await server.connect(database);
      try {
        await request.query(`BEGIN; SET LOCAL deadlock_timeout = '1h'; SELECT id FROM gateway.owners FOR KEY SHARE`);
        const url = `${server.url(database)}&options=${encodeURIComponent('-c deadlock_timeout=1ms')}`;
        const moved = inPostgres(url, nothing, (side) => side.count('SELECT count(*) AS n FROM gateway.accounts'));
        await untilWaiting(database, 1);
        // In a circle, the move would be the one that fails.
        await Promise.all([request.query('SELECT key_id FROM gateway.accounts FOR UPDATE; COMMIT'), moved]);
      } finally {
        await request.end();
      }
      await closeAll(ledgers);
    });

    test('a move of a whole ledger has what was committed while it waited, through a pooler too', async () => {
      const { database, ledgers } = await replicas(1);
      const reader = await server.connect(database);
      await using pooler = await startTransactionPooler(server.port);
      const moves = [
        server.url(database),
        `postgres://postgres@127.0.0.1:${pooler.port}/${database}?pgbouncer=true`,
      ].entries();
      try {
        for (const [before, url] of moves) {
          await reader.query('BEGIN; LOCK TABLE gateway.owners, gateway.accounts IN ACCESS SHARE MODE');
          const moved = inPostgres(url, nothing, (side) => side.count('SELECT count(*) AS n FROM gateway.accounts'));
          moved.catch(() => undefined);
          await untilWaitedFor(reader);
          await only(ledgers).createKey(newKey({ credit: 5n }));
          await reader.query('COMMIT');
          assert.equal(await moved, before + 1);
        }
      } finally {
        await reader.end();
      }
      await closeAll(ledgers);
    });

    test('a move of a whole ledger that is refused, as gateways are running, waits for nobody before, nor do requests for it', async () => {
      const { database, ledgers } = await replicas(1);
      await only(ledgers).register();
      const reader = await server.connect(database);
      try {
        await reader.query('BEGIN; LOCK TABLE gateway.owners, gateway.accounts IN ACCESS SHARE MODE');
        await assert.rejects(
          inPostgres(server.url(database), nothing, async () => undefined),
          /Gateways are running on this database: stop them/,
        );
      } finally {
        await reader.end();
      }
      await closeAll(ledgers);
    });

    test('a move into a database that has an interrupted one is repeated only where nothing has changed since', async () => {
      const url = server.url(await server.createDatabase());
      const file = join(mkdtempSync(join(tmpdir(), 'move-')), 'gateway.db');
      const beside = { tables: new Set<string>(), changes: 0, prepare: nothing, move: nothing };
      const move = async (change: (ledger: OwnedLedger) => Promise<unknown>): Promise<unknown> => {
        const ledger = createLedger(openSyncStore({ file }));
        await change(ledger);
        const before = await ledger.audit();
        await ledger.close();
        return moveToPostgres(file, url, { fingerprint: 'f', stored: 's' }, before, beside);
      };
      const key = newKey({ credit: 5n });
      const account = newAccount();
      await move(async (ledger) => {
        await ledger.createKey(key);
        await ledger.createAccount(account);
      });
      await move(nothing);
      const changed =
        /has a ledger already: a ledger moves into an empty one only\. Where it is that of an earlier move/;
      await assert.rejects(
        move((ledger) => ledger.changeAccount(account.id, { status: 'suspended' })),
        changed,
      );
      await assert.rejects(
        move((ledger) => ledger.changeKey(key.id, { status: 'revoked' })),
        changed,
      );
    });

    test('a move is not repeated where operators have changed something of their own since', async () => {
      const url = server.url(await server.createDatabase());
      const file = join(mkdtempSync(join(tmpdir(), 'move-')), 'gateway.db');
      const ledger = createLedger(openSyncStore({ file }));
      await ledger.createKey(newKey());
      const before = await ledger.audit();
      await ledger.close();
      const move = (changes: number) =>
        moveToPostgres(file, url, { fingerprint: 'f', stored: 's' }, before, {
          ...{ tables: new Set<string>(), prepare: nothing, move: nothing },
          changes,
        });
      for (let tries = 0; tries < 2; tries++) await move(7);
      await assert.rejects(move(8), /has a ledger already/);
    });

    test('opening again applies no migration twice; one that only newer releases can use is refused', async () => {
      const database = await server.createDatabase(template);
      await (await openPostgresStore({ url: server.url(database) })).close();
      const { n } = only(await server.query(database, 'SELECT count(*)::integer AS n FROM gateway.migrations'));
      assert.equal(n, readMigrations('postgres').length);
      const later = (version: number, compatibleFrom: number | null) =>
        server.query(
          database,
          `INSERT INTO gateway.migrations VALUES (${version}, 'from-the-future', now(), ${compatibleFrom}, '9.9.0')`,
        );
      // What only adds is in nobody's way.
      await later(9998, readMigrations('postgres').length);
      await (await openPostgresStore({ url: server.url(database) })).close();
      await later(9999, 9997);
      await assert.rejects(
        openPostgresStore({ url: server.url(database) }),
        (error) =>
          error instanceof StoreVersionError &&
          error.message ===
            `The database is at schema version 9999 of release 9.9.0, usable from version 9997 on; this release knows up to ${readMigrations('postgres').length}: start 9.9.0 or a newer one.`,
      );
    });

    test('[F30] a column that the next release adds is in nobody’s way who serves meanwhile', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const root = newAccount();
      const account = newAccount({ parentId: root.id });
      for (const each of [root, account]) await ledger.createAccount(each);
      await ledger.addAccountCredit(root.id, 'credit', 100n, null);
      const limits = { rpmLimit: 100, tpmLimit: 100_000 };
      const given = [newKey({ credit: 100n, ...limits }), newKey({ accountId: account.id, ...limits })];
      for (const key of given) await ledger.createKey(key);
      const serve = async (id: string, digest: string, time: string): Promise<void> => {
        assert.equal((await ledger.findKey(digest))?.id, id);
        const claim = { name: time, fingerprint: 'fingerprint' };
        const settled = settleRequest(id, `settled ${time} ${id}`, 2n, { usage: usageRecord() });
        const holds = [admitRequest(id, settled.holdId, 2n, { claim }), admitRequest(id, `void ${time} ${id}`, 2n)];
        for (const hold of holds) assert.equal((await ledger.admit(hold)).kind, 'admitted');
        assert.equal((await ledger.settle(settled)).kind, 'settled');
        assert.equal((await ledger.settle(settled)).kind, 'already_settled');
        await ledger.void(`void ${time} ${id}`, id);
      };
      const serveAll = (time: string) => Promise.all(given.map(({ id, secret }) => serve(id, secret.digest, time)));
      await serveAll('before');
      await ledger.rollUp();
      const tables = await server.query(database, `SELECT tablename FROM pg_tables WHERE schemaname = 'gateway'`);
      for (const { tablename } of tables) {
        await server.query(database, `ALTER TABLE gateway.${String(tablename)} ADD COLUMN of_the_next_release text`);
      }
      await serveAll('after');
      await ledger.rollUp();
      await closeAll(ledgers);
    });
  });
}
