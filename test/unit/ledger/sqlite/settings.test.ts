/** What the embedded store promises of the disk rests on settings of its connections: read back from each of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { joinDatabase, openDatabase } from '../../../../src/ledger/sqlite/database.ts';
import { openSyncStore } from '../../../../src/ledger/sqlite/engine.ts';
import { admitRequest, ManualClock, newKey } from '../../../contract/fixtures.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-settings');
let files = 0;
const newFile = (): string => join(folder, `${files++}.db`);

/** `FULL`: SQLite itself flushes the log before a commit is over. */
const FULL = 2n;

function setting(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

test('[F4] every connection that is opened waits for the disk, with a write-ahead log', () => {
  const file = newFile();
  const first = openDatabase(file);
  const second = joinDatabase(file);
  for (const database of [first, second]) {
    assert.equal(setting(database, 'synchronous'), FULL);
    assert.equal(setting(database, 'journal_mode'), 'wal');
    assert.equal(setting(database, 'foreign_keys'), 1n);
  }
  second.close();
  first.close();
});

test('[R11] the slots of the rate limit that batches took are in the database soon after', async () => {
  const file = newFile();
  const clock = new ManualClock();
  const ledger = createLedger(openSyncStore({ file, clock }));
  const key = await ledger.createKey(newKey({ credit: 10n, rpmLimit: 10 }));
  const take = () => ledger.admit(admitRequest(key.id, '', 1n, { hold: null }));
  await take();
  clock.advance(1_000);
  await take();
  clock.advance(1_000);
  await take();
  // As another process finds it that starts after this one was killed.
  const reader = new DatabaseSync(file, { readOnly: true });
  const rows = reader.prepare('SELECT times FROM rates WHERE key_id = ?').all(key.id);
  reader.close();
  const times = rows.flatMap(({ times }) => JSON.parse(String(times)) as number[]);
  assert.equal(times.length, 3);
  await ledger.close();
});
