/** How a request log on PostgreSQL is measured and kept to its bound. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { PostgresAppender } from '../../src/observe/request-log/postgres/appender.ts';
import { PostgresRequestReader } from '../../src/observe/request-log/postgres/reader.ts';
import type { RequestLogAppender } from '../../src/observe/request-log/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { DAY_MS, filled, NOW, prunedTo } from './request-log-fixture.ts';

const server = await startPostgres();
after(() => server.stop());

describe('the request log on PostgreSQL that is too large', () => {
  const opened = async (): Promise<{ url: string; database: string; appender: RequestLogAppender }> => {
    const database = await server.createDatabase();
    const url = server.url(database);
    const appender = new PostgresAppender(url);
    after(() => appender.close());
    return { url, database, appender };
  };
  const reading = (url: string): PostgresRequestReader => {
    const reader = new PostgresRequestReader(url);
    after(() => reader.close());
    return reader;
  };

  test('is kept to its bound by several gateways at once, which do not remove the same excess twice', async () => {
    const { url, appender } = await opened();
    const entries = await filled(appender, NOW, 2_000);
    const readers = Array.from({ length: 3 }, () => reading(url));
    const [reader] = readers;
    assert.ok(reader);
    const maxBytes = Math.floor((await reader.bytes()) * 0.7);
    const left = await Promise.all(readers.map((each) => prunedTo(each, maxBytes)));
    const kept = await prunedTo(reader, maxBytes);
    assert.ok(left.every((seen) => seen.length >= kept.length));
    const bytes = await reader.bytes();
    assert.ok(bytes <= maxBytes && bytes > maxBytes * 0.99, `${bytes} of ${maxBytes}`);
    assert.deepEqual(kept, entries.slice(-kept.length));
  });

  test('is measured by a sample of its pages where it has many, and by what is on disk as long as nothing was removed', async () => {
    const { url, database, appender } = await opened();
    const reader = reading(url);
    await filled(appender, NOW, 24_000);
    const onDisk = async (): Promise<number> => {
      const [row] = await server.query(
        database,
        `SELECT sum(pg_total_relation_size(inhrelid))::float8 AS bytes FROM pg_inherits
         WHERE inhparent = 'gateway.request_log'::regclass`,
      );
      return Number(row?.bytes);
    };
    const [measured, taken] = [await reader.bytes(), await onDisk()];
    assert.ok(taken > 1.5 * 1_024 * 8_192 && Math.abs(measured / taken - 1) < 0.15, `${measured} of ${taken}`);
    const kept = await prunedTo(reader, Math.floor(taken / 2));
    assert.ok(Math.abs(kept.length / 12_000 - 1) < 0.15, `${kept.length} of 24000`);
    assert.ok((await onDisk()) >= taken, 'the file has not become smaller');
  });

  test('drops small days as a whole, and of a large one only what has to leave', async () => {
    const { url, database, appender } = await opened();
    const reader = reading(url);
    const partitions = async (): Promise<number> =>
      Number(
        (
          await server.query(
            database,
            `SELECT count(*) FROM pg_inherits WHERE inhparent = 'gateway.request_log'::regclass`,
          )
        )[0]?.count,
      );
    await filled(appender, NOW - 2 * DAY_MS, 300);
    const large = await filled(appender, NOW - DAY_MS, 3_000);
    const today = await filled(appender, NOW, 300);
    const bytes = await reader.bytes();
    const kept = await prunedTo(reader, Math.floor(bytes * 0.95));
    assert.deepEqual(
      kept,
      [...large, ...today],
      'the small day was enough, and what it had more than that is gone too',
    );
    assert.equal(await partitions(), 3, 'with the one of tomorrow');
    const some = await prunedTo(reader, Math.floor(bytes * 0.5));
    assert.ok(some.length > today.length && some.length < large.length);
    assert.deepEqual(some, [...large, ...today].slice(-some.length));
    await filled(appender, NOW + 1, 300);
    await prunedTo(reader, Math.floor(bytes * 0.08));
    assert.equal(await partitions(), 2, 'the large day is empty, and gone');
    assert.ok((await reader.list({ limit: 1 })).entries.length > 0);
  });
});
