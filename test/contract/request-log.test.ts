/** The request log's contract, over both of its stores. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Capture } from '../../src/core/capture.ts';
import { capturedContent, textOf } from '../../src/observe/request-log/captured.ts';
import { PostgresAppender } from '../../src/observe/request-log/postgres/appender.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import { SqliteAppender } from '../../src/observe/request-log/sqlite/appender.ts';
import { SqliteRequestReader } from '../../src/observe/request-log/sqlite/reader.ts';
import type {
  CapturedContent,
  RequestLogAppender,
  RequestLogReader,
  RequestQuery,
} from '../../src/observe/request-log/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { requestEntry } from '../support/request-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { DAY_MS, filled, NOW, prunedTo } from './request-log-fixture.ts';

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
      const open = (): RequestLogAppender => new SqliteAppender(file, aside);
      return closing({ appender: open(), neighbour: open(), reader: new SqliteRequestReader(file) });
    },
  ],
  ['PostgreSQL', async () => inPostgres(await server.createDatabase())],
  [
    'PostgreSQL that sorts text by a language',
    async () => {
      const name = `sorted_${files++}`;
      const settings = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' STRATEGY file_copy";
      await server.query('postgres', `CREATE DATABASE ${name} ${settings}`);
      return inPostgres(name);
    },
  ],
];

function inPostgres(database: string): Opened {
  const url = server.url(database);
  const open = (): RequestLogAppender => new PostgresAppender(url);
  return closing({ appender: open(), neighbour: open(), reader: new PostgresRequestReader(url) });
}

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
      await log.appender.append(batch.slice(0, 15));
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

    test('finds what is slower than a fraction of a millisecond', async () => {
      await using log = await open();
      const entries = [0, 1, 2, 3].map((durationMs, at) => requestEntry({ atMs: NOW - at, durationMs }));
      await log.appender.append(entries);
      const slower = async (slowerThanMs: number): Promise<number[]> =>
        (await log.reader.list({ slowerThanMs, limit: 10 })).entries.map(({ durationMs }) => durationMs);
      assert.deepEqual(await slower(0.5), [1, 2, 3]);
      assert.deepEqual(await slower(2), [3]);
      assert.deepEqual(await slower(2.001), [3]);
      assert.deepEqual(await slower(1.9999999999999998), [2, 3]);
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

    test('begins at the earlier one of a time and the page before', async () => {
      await using log = await open();
      const batch = Array.from({ length: 6 }, (_, i) => requestEntry({ atMs: NOW - i * DAY_MS }));
      await log.appender.append(batch);
      const ids = batch.map(({ id }) => id);
      const found = async (query: Omit<RequestQuery, 'limit'>): Promise<string[]> =>
        (await log.reader.list({ ...query, limit: 2 })).entries.map(({ id }) => id);
      const untilMs = NOW - 1.5 * DAY_MS;
      for (const before of [`req_${'f'.repeat(32)}`, 'req_ffff', ids[0] ?? '', ids[1] ?? '']) {
        assert.deepEqual(await found({ untilMs, before }), ids.slice(2, 4), before);
      }
      assert.deepEqual(await found({ untilMs, before: ids[3] ?? '' }), ids.slice(4));
      // The first digits of an id: what is before all that begin so.
      const day = requestEntry({ atMs: NOW - 2 * DAY_MS }).id;
      assert.deepEqual(await found({ before: 'req_f' }), ids.slice(0, 2));
      assert.deepEqual(await found({ before: day.slice(0, 16) }), ids.slice(3, 5));
      assert.deepEqual(await found({ before: 'req_0' }), []);
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

    test('forgets the requests of some keys, with what was captured of them, and nothing else', async () => {
      await using opened = await open();
      const { appender, reader } = opened;
      const entries = Array.from({ length: 30 }, (_, index) =>
        requestEntry({ atMs: NOW - index * DAY_MS, keyId: `key_${index % 3}` }),
      );
      const [first] = entries;
      assert(first !== undefined);
      const content = {
        id: first.id,
        expiresAtMs: Date.now() + DAY_MS,
        request: Buffer.from('a'),
        response: Buffer.from('b'),
      };
      await appender.append(entries, [{ ...content, cut: false }]);
      assert.notEqual(await reader.captured(first.id), null);
      assert.deepEqual(await reader.forget(['key_0', 'key_2', 'key_9'], null), { removed: 20, next: null });
      const left = (await reader.list({ limit: 50 })).entries;
      assert.deepEqual([...new Set(left.map(({ keyId }) => keyId)), left.length], ['key_1', 10]);
      assert.equal(await reader.captured(first.id), null);
      assert.deepEqual(await reader.forget([], null), { removed: 0, next: null });
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
      await pruneAll({ keepMs: 30 * DAY_MS, maxBytes: Math.floor(before * 0.6) });
      assert.ok((await oldest()) < 29);
      assert.ok((await log.reader.bytes()) < before);
      assert.ok(await log.reader.find((await log.reader.list({ limit: 1 })).entries[0]?.id ?? ''), 'the newest stays');
    });

    test('of which a single day is too large loses the oldest of that day, no more than it has to, and takes new ones', async () => {
      await using log = await open();
      const entries = await filled(log.appender, NOW, 3_000);
      const maxBytes = Math.floor((await log.reader.bytes()) / 2);
      const kept = await prunedTo(log.reader, maxBytes);
      assert.deepEqual(kept, entries.slice(-kept.length), 'the newest stay');
      const bytes = await log.reader.bytes();
      assert.ok(bytes <= maxBytes && bytes > maxBytes / 2, `${bytes} of ${maxBytes}`);
      const added = await filled(log.appender, NOW + 1, 20);
      const after = await prunedTo(log.reader, maxBytes);
      assert.deepEqual(after.slice(-added.length), added);
      assert.ok(after.length > kept.length / 2, 'what was removed before does not count again');
    });

    test('that is too large loses content before requests, the oldest first', async () => {
      await using log = await open();
      const entries = Array.from({ length: 60 }, () => requestEntry({ atMs: NOW }));
      const content = await Promise.all(entries.map(({ id }) => captureOf(id, 20_000)));
      await log.appender.append(entries, content);
      const maxBytes = Math.floor((await log.reader.bytes()) * 0.6);
      assert.deepEqual(
        await prunedTo(log.reader, maxBytes),
        entries.map(({ id }) => id),
      );
      const found = await Promise.all(entries.map(async ({ id }) => (await log.reader.captured(id)) !== null));
      assert.deepEqual(found, found.toSorted(), 'the newest stay');
      assert.deepEqual([found.at(0), found.at(-1)], [false, true]);
      assert.ok((await log.reader.bytes()) <= maxBytes);
      const late = requestEntry({ atMs: NOW + 1 });
      await log.appender.append([late], [await captureOf(late.id, 20_000)]);
      await prunedTo(log.reader, maxBytes);
      assert.ok(await log.reader.captured(late.id), 'there is room again');
    });
  });
}

function captureOf(id: string, bytes: number): Promise<CapturedContent> {
  const capture = new Capture(1);
  capture.received(randomBytes(bytes));
  return capturedContent(id, capture, Date.now());
}
