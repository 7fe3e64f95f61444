/** Charges in the journal: what a crash, a rollback, a report, a backup and an older release find of them. */
import assert from 'node:assert/strict';
import fs, { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, mock, type TestContext, test } from 'node:test';
import { createLedger, type OwnedLedger } from '../../../../src/ledger/ledger.ts';
import { copyDatabase, verifyCopy } from '../../../../src/ledger/sqlite/backup.ts';
import {
  createChargeJournal,
  type JournalBatch,
  openChargeJournal,
} from '../../../../src/ledger/sqlite/charge-journal.ts';
import { openDatabase } from '../../../../src/ledger/sqlite/database.ts';
import { openSyncStore } from '../../../../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../../../../src/ledger/sqlite/in-process-store.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { admitRequest, newAccount, newKey, settleRequest, usageRecord } from '../../../contract/fixtures.ts';
import { SlowDisk } from '../../../support/slow-disk.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-charges');
let files = 0;
const newFile = () => join(folder, `ledger-${files++}.db`);

const EMPTY: JournalBatch = { entries: [], usage: [], unrolled: [], keys: [], accounts: [] };
const batchOf = (id: string): JournalBatch => ({
  ...EMPTY,
  entries: [['key', 'charge', id, 2n ** 62n, 7n, null, 1.5]],
});
const STATE = { generation: 5, owners: ['b', 'a'] };

describe('the file', () => {
  test('gives back what was written since it started over, in its order, with every digit', () => {
    const file = newFile();
    createChargeJournal(file);
    const journal = openChargeJournal(file);
    journal.write({ generation: 4, owners: [] }, batchOf('of a generation before'));
    journal.write({ generation: 4, owners: [] }, batchOf('and its second'));
    journal.startOver();
    journal.write(STATE, batchOf('first'));
    journal.close();
    const [first, ...others] = openChargeJournal(file).read({ ...STATE, owners: ['a', 'b'] });
    assert.deepEqual(first?.entries, [['key', 'charge', 'first', 2n ** 62n, 7, null, 1.5]]);
    assert.deepEqual(others, []);
    assert.deepEqual(openChargeJournal(file).read({ generation: 4, owners: [] }), []);
  });

  test('[F4] has nothing of another generation, or of other owners; where there is no file, nothing', () => {
    const file = newFile();
    assert.deepEqual(openChargeJournal(file).read(STATE), []);
    createChargeJournal(file);
    const journal = openChargeJournal(file);
    assert.deepEqual(journal.read(STATE), []);
    journal.write(STATE, batchOf('first'));
    assert.deepEqual(journal.read({ ...STATE, generation: 6 }), []);
    assert.deepEqual(journal.read({ ...STATE, owners: ['a'] }), []);
    assert.equal(journal.read(STATE).length, 1);
    journal.close();
  });

  test('[F4] a record that was cut short, or is not what was written, is none, and neither is what follows it', () => {
    const file = newFile();
    createChargeJournal(file);
    const journal = openChargeJournal(file);
    for (const id of ['first', 'second', 'third']) journal.write(STATE, batchOf(id));
    journal.close();
    const whole = readFileSync(`${file}-charges`);
    const [one, two] = [whole.indexOf('"first"'), whole.indexOf('"second"')];
    for (const [at, left] of [
      [one, 0],
      [two, 1],
    ] as const) {
      const broken = Buffer.from(whole);
      broken[at + 1] = 'x'.charCodeAt(0);
      writeFileSync(`${file}-charges`, broken);
      assert.equal(openChargeJournal(file).read(STATE).length, left);
      writeFileSync(`${file}-charges`, whole.subarray(0, at));
      assert.equal(openChargeJournal(file).read(STATE).length, left);
    }
  });

  test('has its size from the beginning, and takes no more', () => {
    const file = newFile();
    createChargeJournal(file);
    const { size } = statSync(`${file}-charges`);
    const journal = openChargeJournal(file);
    const large = batchOf('x'.repeat(100_000));
    journal.write(STATE, large);
    journal.write(STATE, large);
    assert.throws(() => journal.write(STATE, large), StoreError);
    assert.equal(journal.read(STATE).length, 2);
    journal.close();
    createChargeJournal(file);
    assert.equal(statSync(`${file}-charges`).size, size);
    assert.equal(openChargeJournal(file).read(STATE).length, 2);
  });
});

/** A ledger that has a key with credit, on the disk. */
async function openWithKey(file: string): Promise<{ readonly ledger: OwnedLedger; readonly keyId: string }> {
  const ledger = createLedger(openInProcessStore({ file }));
  await ledger.register();
  const { id: keyId } = await ledger.createKey(newKey({ credit: 1_000n }));
  return { ledger, keyId };
}

async function spend(ledger: OwnedLedger, keyId: string, id: string): Promise<void> {
  await ledger.admit(admitRequest(keyId, id, 10n));
  const outcome = await ledger.settle(settleRequest(keyId, id, 4n, { usage: usageRecord() }));
  assert.deepEqual(outcome, { kind: 'settled', charged: 4n });
}

/** How many charges the database has of a store, whatever its journal has. */
function chargesIn(file: string): number {
  using database = new DatabaseSync(file, { readOnly: true });
  return Number(database.prepare(`SELECT count(*) AS n FROM entries WHERE kind = 'charge'`).get()?.n);
}

function copyOf(file: string): string {
  const copy = newFile();
  for (const part of ['', '-wal', '-rates', '-charges']) {
    if (existsSync(file + part)) copyFileSync(file + part, copy + part);
  }
  return copy;
}

async function usedAfterwards(file: string, keyId: string): Promise<bigint | undefined> {
  const afterwards = createLedger(openSyncStore({ file }));
  try {
    assert.deepEqual((await afterwards.audit()).findings, []);
    return (await afterwards.summary(keyId))?.used;
  } finally {
    await afterwards.close();
  }
}

/** The connection that the store under test has to a file. */
function databaseOf(t: TestContext, open: () => void): DatabaseSync {
  let opened: DatabaseSync | undefined;
  const { exec } = DatabaseSync.prototype;
  const watch = t.mock.method(DatabaseSync.prototype, 'exec', function record(this: DatabaseSync, sql: string) {
    if (sql.includes('wal_autocheckpoint')) opened = this;
    return exec.call(this, sql);
  });
  open();
  watch.mock.restore();
  assert(opened !== undefined);
  return opened;
}

describe('charges in the journal', () => {
  test('[F2] [F4] a kill leaves them to the next process, once', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    for (const id of ['a', 'b', 'c']) await spend(ledger, keyId, id);
    assert.equal(chargesIn(file), 0);
    const copy = copyOf(file);
    assert.equal(await usedAfterwards(copy, keyId), 12n);
    assert.equal(chargesIn(copy), 3);
    // Its journal still has the records, which count no longer.
    assert.equal(await usedAfterwards(copy, keyId), 12n);
    await ledger.close();
    assert.equal(chargesIn(file), 3);
    assert.equal(await usedAfterwards(file, keyId), 12n);
  });

  test('[F2] below an account, and without a usage record, as well', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file }));
    await ledger.register();
    const org = newAccount({});
    await ledger.createAccount(org);
    await ledger.addAccountCredit(org.id, 'first', 100n, null);
    const { id: keyId } = await ledger.createKey(newKey({ accountId: org.id }));
    await spend(ledger, keyId, 'a');
    await ledger.admit(admitRequest(keyId, 'b', 10n));
    await ledger.settle(settleRequest(keyId, 'b', 3n, { usage: null }));
    assert.equal(chargesIn(file), 0);
    const copy = copyOf(file);
    assert.equal(await usedAfterwards(copy, keyId), 7n);
    const afterwards = createLedger(openSyncStore({ file: copy }));
    const account = await afterwards.getAccount(org.id);
    assert.deepEqual([account?.used, account?.reserved], [7n, 0n]);
    await Promise.all([afterwards.close(), ledger.close()]);
  });

  test('the database gets them with the next commit, and at the latest with the 65th', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    await spend(ledger, keyId, 'first');
    assert.equal(chargesIn(file), 0);
    await ledger.ping();
    assert.equal(chargesIn(file), 1);
    for (let i = 0; i < 65; i++) await spend(ledger, keyId, `${i}`);
    assert.ok(chargesIn(file) > 1);
    await ledger.close();
  });

  test('[F4] none is written while the disk may lack a commit before it', async () => {
    const disk = new SlowDisk();
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, log: () => disk }));
    await Promise.all([ledger.register(), endingFlushes(disk)]);
    const [{ id: keyId }] = await Promise.all([ledger.createKey(newKey({ credit: 100n })), endingFlushes(disk)]);
    await ledger.admit(admitRequest(keyId, 'a', 10n));
    const more = ledger.addCredit(keyId, 'more', 5n, null);
    while (disk.flushes === 0) await new Promise((resolve) => setImmediate(resolve));
    const settled = ledger.settle(settleRequest(keyId, 'a', 4n, { usage: usageRecord() }));
    await Promise.all([more, settled, endingFlushes(disk)]);
    assert.equal(chargesIn(file), 1);
    // Now the disk has everything.
    await ledger.admit(admitRequest(keyId, 'b', 10n));
    await Promise.all([ledger.settle(settleRequest(keyId, 'b', 4n, { usage: usageRecord() })), endingFlushes(disk)]);
    assert.equal(chargesIn(file), 1);
    await Promise.all([ledger.close(), endingFlushes(disk)]);
  });

  test('[F8] a transaction that fails loses none of them: nothing is decided without them', async (t) => {
    const file = newFile();
    let opened: Awaited<ReturnType<typeof openWithKey>> | undefined;
    let opening: Promise<unknown> | undefined;
    const database = databaseOf(t, () => {
      opening = openWithKey(file).then((one) => {
        opened = one;
      });
    });
    await opening;
    assert(opened !== undefined);
    const { ledger, keyId } = opened;
    for (const id of ['a', 'b']) await spend(ledger, keyId, id);
    await ledger.admit(admitRequest(keyId, 'c', 10n));
    database.exec('PRAGMA query_only = ON');
    await assert.rejects(ledger.void('unknown', keyId), StoreError);
    await assert.rejects(ledger.admit(admitRequest(keyId, 'd', 990n)), StoreError);
    await assert.rejects(ledger.settle(settleRequest(keyId, 'c', 4n, { usage: usageRecord() })), StoreError);
    database.exec('PRAGMA query_only = OFF');
    const summary = await ledger.summary(keyId);
    assert.deepEqual([summary?.used, summary?.reserved, summary?.liveHolds], [8n, 10n, 1]);
    assert.equal(chargesIn(file), 2);
    assert.deepEqual(await ledger.settle(settleRequest(keyId, 'a', 9n)), { kind: 'already_settled', charged: 4n });
    await spend(ledger, keyId, 'e');
    assert.deepEqual((await ledger.audit()).findings, []);
    await ledger.close();
    assert.equal(await usedAfterwards(file, keyId), 12n);
  });

  test('[F8] where the journal cannot be written the database is, and the journal counts no longer', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    await spend(ledger, keyId, 'a');
    await ledger.addCredit(keyId, 'more', 5n, null);
    const { writeSync } = fs;
    const write = mock.method(fs, 'writeSync', (...what: Parameters<typeof writeSync>) => {
      // All of it is there, and the system says that it is not.
      Reflect.apply(writeSync, fs, what);
      throw new Error('EIO: i/o error');
    });
    syncBuiltinESMExports();
    try {
      await spend(ledger, keyId, 'b');
    } finally {
      write.mock.restore();
      syncBuiltinESMExports();
    }
    assert.equal(chargesIn(file), 2);
    assert.equal(await usedAfterwards(copyOf(file), keyId), 8n);
    await spend(ledger, keyId, 'c');
    assert.equal(chargesIn(file), 2);
    assert.equal(await usedAfterwards(copyOf(file), keyId), 12n);
    await ledger.close();
  });

  test('[F1] one hold twice in a batch is charged once', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    await ledger.admit(admitRequest(keyId, 'a', 10n));
    const outcomes = await Promise.all([
      ledger.settle(settleRequest(keyId, 'a', 4n, { usage: usageRecord() })),
      ledger.settle(settleRequest(keyId, 'a', 4n, { usage: usageRecord() })),
    ]);
    assert.deepEqual(outcomes, [
      { kind: 'settled', charged: 4n },
      { kind: 'already_settled', charged: 4n },
    ]);
    await spend(ledger, keyId, 'b');
    // That it has ended is known before the database has it.
    assert.deepEqual(await ledger.settle(settleRequest(keyId, 'b', 4n)), { kind: 'already_settled', charged: 4n });
    assert.equal((await ledger.summary(keyId))?.used, 8n);
    await ledger.close();
  });

  test('reports, a rollup and a backup have them', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    await spend(ledger, keyId, 'a');
    const hourMs = 3_600_000;
    const sinceMs = Math.floor(Date.now() / hourMs) * hourMs - hourMs;
    const query = { sinceMs, untilMs: sinceMs + 3 * hourMs, by: [], filter: {}, rowsMax: 10 };
    const report = await ledger.usageReport(query);
    assert.equal(report.kind === 'usage' && Number(report.total.sums.charges), 1);
    await spend(ledger, keyId, 'b');
    assert.deepEqual(await ledger.rollUp(), { charges: 2, more: false });
    // A purchase is on the disk when it is told.
    await ledger.addCredit(keyId, 'more', 5n, null);
    await spend(ledger, keyId, 'c');
    assert.equal(chargesIn(file), 2);
    const copy = newFile();
    await copyDatabase(file, copy, {});
    assert.deepEqual(verifyCopy(copy).report.findings, []);
    assert.equal(chargesIn(copy), 3);
    // Put back by hand, beside a journal that it has the charges of.
    copyFileSync(`${file}-charges`, `${copy}-charges`);
    assert.equal(await usedAfterwards(copy, keyId), 12n);
    await ledger.close();
  });

  test('a release that does not know of journals takes away what says that they count', async () => {
    const file = newFile();
    const { ledger, keyId } = await openWithKey(file);
    await spend(ledger, keyId, 'a');
    const copy = copyOf(file);
    const database = openDatabase(copy);
    database.exec(`DELETE FROM owners; INSERT INTO owners (id, lease_until_ms) VALUES ('older', 1)`);
    database.close();
    assert.equal(await usedAfterwards(copy, keyId), 0n);
    await ledger.close();
  });
});

/** Ends what the disk is asked for in the turns that follow. */
async function endingFlushes(disk: SlowDisk): Promise<void> {
  for (let i = 0; i < 50; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    disk.end();
  }
}
