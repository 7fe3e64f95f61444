/** The counts of failed requests, over both of their stores. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { failuresFile } from '../../src/observe/failures/sqlite.ts';
import type { FailureCount, FailureQuery } from '../../src/observe/failures/store.ts';
import { PostgresAppender } from '../../src/observe/request-log/postgres/appender.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import { SqliteAppender } from '../../src/observe/request-log/sqlite/appender.ts';
import { SqliteRequestReader } from '../../src/observe/request-log/sqlite/reader.ts';
import type { RequestLogAppender, RequestLogReader } from '../../src/observe/request-log/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { requestEntry } from '../support/request-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 15, 12);

interface Opened extends AsyncDisposable {
  readonly appender: RequestLogAppender;
  /** Of another thread or process. */
  readonly neighbour: RequestLogAppender;
  readonly reader: RequestLogReader;
}

const server = await startPostgres();
after(() => server.stop());
const folder = temporaryFolder('gateway-failures');
let files = 0;

const STORES: readonly [string, () => Promise<Opened>][] = [
  [
    'SQLite',
    async () => {
      const file = join(folder, `${files++}.db`);
      const open = (): RequestLogAppender => new SqliteAppender(file, () => assert.fail('nothing is damaged'));
      return closing(open(), open(), new SqliteRequestReader(file));
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const url = server.url(await server.createDatabase());
      return closing(new PostgresAppender(url), new PostgresAppender(url), new PostgresRequestReader(url));
    },
  ],
];

function closing(appender: RequestLogAppender, neighbour: RequestLogAppender, reader: RequestLogReader): Opened {
  const close = async (): Promise<void> => {
    for (const part of [appender, neighbour, reader]) await part.close();
  };
  return { appender, neighbour, reader, [Symbol.asyncDispose]: close };
}

function count(parts: Partial<FailureCount> = {}): FailureCount {
  return {
    startMs: NOON,
    keyId: 'key_1',
    label: 'one',
    accountId: 'acct_1',
    model: 'm',
    provider: 'p',
    format: 'chat',
    condition: 'upstream_error',
    failed: 1,
    ...parts,
  };
}

function asked(parts: Partial<FailureQuery> = {}): FailureQuery {
  return { sinceMs: NOON - 24 * HOUR_MS, untilMs: NOON + 24 * HOUR_MS, by: [], filter: {}, rowsMax: 100, ...parts };
}

for (const [name, open] of STORES) {
  describe(`the counts of failed requests on ${name}`, () => {
    test('add up what several gateways have counted, by condition, the most first', async () => {
      await using log = await open();
      await log.appender.count([count(), count({ keyId: 'key_2', label: '', accountId: '', failed: 5 })]);
      await log.neighbour.count([count({ failed: 2 }), count({ condition: 'limit_reached', provider: '' })]);
      const { rows, total } = await log.reader.failures(asked({ by: ['key'] }));
      assert.deepEqual(rows, [
        { group: ['key_2'], failed: { upstream_error: 5 } },
        { group: ['key_1'], failed: { upstream_error: 3, limit_reached: 1 } },
      ]);
      assert.deepEqual(total, { upstream_error: 8, limit_reached: 1 });
    });

    test('are grouped and filtered by everything that a report is, within its time', async () => {
      await using log = await open();
      await log.appender.count([
        count(),
        count({ startMs: NOON + HOUR_MS, model: 'n' }),
        count({ startMs: NOON - 13 * HOUR_MS, provider: 'q' }),
        count({ startMs: NOON - 25 * HOUR_MS, failed: 100 }),
        count({ startMs: NOON + 24 * HOUR_MS, failed: 100 }),
        count({ keyId: 'key_2', label: 'two', accountId: 'acct_2', format: 'messages' }),
      ]);
      const groups = async (parts: Partial<FailureQuery>): Promise<readonly unknown[]> => {
        const { rows } = await log.reader.failures(asked(parts));
        return rows.map(({ group, failed }) => [...group, failed.upstream_error]).sort();
      };
      const day = Date.UTC(2026, 10, 15);
      assert.deepEqual(await groups({ by: ['day'] }), [
        [day - 24 * HOUR_MS, 1],
        [day, 3],
      ]);
      assert.deepEqual(await groups({ by: ['hour'], filter: { model: 'n' } }), [[NOON + HOUR_MS, 1]]);
      assert.deepEqual(await groups({ by: ['account', 'label', 'format'], filter: { format: 'messages' } }), [
        ['acct_2', 'two', 'messages', 1],
      ]);
      assert.deepEqual(await groups({ by: ['provider'], filter: { label: 'one' } }), [
        ['p', 2],
        ['q', 1],
      ]);
      assert.deepEqual(await groups({ filter: { key: 'key_2' } }), [[1]]);
      assert.deepEqual(await groups({ keys: new Set(['key_2', 'key_3']) }), [[1]]);
      assert.deepEqual(await groups({ keys: new Set() }), []);
      assert.deepEqual((await log.reader.failures(asked({ by: ['model'], rowsMax: 1 }))).rows.length, 1);
    });

    test('have those without a known key apart from all others', async () => {
      await using log = await open();
      await log.appender.count([
        count(),
        count({
          keyId: '',
          label: '',
          accountId: '',
          model: '',
          provider: '',
          condition: 'invalid_credentials',
          failed: 9,
        }),
      ]);
      const report = await log.reader.failures(asked({ by: ['key'], filter: { model: 'm' } }));
      assert.deepEqual(report.rows, [{ group: ['key_1'], failed: { upstream_error: 1 } }]);
      assert.deepEqual(report.total, { upstream_error: 1 });
      assert.deepEqual(report.withoutKey, { invalid_credentials: 9 });
    });

    test('of some keys get another account or another label, and nothing else of them changes', async () => {
      await using log = await open();
      const other = count({ keyId: 'key_3', label: 'three' });
      await log.appender.count([count(), count({ startMs: NOON + HOUR_MS }), count({ keyId: 'key_2' }), other]);
      await log.reader.changeFailures(['key_1', 'key_2', 'key_none'], { label: '' });
      await log.reader.changeFailures(['key_2'], { accountId: 'acct_2' });
      await log.reader.changeFailures([], { label: 'nobody' });
      await log.appender.count([count({ keyId: 'key_2', label: 'new', accountId: 'acct_2' })]);
      const { rows } = await log.reader.failures(asked({ by: ['key', 'label', 'account'] }));
      assert.deepEqual(rows.map(({ group, failed }) => [...group, failed.upstream_error]).sort(), [
        ['key_1', '', 'acct_1', 2],
        ['key_2', 'new', 'acct_2', 2],
        ['key_3', 'three', 'acct_1', 1],
      ]);
    });

    test('are none where nothing was counted', async () => {
      await using log = await open();
      await log.reader.changeFailures(['key_1'], { label: '' });
      assert.deepEqual(await log.reader.failures(asked({ by: ['key'] })), { rows: [], total: {}, withoutKey: {} });
    });

    test('every request that failed is found, whatever with, and models by a part of their name', async () => {
      await using log = await open();
      const [fine, slow, refused] = [null, 'upstream_timeout', 'limit_reached'].map((condition) =>
        requestEntry({ atMs: NOON, condition: condition as 'upstream_timeout' | null }),
      );
      assert(fine && slow && refused);
      await log.appender.append([fine, slow, refused]);
      const found = async (condition: string): Promise<readonly string[]> =>
        (await log.reader.list({ condition, limit: 10 })).entries.map(({ id }) => id);
      assert.deepEqual(await found('any'), [refused.id, slow.id]);
      assert.deepEqual(await found('limit_reached'), [refused.id]);
      const large = requestEntry({ atMs: NOON, model: 'OpenAI/GPT-5_large%' });
      await log.appender.append([large]);
      for (const [modelPart, wanted] of [
        ['gpt-5', [large.id]],
        ['5_large%', [large.id]],
        ['5xlarge', []],
      ] as const) {
        const { entries } = await log.reader.list({ modelPart, limit: 10 });
        assert.deepEqual(
          entries.map(({ id }) => id),
          wanted,
          modelPart,
        );
      }
    });
  });
}

describe('the file of the counts', () => {
  test('stays where the request log is deleted, and is begun anew where it is damaged', async () => {
    const file = join(folder, `${files++}.db`);
    const moved: string[] = [];
    const appender = new SqliteAppender(file, (path) => moved.push(path));
    await appender.append([requestEntry({ atMs: NOON })]);
    await appender.count([count()]);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    const reader = new SqliteRequestReader(file);
    assert.deepEqual((await reader.failures(asked())).total, { upstream_error: 1 });
    await reader.close();
    await appender.close();
    for (const suffix of ['-wal', '-shm']) rmSync(`${failuresFile(file)}${suffix}`, { force: true });
    writeFileSync(failuresFile(file), 'not a database, and longer than a header of one '.repeat(10));
    const again = new SqliteAppender(file, (path) => moved.push(path));
    await again.count([count({ failed: 7 })]);
    await again.close();
    assert.equal(moved.length, 1);
    const after = new SqliteRequestReader(file);
    assert.deepEqual((await after.failures(asked())).total, { upstream_error: 7 });
    await after.close();
  });
});
