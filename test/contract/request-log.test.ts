/** The request log's contract, over both of its stores. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Capture } from '../../src/core/capture.ts';
import { capturedContent, textOf } from '../../src/observe/request-log/captured.ts';
import { openPostgresAppender } from '../../src/observe/request-log/postgres/appender.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import { openSqliteAppender } from '../../src/observe/request-log/sqlite/appender.ts';
import { openFileReader, SqliteRequestReader } from '../../src/observe/request-log/sqlite/reader.ts';
import type { RequestLogAppender, RequestLogReader, RequestQuery } from '../../src/observe/request-log/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { requestEntry } from '../support/request-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 15, 12);

interface Opened extends AsyncDisposable {
  readonly appender: RequestLogAppender;
  /** Of another thread or process. */
  readonly neighbour: RequestLogAppender;
  readonly reader: RequestLogReader;
}

const server = await startPostgres();
after(() => server.stop());
const folder = temporaryFolder('gateway-requests');
let files = 0;

function closing(parts: Omit<Opened, typeof Symbol.asyncDispose>): Opened {
  return {
    ...parts,
    [Symbol.asyncDispose]: async () => {
      await parts.appender.close();
      await parts.neighbour.close();
      await parts.reader.close();
    },
  };
}

const STORES: readonly [string, () => Promise<Opened>][] = [
  [
    'SQLite',
    async () => {
      const file = join(folder, `${files++}.db`);
      const aside = (): void => assert.fail('nothing is damaged');
      const open = (): RequestLogAppender => openSqliteAppender(file, aside);
      return closing({ appender: open(), neighbour: open(), reader: new SqliteRequestReader(file) });
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const url = server.url(await server.createDatabase());
      const open = (): RequestLogAppender => openPostgresAppender(url);
      return closing({ appender: open(), neighbour: open(), reader: new PostgresRequestReader(url) });
    },
  ],
];

for (const [name, open] of STORES) {
  describe(`the request log on ${name}`, () => {
    test('gives back what was appended, by its id', async () => {
      await using log = await open();
      const entry = requestEntry({ atMs: NOW, costNanos: 12n, condition: 'upstream_error', status: 502 });
      const bare = requestEntry({ atMs: NOW, keyId: null });
      await log.appender.append([entry, bare]);
      assert.deepEqual(await log.reader.find(entry.id), entry);
      assert.deepEqual(await log.reader.find(bare.id), bare);
      for (const id of ['', 'req_', `${entry.id}0`, "' OR 1=1 --", 'req_\0', 'x'.repeat(10_000)]) {
        assert.equal(await log.reader.find(id), null);
      }
    });

    test('takes a batch again without a second copy', async () => {
      await using log = await open();
      const batch = Array.from({ length: 40 }, () => requestEntry({ atMs: NOW }));
      await log.appender.append(batch);
      await log.appender.append(batch);
      const { entries } = await log.reader.list({ limit: 100 });
      assert.equal(entries.length, batch.length);
    });

    test('finds by each filter, newest first, and by all of them together', async () => {
      await using log = await open();
      const plain = requestEntry({ atMs: NOW - 5_000 });
      const wanted = requestEntry({
        atMs: NOW,
        keyId: 'key_2',
        model: "o'model",
        providers: ['two', 'three'],
        format: 'messages',
        status: 502,
        condition: 'upstream_error',
        durationMs: 900,
        costNanos: 500n,
        change: (record) => {
          record.clientRequestId = 'mine';
        },
      });
      await log.appender.append([plain]);
      await log.neighbour.append([wanted]);
      const ids = async (query: Omit<RequestQuery, 'limit'>): Promise<string[]> =>
        (await log.reader.list({ ...query, limit: 10 })).entries.map(({ id }) => id);
      assert.deepEqual(await ids({}), [wanted.id, plain.id]);
      const filters: Omit<RequestQuery, 'limit'>[] = [
        { keyId: 'key_2' },
        { keyIds: ['key_2', 'nobody'] },
        { model: "o'model" },
        { provider: 'three' },
        { format: 'messages' },
        { clientRequestId: 'mine' },
        { status: { from: 500, to: 599 } },
        { condition: 'upstream_error' },
        { sinceMs: NOW - 1_000 },
        { slowerThanMs: 500 },
        { costlierThanNanos: 499n },
      ];
      for (const filter of filters)
        assert.deepEqual(await ids(filter), [wanted.id], JSON.stringify(Object.keys(filter)));
      assert.deepEqual(await ids(Object.assign({}, ...filters)), [wanted.id]);
      assert.deepEqual(await ids({ untilMs: NOW - 1_000 }), [plain.id]);
      assert.deepEqual(await ids({ sinceMs: NOW + 10 * DAY_MS, untilMs: 0 }), []);
      assert.deepEqual(await ids({ costlierThanNanos: 2n ** 62n, slowerThanMs: Number.MAX_SAFE_INTEGER }), []);
    });

    test('gives all pages, each entry once', async () => {
      await using log = await open();
      const batch = Array.from({ length: 25 }, (_, i) => requestEntry({ atMs: NOW - i * DAY_MS }));
      await log.appender.append(batch);
      const seen: string[] = [];
      for (let before: string | null = null, pages = 0; pages < 10; pages++) {
        const page = await log.reader.list({ limit: 10, before });
        seen.push(...page.entries.map(({ id }) => id));
        before = page.next;
        if (before === null) break;
      }
      assert.deepEqual(
        seen,
        batch.map(({ id }) => id),
      );
    });

    test('tells what was stored since, whoever stored it', async () => {
      await using log = await open();
      await log.appender.append([requestEntry({ atMs: NOW })]);
      let { position, entries } = await log.reader.tail(null);
      assert.deepEqual(entries, []);
      // One that began before the others ended after them.
      const late = [requestEntry({ atMs: NOW - DAY_MS }), requestEntry({ atMs: NOW + 5 })];
      await log.appender.append(late.slice(0, 1));
      await log.neighbour.append(late.slice(1));
      const seen: string[] = [];
      for (const untilMs = Date.now() + 120_000; seen.length < 2 && Date.now() < untilMs; ) {
        ({ position, entries } = await log.reader.tail(position));
        seen.push(...entries.map(({ id }) => id));
      }
      assert.deepEqual(
        seen,
        late.map(({ id }) => id),
      );
      assert.deepEqual((await log.reader.tail(position)).entries, []);
      const last = await log.reader.tail('0', 2);
      assert.deepEqual([last.entries.length, last.position], [2, position]);
    });

    test('keeps what was captured beside its requests, until its time is over', async () => {
      await using log = await open();
      const [now, early] = [Date.now(), Date.now() - 2 * DAY_MS];
      const [entry, past] = [requestEntry({ atMs: now }), requestEntry({ atMs: early })];
      const capture = new Capture(1);
      capture.received(Buffer.from('{"prompt":"né"}'));
      capture.wrote(Buffer.from('data: one\n\n'));
      capture.wrote(Buffer.from('data: two\n\n'));
      const content = await capturedContent(entry.id, capture, now);
      const batch = [content, await capturedContent(past.id, capture, early)];
      await log.appender.append([entry, past], batch);
      await log.appender.append([entry, past], batch);
      const found = await log.reader.captured(entry.id);
      assert.ok(found);
      assert.deepEqual([found.expiresAtMs, found.cut], [now + DAY_MS, false]);
      assert.equal(await textOf(found.request), '{"prompt":"né"}');
      assert.equal(await textOf(found.response), 'data: one\n\ndata: two\n\n');
      for (const id of [past.id, 'req_', "' OR 1=1 --"]) assert.equal(await log.reader.captured(id), null);
      while (await log.reader.prune({ keepMs: 30 * DAY_MS, maxBytes: 1024 ** 4 }, now));
      assert.ok(await log.reader.captured(entry.id), 'what has not expired stays');
      while (await log.reader.prune({ keepMs: 30 * DAY_MS, maxBytes: 1024 ** 4 }, now + DAY_MS));
      assert.equal(await log.reader.captured(entry.id), null);
      assert.ok(await log.reader.find(entry.id), 'the record stays');
    });

    test('is pruned by age, and then by size, oldest first', async () => {
      await using log = await open();
      const days = [40, 31, 29, 1, 0];
      for (const day of days) {
        const padded = { change: (record: { userAgent: string | null }) => (record.userAgent = 'x'.repeat(200)) };
        await log.appender.append(
          Array.from({ length: 300 }, () => requestEntry({ atMs: NOW - day * DAY_MS, ...padded })),
        );
      }
      const pruneAll = async (retention: { keepMs: number; maxBytes: number }): Promise<void> => {
        for (let steps = 0; steps < 100 && (await log.reader.prune(retention, NOW)); steps++);
      };
      const oldest = async (): Promise<number> => {
        const entries = [];
        for (let before: string | null = null; ; ) {
          const page = await log.reader.list({ limit: 1_000, before });
          entries.push(...page.entries);
          before = page.next;
          if (before === null) return Math.round((NOW - Number(entries.at(-1)?.receivedAtMs)) / DAY_MS);
        }
      };
      await pruneAll({ keepMs: 30 * DAY_MS, maxBytes: 1024 ** 4 });
      assert.equal(await oldest(), 29);
      const before = await log.reader.bytes();
      await pruneAll({ keepMs: 30 * DAY_MS, maxBytes: Math.floor(before * 0.7) });
      assert.ok((await oldest()) < 29);
      assert.ok((await log.reader.bytes()) < before);
      assert.ok(await log.reader.find((await log.reader.list({ limit: 1 })).entries[0]?.id ?? ''), 'the newest stays');
    });
  });
}

describe('the file of the request log', () => {
  test('that is damaged is put aside, and a new one begun', async () => {
    const own = mkdtempSync(join(folder, 'damaged-'));
    const file = join(own, 'requests.db');
    writeFileSync(file, 'not a database at all, '.repeat(500));
    const moved: string[] = [];
    const appender = openSqliteAppender(file, (aside) => moved.push(aside));
    const entry = requestEntry();
    await appender.append([entry]);
    await appender.close();
    assert.equal(moved.length, 1);
    assert.ok(readdirSync(own).some((found) => found.startsWith('requests.db.damaged-')));
    const reader = openFileReader(file);
    assert.deepEqual(await reader.find(entry.id), entry);
    await reader.close();
  });

  test('that is damaged behind its head is put aside by the next batch, and left alone by a command that reads', async () => {
    const file = join(mkdtempSync(join(folder, 'damaged-')), 'requests.db');
    const first = openSqliteAppender(file, () => assert.fail('nothing is damaged'));
    await first.append(Array.from({ length: 200 }, () => requestEntry()));
    await first.close();
    const content = readFileSync(file);
    writeFileSync(file, content.fill('damaged', 4_096));
    const reader = openFileReader(file);
    await assert.rejects(reader.list({ limit: 5 }), /malformed/);
    assert.ok(existsSync(file));
    const moved: string[] = [];
    const appender = openSqliteAppender(file, (aside) => moved.push(aside));
    const entry = requestEntry();
    await appender.append([entry]);
    assert.equal(moved.length, 1);
    assert.deepEqual((await reader.list({ limit: 5 })).entries, [entry], 'who had the old one opens the new one');
    await appender.close();
    await reader.close();
  });

  test('that cannot be pruned since it is damaged is put aside', async () => {
    const file = join(mkdtempSync(join(folder, 'damaged-')), 'requests.db');
    const appender = openSqliteAppender(file, () => assert.fail('the pruning has found it'));
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

  test('that was removed is begun anew by all who have it open', async () => {
    const file = join(mkdtempSync(join(folder, 'removed-')), 'requests.db');
    const open = (): RequestLogAppender => openSqliteAppender(file, () => assert.fail('nothing is damaged'));
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
    const reader = openFileReader(file);
    assert.deepEqual(await reader.list({ limit: 5 }), { entries: [], next: null });
    const { position } = await reader.tail(null);
    assert.ok(!existsSync(file));
    const appender = openSqliteAppender(file, () => assert.fail('nothing is damaged'));
    const entry = requestEntry();
    await appender.append([entry]);
    assert.deepEqual((await reader.tail(position)).entries, [entry]);
    await appender.close();
    await reader.close();
  });
});
