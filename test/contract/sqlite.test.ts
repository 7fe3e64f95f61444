import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { GroupCommit } from '../../src/ledger/group-commit/group-commit.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { openSyncStore } from '../../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../../src/ledger/sqlite/in-process-store.ts';
import type { Store } from '../../src/ledger/store.ts';
import { StoreError, StoreLockedError, StoreVersionError } from '../../src/storage/errors.ts';
import { sharedBackground } from '../support/background-thread.ts';
import { emptyStore } from '../support/empty-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ledgerContract } from './contract.ts';
import {
  admitRequest,
  ManualClock,
  newAccount,
  newKey,
  type OpenedLedger,
  settleRequest,
  usageRecord,
} from './fixtures.ts';
import { sqliteKilled } from './sqlite-killed.ts';
import { sqliteTransactions } from './sqlite-transactions.ts';

const folder = temporaryFolder('gateway-ledger');
let files = 0;
const newFile = () => join(folder, `ledger-${files++}.db`);

/** One connection of several: the store outlives it. */
function connectionTo(store: Store): GroupCommit {
  const { now, flushed, background } = store;
  return new GroupCommit({
    apply: (batch) => store.apply(batch),
    ...(now === undefined ? {} : { now: (operation) => now.call(store, operation) }),
    ...(flushed === undefined ? {} : { flushed: () => flushed.call(store) }),
    ...(background === undefined ? {} : { background }),
    close: async () => {},
  });
}

async function openSync(clock: Clock): Promise<OpenedLedger> {
  const store = openSyncStore({ file: emptyStore(newFile()), clock });
  return { connect: async () => connectionTo(store), close: () => store.close() };
}

function openInProcess(clock: Clock): Store {
  const log = () => ({ flushed: async () => {}, close: () => {} });
  return openInProcessStore({ file: emptyStore(newFile()), clock, log, startBackground: sharedBackground });
}

async function openServing(clock: Clock): Promise<OpenedLedger> {
  const store = openInProcess(clock);
  return { connect: async () => connectionTo(store), close: () => store.close() };
}

ledgerContract('SQLite', openSync);
ledgerContract('SQLite in the serving thread', openServing);

describe('SQLite file', () => {
  test('a second opener is refused with one clear line, whichever store it opens', async () => {
    const file = newFile();
    const store = openInProcessStore({ file });
    const refused = (error: unknown) =>
      error instanceof StoreLockedError && /^Another gateway uses this data folder/.test(error.message);
    assert.throws(() => openInProcessStore({ file }), refused);
    assert.throws(() => openSyncStore({ file }), refused);
    await store.close();
    await openSyncStore({ file }).close();
  });

  test('opening again applies no migration twice; one that only newer releases can use is refused', async () => {
    const file = newFile();
    await openSyncStore({ file }).close();
    await openSyncStore({ file }).close();
    const database = new DatabaseSync(file);
    const { n } = database.prepare('SELECT count(*) AS n FROM migrations').get() ?? {};
    const migrations = readdirSync(new URL('../../src/ledger/migrations/sqlite/', import.meta.url));
    assert.equal(n, migrations.length);
    const later = (version: number, compatibleFrom: number | null) =>
      database
        .prepare("INSERT INTO migrations VALUES (?, 'from-the-future', '', ?, '9.9.0')")
        .run(version, compatibleFrom);
    // What only adds is in nobody's way.
    later(9998, migrations.length);
    await openSyncStore({ file }).close();
    later(9999, 9997);
    assert.throws(
      () => openSyncStore({ file }),
      (error) =>
        error instanceof StoreVersionError &&
        error.message ===
          `The database is at schema version 9999 of release 9.9.0, usable from version 9997 on; this release knows up to ${migrations.length}: start 9.9.0 or a newer one.`,
    );
    // One that does not say is for those who know it.
    database.exec('DELETE FROM migrations WHERE version = 9999');
    later(10_000, null);
    assert.throws(() => openSyncStore({ file }), /version 10000 of release 9\.9\.0, usable from version 10000 on/);
    database.close();
  });

  test('a file that is no database, or cannot be opened, is one clear error', async () => {
    const file = newFile();
    writeFileSync(file, 'this is no database, however long this text may be '.repeat(50));
    assert.throws(() => openSyncStore({ file }), StoreError);
    assert.throws(() => openInProcessStore({ file }), StoreError);
    const missing = join(folder, 'missing', 'ledger.db');
    assert.throws(() => openInProcessStore({ file: missing }), /Cannot open the database/);
  });

  test('[F37] a tree that is read anew knows what all of its keys hold', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = createLedger(openSyncStore({ file, clock }));
    const org = newAccount();
    await first.createAccount(org);
    await first.addAccountCredit(org.id, 'first', 100n, null);
    const keys = [newKey({ accountId: org.id }), newKey({ accountId: org.id })];
    for (const key of keys) await first.createKey(key);
    const [one = newKey(), other = newKey()] = keys;
    await first.admit(admitRequest(one.id, 'h1', 40n, { claim: { name: 'c', fingerprint: 'f' } }));
    await first.close();
    clock.advance(1_000);
    const second = createLedger(openSyncStore({ file, clock }));
    assert.equal((await second.admit(admitRequest(other.id, 'h2', 40n))).kind, 'admitted');
    // The hold of the other key does not wait, so this one has to.
    assert.deepEqual(await second.extend({ holdId: 'h2', keyId: other.id, amount: 90n }), { kind: 'temporarily_held' });
    assert.deepEqual((await second.audit()).findings, []);
    await second.close();
  });

  test('entries never change and never leave', async () => {
    const file = newFile();
    const ledger = createLedger(openSyncStore({ file }));
    const { id } = await ledger.createKey(newKey({ credit: 5n }));
    await ledger.admit(admitRequest(id, 'h1', 2n));
    await ledger.settle(settleRequest(id, 'h1', 2n));
    await ledger.close();
    const database = new DatabaseSync(file);
    for (const table of ['entries', 'account_entries']) {
      assert.throws(() => database.exec(`UPDATE ${table} SET amount = 6`), /never changes/);
      assert.throws(() => database.exec(`DELETE FROM ${table}`), /never removed/);
    }
    assert.throws(() => database.exec('UPDATE accounts SET reserved = 6'), /CHECK/);
    assert.throws(() => database.exec('UPDATE accounts SET used = -1'), /CHECK/);
    database.close();
  });

  test('the audit names what does not add up', async () => {
    const file = newFile();
    const first = createLedger(openSyncStore({ file }));
    const key = await first.createKey(newKey({ credit: 50n }));
    await first.admit(admitRequest(key.id, 'h1', 5n, { claim: { name: 'c', fingerprint: 'f' } }));
    assert.equal((await first.audit()).ok, true);
    await first.close();
    const database = new DatabaseSync(file);
    database.exec(`UPDATE accounts SET used = 1, reserved = 7; DELETE FROM claims;
      INSERT INTO entries (key_id, kind, id, amount, held, at_ms) VALUES ('${key.id}', 'charge', 'h1', 2, 5, 0)`);
    database.close();
    const second = createLedger(openSyncStore({ file }));
    const report = await second.audit();
    assert.equal(report.ok, false);
    assert.deepEqual(report.findings, [
      `key ${key.id}: used is kept as 1, its rows make 2`,
      `key ${key.id}: reserved is kept as 7, its rows make 5`,
      `key ${key.id}: hold is live and settled: h1`,
      `key ${key.id}: hold without its claim: h1`,
    ]);
    await second.close();
  });

  test('[F2] a recovered charge leaves a usage record that says what is known of the call', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = createLedger(openSyncStore({ file, clock }));
    const key = await first.createKey(newKey({ mode: 'token_budget', budget: 1_000n }));
    const { outcome, source, tokens, durationMs, ...call } = usageRecord({ costNanos: 2n ** 60n });
    await first.admit(admitRequest(key.id, 'h1', 50n));
    clock.advance(3_000);
    first.mark({ holdId: 'h1', keyId: key.id, charge: 36n, tokens, call });
    await first.close();
    clock.advance(3_600_000);
    const second = createLedger(openSyncStore({ file, clock }));
    await recoverAll(second);
    assert.equal((await second.summary(key.id))?.periodUsed, 36n);
    await second.close();
    const database = new DatabaseSync(file, { readBigInts: true });
    const row = database.prepare('SELECT * FROM usage').get();
    assert.deepEqual(
      [row?.request_id, row?.model, row?.outcome, row?.source, row?.cost_nanos, row?.cache_write_1h, row?.duration_ms],
      [call.requestId, call.model, 'broken', 'counted', call.costNanos, 1n, 3_000n],
    );
    assert.equal(database.prepare('SELECT flag FROM entries').get()?.flag, 'recovered');
    database.close();
  });

  test('[F11] [F50] a clock that jumps ahead ends no hold and no lease early, and opens no rate limit', async () => {
    const clock = new ManualClock();
    const hour = 3_600_000;
    const ledger = createLedger(openSyncStore({ file: newFile(), clock }), { leaseMs: 2 * hour });
    const limits = { rpmLimit: 2, tpmLimit: 100 };
    const key = await ledger.createKey(newKey({ credit: 50n, ...limits }));
    const admit = (id: string, inputTokens: number) =>
      ledger.admit(
        admitRequest(key.id, id, 10n, { hold: { id, amount: 10n, amountMin: 10n, ttlMs: hour, inputTokens } }),
      );
    assert.equal((await admit('h1', 90)).kind, 'admitted');
    clock.jump(5 * hour);
    await recoverAll(ledger);
    assert.equal((await ledger.summary(key.id))?.reserved, 10n);
    const refused = await admit('h2', 20);
    assert.equal(refused.kind === 'tokens_limited' && refused.retryAfterMs, 60_000);
    assert.equal((await admit('h3', 10)).kind, 'admitted');
    const limited = await admit('h4', 0);
    assert.equal(limited.kind === 'rate_limited' && limited.retryAfterMs, 60_000);
    // What lasts an hour is over an hour later, and not before.
    clock.advance(hour - 1);
    await recoverAll(ledger);
    assert.deepEqual((await ledger.settle(settleRequest(key.id, 'h1', 10n))).kind, 'settled');
    clock.advance(1);
    await recoverAll(ledger);
    assert.equal((await ledger.settle(settleRequest(key.id, 'h3', 10n))).kind, 'already_voided');
    assert.deepEqual((await ledger.audit()).findings, []);
    await ledger.close();
  });

  test('[F11] across a restart with the clock set back, a limit neither opens nor stays closed past one window', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = createLedger(openSyncStore({ file, clock }));
    const key = await first.createKey(newKey({ credit: 5n, rpmLimit: 1 }));
    await first.admit(admitRequest(key.id, 'h1', 1n));
    await first.close();
    clock.advance(-5 * 3_600_000);
    const second = createLedger(openSyncStore({ file, clock }));
    const refused = await second.admit(admitRequest(key.id, 'h2', 1n));
    assert.equal(refused.kind === 'rate_limited' && refused.retryAfterMs, 60_000);
    clock.advance(60_000);
    assert.equal((await second.admit(admitRequest(key.id, 'h2', 1n))).kind, 'admitted');
    assert.equal((await second.admit(admitRequest(key.id, 'h3', 1n))).kind, 'rate_limited');
    await second.close();
  });

  test('[F11] across a restart with the clock set back, credit that expires stays with a hold that has grown by it', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = createLedger(openSyncStore({ file, clock }));
    const key = await first.createKey(newKey({ credit: 10n }));
    await first.admit(admitRequest(key.id, 'h1', 5n, { claim: { name: 'order', fingerprint: 'f' } }));
    await first.close();
    clock.advance(-5 * 3_600_000);
    const second = createLedger(openSyncStore({ file, clock }));
    await second.addCredit(key.id, 'promo', 20n, null, { expiresAtMs: clock.nowMs() + 1_000 });
    const grown = await second.extend({ holdId: 'h1', keyId: key.id, amount: 30n, amountMin: 30n });
    assert.equal(grown.kind, 'extended');
    clock.advance(2_000);
    const settled = await second.settle(settleRequest(key.id, 'h1', 25n));
    assert.equal(settled.kind === 'settled' && settled.charged, 25n);
    assert.equal((await second.summary(key.id))?.purchased, 30n);
    assert.deepEqual((await second.audit()).findings, []);
    await second.close();
  });

  test('[R11] a restart forgets no place in the rate limit', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = createLedger(openSyncStore({ file, clock }));
    const key = await first.createKey(newKey({ credit: 500n, rpmLimit: 20 }));
    for (let i = 0; i < 120; i++) {
      clock.advance(3_000);
      assert.equal((await first.admit(admitRequest(key.id, `h${i}`, 1n))).kind, 'admitted');
    }
    await first.close();
    const second = createLedger(openSyncStore({ file, clock }));
    const refused = await second.admit(admitRequest(key.id, 'one more', 1n));
    assert.equal(refused.kind === 'rate_limited' && refused.retryAfterMs, 3_000);
    clock.advance(3_000);
    assert.equal((await second.admit(admitRequest(key.id, 'one more', 1n))).kind, 'admitted');
    await second.close();
  });

  test('[R17] a clock set back across a restart does not reopen a budget period that is over', async () => {
    const file = newFile();
    const clock = new ManualClock('2026-04-01T00:10:00Z');
    const first = createLedger(openSyncStore({ file, clock }));
    const key = await first.createKey(newKey({ mode: 'token_budget', budget: 300n }));
    await first.admit(admitRequest(key.id, 'h1', 300n));
    await first.settle(settleRequest(key.id, 'h1', 300n));
    await first.close();
    clock.set('2026-03-31T23:50:00Z');
    const second = createLedger(openSyncStore({ file, clock }));
    assert.equal((await second.admit(admitRequest(key.id, 'h2', 1n))).kind, 'limit_reached');
    await second.changeKey(key.id, { budget: 400n });
    await second.admit(admitRequest(key.id, 'h3', 100n, { keyVersion: 2 }));
    await second.settle(settleRequest(key.id, 'h3', 100n));
    assert.deepEqual((await second.audit()).findings, []);
    await second.close();
  });
});

sqliteTransactions(newFile);
sqliteKilled(newFile);
