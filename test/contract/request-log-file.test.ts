/** The file of the request log on SQLite: damaged, removed, or not there yet. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SqliteAppender } from '../../src/observe/request-log/sqlite/appender.ts';
import { RequestLogFile } from '../../src/observe/request-log/sqlite/file.ts';
import { openFileReader } from '../../src/observe/request-log/sqlite/file-reader.ts';
import { SqliteRequestReader } from '../../src/observe/request-log/sqlite/reader.ts';
import type { RequestLogAppender } from '../../src/observe/request-log/store.ts';
import { requestEntry } from '../support/request-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { DAY_MS, NOW } from './request-log-fixture.ts';

const folder = temporaryFolder('gateway-requests');

describe('the file of the request log', () => {
  test('that is damaged is put aside, and a new one begun', async () => {
    const own = mkdtempSync(join(folder, 'damaged-'));
    const file = join(own, 'requests.db');
    writeFileSync(file, 'not a database at all, '.repeat(500));
    const moved: string[] = [];
    const appender = new SqliteAppender(file, (aside) => moved.push(aside));
    const entry = requestEntry();
    await appender.append([entry]);
    await appender.close();
    assert.equal(moved.length, 1);
    assert.ok(readdirSync(own).some((found) => found.startsWith('requests.db.damaged-')));
    const reader = openFileReader(new RequestLogFile(file));
    assert.deepEqual(await reader.find(entry.id), entry);
    await reader.close();
  });

  test('that is damaged behind its head is put aside by the next batch, and left alone by a command that reads', async () => {
    const file = join(mkdtempSync(join(folder, 'damaged-')), 'requests.db');
    const first = new SqliteAppender(file, () => assert.fail('nothing is damaged'));
    await first.append(Array.from({ length: 200 }, () => requestEntry()));
    await first.close();
    const content = readFileSync(file);
    writeFileSync(file, content.fill('damaged', 4_096));
    const reader = openFileReader(new RequestLogFile(file));
    await assert.rejects(reader.list({ limit: 5 }), /malformed/);
    assert.ok(existsSync(file));
    const moved: string[] = [];
    const appender = new SqliteAppender(file, (aside) => moved.push(aside));
    const entry = requestEntry();
    await appender.append([entry]);
    assert.equal(moved.length, 1);
    assert.deepEqual((await reader.list({ limit: 5 })).entries, [entry], 'who had the old one opens the new one');
    await appender.close();
    await reader.close();
  });

  test('that cannot be pruned since it is damaged is put aside', async () => {
    const file = join(mkdtempSync(join(folder, 'damaged-')), 'requests.db');
    const appender = new SqliteAppender(file, () => assert.fail('the pruning has found it'));
    await appender.append(Array.from({ length: 200 }, () => requestEntry({ atMs: NOW })));
    await appender.close();
    writeFileSync(file, readFileSync(file).fill('damaged', 4_096));
    const reader = new SqliteRequestReader(file);
    const retention = { keepMs: DAY_MS, maxBytes: 2 ** 40 };
    await assert.rejects(reader.prune(retention, NOW + 30 * DAY_MS), /malformed; the file was moved to .*damaged-/);
    assert.equal(await reader.prune(retention, NOW + 30 * DAY_MS), false);
    await appender.append([requestEntry({ atMs: NOW })]);
    await appender.close();
    await reader.close();
  });

  test('is read by a thread that ends when nobody asks, and every call is answered all the same', async () => {
    const file = join(mkdtempSync(join(folder, 'rest-')), 'requests.db');
    const appender = new SqliteAppender(file, () => assert.fail('nothing is damaged'));
    const entry = requestEntry();
    await appender.append([entry]);
    const reader = new SqliteRequestReader(file, 0);
    for (let turn = 0; turn < 5; turn++) {
      assert.deepEqual(await reader.find(entry.id), entry);
      const both = await Promise.all([reader.find(entry.id), reader.list({ limit: 5 })]);
      assert.deepEqual(both, [entry, { entries: [entry], next: null }]);
      await new Promise((resolve) => setTimeout(resolve, turn));
    }
    await appender.close();
    await reader.close();
  });

  test('that was removed is begun anew by all who have it open', async () => {
    const file = join(mkdtempSync(join(folder, 'removed-')), 'requests.db');
    const open = (): RequestLogAppender => new SqliteAppender(file, () => assert.fail('nothing is damaged'));
    const [appender, neighbour] = [open(), open()];
    const reader = new SqliteRequestReader(file);
    await appender.append([requestEntry(), requestEntry()]);
    await neighbour.append([requestEntry()]);
    const { position } = await reader.tail(null);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`);
    const [one, two] = [requestEntry(), requestEntry()];
    await appender.append([one]);
    await neighbour.append([two]);
    assert.deepEqual(await reader.find(one.id), one);
    assert.deepEqual((await reader.tail(position)).entries, [one, two], 'who follows it goes on with the new one');
    for (const each of [appender, neighbour, reader]) await each.close();
  });

  test('is not made by a command that reads, which finds it when it is there', async () => {
    const file = join(folder, 'none.db');
    const reader = openFileReader(new RequestLogFile(file));
    assert.deepEqual(await reader.list({ limit: 5 }), { entries: [], next: null });
    const { position } = await reader.tail(null);
    assert.ok(!existsSync(file));
    const appender = new SqliteAppender(file, () => assert.fail('nothing is damaged'));
    const entry = requestEntry();
    await appender.append([entry]);
    assert.deepEqual((await reader.tail(position)).entries, [entry]);
    await appender.close();
    await reader.close();
  });
});
