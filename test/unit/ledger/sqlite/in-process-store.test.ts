/** The embedded store in the serving thread: what waits for the disk, what does not, and what a loss of power leaves. */
import assert from 'node:assert/strict';
import fs, { copyFileSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, mock, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { GroupCommit } from '../../../../src/ledger/group-commit/group-commit.ts';
import { createLedger, createLedgerOn, type OwnedLedger } from '../../../../src/ledger/ledger.ts';
import type { Operation, OperationName, OperationOf, Outcome } from '../../../../src/ledger/operations.ts';
import { openSyncStore } from '../../../../src/ledger/sqlite/engine.ts';
import { type InProcessStoreOptions, openInProcessStore } from '../../../../src/ledger/sqlite/in-process-store.ts';
import { StoreError, StoreLockedError } from '../../../../src/storage/errors.ts';
import { admitRequest, ManualClock, newKey, settleRequest, usageRecord } from '../../../contract/fixtures.ts';
import { emptyStore } from '../../../support/empty-store.ts';
import { pending } from '../../../support/pending.ts';
import { flushing, SlowDisk } from '../../../support/slow-disk.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-serving');
let files = 0;
const newFile = () => join(folder, `ledger-${files++}.db`);

/** The connection that the store under test has to a file. */
function watchDatabases(t: TestContext): (file: string) => DatabaseSync | undefined {
  const opened: DatabaseSync[] = [];
  const { exec } = DatabaseSync.prototype;
  t.mock.method(DatabaseSync.prototype, 'exec', function record(this: DatabaseSync, sql: string) {
    if (!opened.includes(this)) opened.push(this);
    return exec.call(this, sql);
  });
  return (file) => opened.find((one) => one.location() === realpathSync(file));
}

async function openOn(disk: SlowDisk, options: Partial<InProcessStoreOptions> = {}): Promise<OwnedLedger> {
  const ledger = createLedger(openInProcessStore({ file: emptyStore(newFile()), log: () => disk, ...options }));
  await ledger.register();
  return ledger;
}

describe('what waits for the disk', () => {
  test('[R51] a charge is told when it is on the disk; an admission is not kept waiting', async () => {
    const disk = new SlowDisk();
    const ledger = await openOn(disk);
    const key = await flushing(disk, ledger.createKey(newKey({ credit: 100n })));
    assert.equal((await ledger.admit(admitRequest(key.id, 'a', 10n))).kind, 'admitted');
    const settled = ledger.settle(settleRequest(key.id, 'a', 4n));
    assert.equal(await pending(settled), true);
    // Who is admitted meanwhile sees the balance as it is already, and waits for nothing.
    const other = await ledger.admit(admitRequest(key.id, 'b', 96n));
    assert.equal(other.kind, 'admitted');
    assert.equal(await pending(settled), true);
    disk.end();
    assert.deepEqual(await settled, { kind: 'settled', charged: 4n });
    await flushing(disk, ledger.close());
  });

  test('[R51] voids, purchases, changes of keys and the sign of life wait too', async () => {
    const disk = new SlowDisk();
    const ledger = await openOn(disk);
    const key = await flushing(disk, ledger.createKey(newKey({ credit: 100n })));
    await ledger.admit(admitRequest(key.id, 'a', 10n));
    const waiting = [
      ledger.void('a', key.id),
      ledger.addCredit(key.id, 'purchase', 5n, null),
      ledger.changeKey(key.id, { status: 'disabled' }),
      ledger.ping(),
    ];
    for (const promise of waiting) assert.equal(await pending(promise), true);
    await flushing(disk, Promise.all(waiting));
    await flushing(disk, ledger.close());
  });

  test('[R51] an answer is not given again before its charge is on the disk', async () => {
    const disk = new SlowDisk();
    const ledger = await openOn(disk);
    const key = await flushing(disk, ledger.createKey(newKey({ credit: 100n })));
    const claim = { name: 'c', fingerprint: 'f' };
    await ledger.admit(admitRequest(key.id, 'a', 10n, { claim }));
    const reply = { status: 200, contentType: 'text/plain', body: Buffer.from('x') };
    const settled = ledger.settle(settleRequest(key.id, 'a', 4n, { reply }));
    assert.equal(await pending(settled), true);
    const repeat = ledger.admit(admitRequest(key.id, 'b', 10n, { claim }));
    assert.equal(await pending(repeat), true);
    assert.equal((await flushing(disk, repeat)).kind, 'replay');
    await settled;
    await flushing(disk, ledger.close());
  });

  test('a disk that fails ends the store: what the system forgot, only a new process can find out', async () => {
    const disk = new SlowDisk();
    const broken: Error[] = [];
    const file = newFile();
    const ledger = await openOn(disk, { file, onBroken: (why) => broken.push(why) });
    const key = await flushing(disk, ledger.createKey(newKey({ credit: 100n })));
    await ledger.admit(admitRequest(key.id, 'a', 10n));
    const settled = ledger.settle(settleRequest(key.id, 'a', 4n));
    assert.equal(await pending(settled), true);
    disk.end(new Error('EIO'));
    await assert.rejects(settled, StoreError);
    assert.equal(broken.length, 1);
    await assert.rejects(ledger.admit(admitRequest(key.id, 'b', 1n)), /the disk did not take/);
    await ledger.close();
    // Its log is left for the next process, which finds what the disk has.
    assert.ok(existsSync(`${file}-wal`));
  });

  test('a flush that succeeds after one that failed proves nothing', async () => {
    const disk = new SlowDisk();
    const ledger = await openOn(disk);
    const key = await flushing(disk, ledger.createKey(newKey({ credit: 100n })));
    for (const id of ['a', 'b']) await ledger.admit(admitRequest(key.id, id, 10n));
    const first = ledger.settle(settleRequest(key.id, 'a', 4n));
    assert.equal(await pending(first), true);
    const second = ledger.settle(settleRequest(key.id, 'b', 4n));
    assert.equal(await pending(second), true);
    const [failing, later] = disk.take();
    failing?.reject(new Error('EIO'));
    await assert.rejects(first, StoreError);
    later?.resolve();
    await assert.rejects(second, StoreError);
    await ledger.close();
  });

  test('what nobody waits for is flushed all the same', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const disk = new SlowDisk();
    const ledger = await openOn(disk);
    assert.equal(disk.flushes, 0);
    t.mock.timers.tick(1_000);
    await turn();
    assert.equal(disk.flushes, 1);
    await flushing(disk, ledger.close());
  });
});

describe('what memory decides', () => {
  const { tokens } = usageRecord();
  const clock = new ManualClock();

  /** Notes whether memory alone decided the last admission. */
  class WatchedCommit extends GroupCommit {
    byMemory = false;
    override now<N extends OperationName>(operation: OperationOf<N> & Operation): Outcome<N> | null {
      const outcome = super.now<N>(operation);
      this.byMemory = outcome !== null;
      return outcome;
    }
  }

  async function openWatched(file: string): Promise<{ readonly ledger: OwnedLedger; decidedBy(): 'memory' | 'file' }> {
    const operations = new WatchedCommit(openInProcessStore({ file, clock }));
    const ledger = createLedgerOn(operations);
    await ledger.register();
    return { ledger, decidedBy: () => (operations.byMemory ? 'memory' : 'file') };
  }

  /** What another process would find if this one were killed now. */
  async function afterKill(file: string): Promise<OwnedLedger> {
    const image = newFile();
    for (const part of ['', '-wal', '-rates', '-charges']) copyFileSync(`${file}${part}`, `${image}${part}`);
    return createLedger(openSyncStore({ file: image, clock }));
  }

  test('[F1] a hold without mark or claim is not in the file: a kill leaves nothing of it', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, clock }));
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 10n }));
    assert.equal((await ledger.admit(admitRequest(key.id, 'a', 10n))).kind, 'admitted');
    assert.equal((await ledger.summary(key.id))?.reserved, 10n);
    const afterwards = await afterKill(file);
    assert.deepEqual(await afterwards.recover(), { charged: 0, voided: 0, more: false });
    const summary = await afterwards.summary(key.id);
    assert.deepEqual([summary?.reserved, summary?.used, summary?.liveHolds], [0n, 0n, 0]);
    assert.deepEqual((await afterwards.audit()).findings, []);
    await Promise.all([afterwards.close(), ledger.close()]);
  });

  test('[F2] [F3] with its first mark it is: a kill charges the mark', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, clock }));
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 10n }));
    await ledger.admit(admitRequest(key.id, 'a', 10n));
    ledger.mark({ holdId: 'a', keyId: key.id, charge: 4n, tokens });
    await ledger.ping();
    const afterwards = await afterKill(file);
    assert.deepEqual(await afterwards.recover(), { charged: 1, voided: 0, more: false });
    assert.equal((await afterwards.summary(key.id))?.used, 4n);
    assert.deepEqual(await ledger.settle(settleRequest(key.id, 'a', 5n)), { kind: 'settled', charged: 5n });
    await Promise.all([afterwards.close(), ledger.close()]);
  });

  test('[F6] only within a second of a commit: before, the file must show that it can be written', async () => {
    const { ledger, decidedBy } = await openWatched(newFile());
    const key = await ledger.createKey(newKey({ credit: 10n }));
    clock.advance(1_001);
    assert.equal((await ledger.admit(admitRequest(key.id, 'a', 1n))).kind, 'admitted');
    assert.equal(decidedBy(), 'file');
    assert.equal((await ledger.admit(admitRequest(key.id, 'b', 1n))).kind, 'admitted');
    assert.equal(decidedBy(), 'memory');
    await ledger.close();
  });

  test('[F4] a claim goes into the file at once', async () => {
    const { ledger, decidedBy } = await openWatched(newFile());
    const key = await ledger.createKey(newKey({ credit: 10n }));
    const request = admitRequest(key.id, 'a', 10n, { claim: { name: 'c', fingerprint: 'f' } });
    assert.equal((await ledger.admit(request)).kind, 'admitted');
    assert.equal(decidedBy(), 'file');
    await ledger.close();
  });

  test('a report has everything, whether memory or the file had it', async () => {
    const ledger = createLedger(openInProcessStore({ file: newFile(), clock }));
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 10n }));
    await ledger.admit(admitRequest(key.id, 'a', 7n));
    const { liveHolds, findings } = await ledger.audit();
    assert.deepEqual([liveHolds, findings], [1, []]);
    assert.deepEqual(
      (await ledger.listKeys()).map(({ reserved }) => reserved),
      [7n],
    );
    await ledger.close();
  });

  test('[R11] a place in the rate limit survives a kill from the moment on in which it was taken', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, clock }));
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 100n, rpmLimit: 4 }));
    const placesLeft = async (): Promise<number> => {
      const afterwards = await afterKill(file);
      await afterwards.register();
      const outcomes = [];
      for (let i = 0; i < 5; i++) outcomes.push(await afterwards.admit(admitRequest(key.id, `left ${i}`, 1n)));
      await afterwards.close();
      return outcomes.filter(({ kind }) => kind === 'admitted').length;
    };
    const left: number[] = [];
    // In memory, through the file, in memory after everything was written, and one that holds nothing.
    await ledger.admit(admitRequest(key.id, 'a', 1n));
    left.push(await placesLeft());
    await ledger.admit(admitRequest(key.id, 'b', 1n, { claim: { name: 'c', fingerprint: 'f' } }));
    left.push(await placesLeft());
    await ledger.audit();
    left.push(await placesLeft());
    await ledger.admit(admitRequest(key.id, 'c', 1n));
    left.push(await placesLeft());
    await ledger.admit(admitRequest(key.id, 'd', 1n, { hold: null }));
    left.push(await placesLeft());
    assert.deepEqual(left, [3, 2, 2, 1, 0]);
    await ledger.close();
  });

  test('[R11] [F8] where a place in the rate limit cannot be written, nothing is admitted', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, clock }));
    await ledger.register();
    const limited = await ledger.createKey(newKey({ credit: 100n, rpmLimit: 9 }));
    const unlimited = await ledger.createKey(newKey({ credit: 100n }));
    const write = mock.method(fs, 'writeSync', () => {
      throw new Error('ENOSPC: no space left on device');
    });
    syncBuiltinESMExports();
    try {
      await assert.rejects(ledger.admit(admitRequest(limited.id, 'a', 1n)), StoreError);
      assert.equal((await ledger.admit(admitRequest(unlimited.id, 'b', 1n))).kind, 'admitted');
    } finally {
      write.mock.restore();
      syncBuiltinESMExports();
    }
    const admitted = await ledger.admit(admitRequest(limited.id, 'c', 1n));
    assert.equal(admitted.kind === 'admitted' && admitted.rate?.remaining, 8);
    assert.equal((await ledger.summary(limited.id))?.reserved, 1n);
    await ledger.close();
  });

  test('[F8] after a failed commit nothing is decided without the file until one succeeds, and nothing is lost', async (t) => {
    const databaseOf = watchDatabases(t);
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, clock }));
    const database = databaseOf(file);
    await ledger.register();
    const key = await ledger.createKey(newKey({ credit: 1_000n, rpmLimit: 3 }));
    assert.equal((await ledger.admit(admitRequest(key.id, 'a', 10n))).kind, 'admitted');
    database?.exec('VACUUM; PRAGMA query_only = ON');
    await assert.rejects(ledger.void('a', key.id), StoreError);
    await assert.rejects(ledger.admit(admitRequest(key.id, 'b', 10n)), StoreError);
    database?.exec('PRAGMA query_only = OFF');
    const summary = await ledger.summary(key.id);
    assert.deepEqual([summary?.reserved, summary?.used, summary?.liveHolds], [10n, 0n, 1]);
    assert.deepEqual(await ledger.settle(settleRequest(key.id, 'a', 4n)), { kind: 'settled', charged: 4n });
    const again = await ledger.admit(admitRequest(key.id, 'c', 10n));
    assert.equal(again.kind === 'admitted' && again.rate?.remaining, 1);
    assert.deepEqual((await ledger.audit()).findings, []);
    await ledger.close();
  });
});

describe('the file', () => {
  test('[F4] SQLite itself waits for the disk when the log begins anew', async (t) => {
    // A beginning that reaches the disk after what follows it would bring old commits back after a loss of power.
    const databaseOf = watchDatabases(t);
    const file = newFile();
    const store = openInProcessStore({ file });
    const database = databaseOf(file);
    assert.deepEqual({ ...database?.prepare('PRAGMA synchronous').get() }, { synchronous: 1n });
    await store.close();
  });

  test('is for one process: a second opener is refused until it is closed', async () => {
    const file = newFile();
    const store = openInProcessStore({ file });
    assert.throws(() => openInProcessStore({ file }), StoreLockedError);
    assert.throws(() => openSyncStore({ file }), StoreLockedError);
    await store.close();
    await openSyncStore({ file }).close();
  });

  test('the log is written back while requests go on, and begins anew; reports see one moment of the books', async () => {
    const file = newFile();
    const ledger = createLedger(openInProcessStore({ file, checkpointPages: 60 }));
    const key = await ledger.createKey(newKey({ credit: 10n ** 9n }));
    // Bytes 12 to 15 of the log say how often it has begun anew.
    const beginnings = (): number => readFileSync(`${file}-wal`).readUInt32BE(12);
    let round = 0;
    // A busy machine may give the background thread its time only when a report is waited for: then it leaves the log alone.
    for (; round < 40 || (beginnings() <= 1 && round < 2_000); round++) {
      const [report] = await Promise.all([
        round < 40 && round % 10 === 0 ? ledger.audit() : null,
        ...Array.from({ length: 10 }, async (_, i) => {
          await ledger.admit(admitRequest(key.id, `${round}-${i}`, 5n));
          await ledger.settle(settleRequest(key.id, `${round}-${i}`, 3n, { usage: usageRecord() }));
        }),
      ]);
      assert.deepEqual(report?.findings ?? [], []);
    }
    assert.ok(beginnings() > 1);
    assert.deepEqual(
      (await ledger.listKeys()).map(({ requests }) => requests),
      [round * 10],
    );
    await ledger.close();
  });
});
