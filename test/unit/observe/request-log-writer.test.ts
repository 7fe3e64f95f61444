/** The request log's writer: batches, a bounded buffer, and a store that is slow, full or gone. */
import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { CAPTURED_BYTES_MAX, Capture } from '../../../src/core/capture.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import type { RequestRecord } from '../../../src/core/request-record.ts';
import { entryOf, type RequestEntry } from '../../../src/observe/request-log/entry.ts';
import type { CapturedContent } from '../../../src/observe/request-log/store.ts';
import { viewOf } from '../../../src/observe/request-log/view.ts';
import {
  BATCH_ROWS,
  BUFFERED_BYTES_MAX,
  BUFFERED_RECORDS_MAX,
  RequestLogWriter,
} from '../../../src/observe/request-log/writer.ts';
import { requestRecord } from '../../support/request-entries.ts';

class TestAppender {
  readonly batches: (readonly RequestEntry[])[] = [];
  failing: Error | null = null;
  hanging = false;
  #changed = Promise.withResolvers<void>();

  readonly captured: CapturedContent[] = [];

  async append(entries: readonly RequestEntry[], captured: readonly CapturedContent[]): Promise<void> {
    if (this.hanging) return new Promise(() => {});
    if (this.failing) {
      const error = this.failing;
      this.#changed.resolve();
      throw error;
    }
    this.batches.push(entries);
    this.captured.push(...captured);
    this.#changed.resolve();
  }

  async close(): Promise<void> {}

  /** The next batch that is taken or refused. */
  async next(): Promise<void> {
    this.#changed = Promise.withResolvers();
    await this.#changed.promise;
  }

  get ids(): string[] {
    return this.batches.flat().map(({ id }) => id);
  }
}

function writer(appender = new TestAppender(), enabled = true): { appender: TestAppender; log: RequestLogWriter } {
  return { appender, log: new RequestLogWriter({ appender, log: NO_LOG, enabled: () => enabled }) };
}

describe('the writer of the request log', () => {
  test('stores in batches, in order, and all of it at its end', async () => {
    const { appender, log } = writer();
    const records = Array.from({ length: 300 }, () => requestRecord());
    for (const record of records) log.finished(record);
    assert.deepEqual(appender.batches, [], 'nothing is stored on the path of a request');
    await log.close();
    assert.deepEqual(
      appender.ids,
      records.map(({ requestId }) => requestId),
    );
    assert.ok(appender.batches.length > 1);
    assert.deepEqual(log.stats, {
      written: 300,
      dropped: 0,
      capturesDropped: 0,
      buffered: 0,
      failures: 0,
      unauthenticated: 0,
    });
  });

  test('stores by itself, within a second', async () => {
    const { appender, log } = writer();
    const stored = appender.next();
    log.finished(requestRecord());
    await stored;
    assert.equal(appender.ids.length, 1);
    await log.close();
  });

  test('a full batch does not wait for its time, unless the one before it was not taken', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { appender, log } = writer();
    const add = (count: number): void => {
      for (let record = 0; record < count; record++) log.finished(requestRecord());
    };
    const pass = async (ms: number): Promise<number> => {
      t.mock.timers.tick(ms);
      await turn();
      return appender.ids.length;
    };
    add(BATCH_ROWS - 1);
    assert.equal(await pass(1), 0);
    add(1);
    assert.equal(await pass(1), BATCH_ROWS);
    assert.equal(await pass(1_000), BATCH_ROWS);
    appender.failing = new Error('disk full');
    add(BATCH_ROWS);
    await pass(1);
    assert.equal(log.stats.failures, 1);
    add(BATCH_ROWS);
    await pass(1);
    assert.equal(log.stats.failures, 1, 'it is not tried again sooner');
    appender.failing = null;
    await pass(1_000);
    await turn();
    assert.equal(appender.ids.length, 3 * BATCH_ROWS);
    await log.close();
  });

  test('stores every request whose key could not be looked up, and of those without a key one a second', async () => {
    const { appender, log } = writer();
    const refused = (condition: RequestRecord['condition']) =>
      Object.assign(requestRecord({ keyId: null, providers: [], condition }), { endedAt: 5_000 });
    const unasked = Array.from({ length: 6 }, () => refused('service_unavailable'));
    const keyless = Array.from({ length: 6 }, () => refused('invalid_credentials'));
    for (const record of [...unasked, ...keyless]) log.finished(record);
    await log.close();
    assert.deepEqual(
      appender.ids,
      [...unasked, ...keyless.slice(0, 1)].map(({ requestId }) => requestId),
    );
    assert.equal(log.stats.unauthenticated, 6);
  });

  test('[F34] a store that fails is tried again with the same batch, and what came meanwhile', async () => {
    const { appender, log } = writer();
    appender.failing = new Error('disk full');
    const [first, second] = [requestRecord(), requestRecord()];
    const refused = appender.next();
    log.finished(first);
    await refused;
    log.finished(second);
    appender.failing = null;
    await appender.next();
    await log.close();
    assert.deepEqual(appender.ids, [first.requestId, second.requestId]);
    assert.equal(log.stats.failures, 1);
  });

  test('what a store does not take at the end is tried again: a neighbour that ends too may be in the way', async () => {
    const { appender, log } = writer();
    const record = requestRecord();
    log.finished(record);
    appender.failing = new Error('database is locked');
    const refused = appender.next();
    const closed = log.close();
    await refused;
    appender.failing = null;
    await closed;
    assert.deepEqual(appender.ids, [record.requestId]);
    assert.equal(log.stats.buffered, 0);
  });

  test('[F34] a store that hangs costs bounded memory: what is too much is dropped and counted, and the end does not wait', async () => {
    const { appender, log } = writer();
    appender.hanging = true;
    const record = requestRecord();
    for (let i = 0; i < BUFFERED_RECORDS_MAX + 500; i++) log.finished(record);
    assert.equal(log.stats.buffered, BUFFERED_RECORDS_MAX);
    assert.equal(log.stats.dropped, 500);
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const closed = log.close();
      await new Promise((resolve) => setImmediate(resolve));
      mock.timers.tick(2_000);
      await closed;
    } finally {
      mock.timers.reset();
    }
  });

  test('[F34] long records wait in bounded memory too, in which there is room again when they are stored', async () => {
    const { appender, log } = writer();
    appender.failing = new Error('disk full');
    const refused = appender.next();
    const long = (): RequestRecord => requestRecord({ change: (record) => (record.message = 'x'.repeat(1024 ** 2)) });
    const fitting = BUFFERED_BYTES_MAX / (2 * 1024 ** 2);
    for (let i = 0; i < fitting; i++) log.finished(long());
    assert.deepEqual([log.stats.buffered, log.stats.dropped], [fitting, 0]);
    for (let i = 0; i < 3; i++) log.finished(long());
    log.finished(requestRecord());
    assert.deepEqual([log.stats.buffered, log.stats.dropped], [fitting, 4]);
    await refused;
    log.finished(requestRecord());
    assert.equal(log.stats.dropped, 5, 'a batch that was not taken still waits');
    appender.failing = null;
    while (log.stats.written < fitting) await appender.next();
    for (let i = 0; i < fitting; i++) log.finished(long());
    await log.close();
    assert.deepEqual([log.stats.written, log.stats.dropped], [2 * fitting, 5]);
  });

  test('what was captured goes with its record; beyond what may wait, the record goes without', async () => {
    const appender = new TestAppender();
    const log = new RequestLogWriter({ appender, log: NO_LOG, enabled: () => true, captureBytesMax: 25 });
    const records = Array.from({ length: 3 }, () => requestRecord());
    for (const record of records) {
      record.capture = new Capture(7);
      record.capture.received(Buffer.from('asked'));
      record.capture.wrote(Buffer.from('given'));
      log.finished(record);
    }
    await log.close();
    assert.equal(appender.ids.length, 3);
    assert.deepEqual(
      appender.captured.map(({ id, cut }) => [id, cut]),
      records.slice(0, 2).map(({ requestId }) => [requestId, false]),
    );
    assert.equal(log.stats.capturesDropped, 1);
  });

  test('what is captured of either side is bounded, and says so', () => {
    const capture = new Capture(7);
    capture.received(Buffer.alloc(CAPTURED_BYTES_MAX));
    capture.wrote(Buffer.alloc(CAPTURED_BYTES_MAX - 1, 'a'));
    assert.equal(capture.cut, false);
    capture.wrote(Buffer.from('bc'));
    capture.wrote(Buffer.from('d'));
    assert.equal(capture.cut, true);
    assert.deepEqual([capture.bytes, String(capture.response.subarray(-2))], [2 * CAPTURED_BYTES_MAX, 'ab']);
    const long = new Capture(7);
    long.received(Buffer.alloc(CAPTURED_BYTES_MAX + 1));
    assert.deepEqual([long.cut, long.request.length], [true, CAPTURED_BYTES_MAX]);
  });

  test('requests without a known key are counted, and one of them is stored', async () => {
    const { appender, log } = writer();
    for (let i = 0; i < 50; i++)
      log.finished(requestRecord({ keyId: null, status: 401, condition: 'invalid_credentials' }));
    await log.close();
    assert.equal(log.stats.unauthenticated, 50);
    assert.equal(appender.ids.length, 1);
  });

  test('stores nothing where it is switched off', async () => {
    const { appender, log } = writer(new TestAppender(), false);
    log.finished(requestRecord());
    await log.close();
    assert.deepEqual(appender.batches, []);
  });
});

/** One with something in every field. */
function fullRecord(): RequestRecord {
  const record = requestRecord({ providers: ['one', 'two'], costNanos: 77n });
  const [first] = record.attempts;
  assert.ok(first);
  Object.assign(first, {
    startedAt: record.receivedAt + 1.25,
    status: 500,
    condition: 'upstream_error',
    message: 'no',
  });
  Object.assign(record, {
    keyLabel: 'a "quoted" label\nwith a line end',
    model: null,
    accountId: 'acc_1',
    clientRequestId: 'mine',
    userAgent: 'agent',
    clientAddress: '10.0.0.1',
    message: 'failed',
    providerCostNanos: 70n,
    flag: 'unreported',
    firstByteAt: record.receivedAt + 3,
    firstContentAt: record.receivedAt + 4,
    lastByteAt: record.receivedAt + 5,
    settledAt: record.receivedAt + 6,
    mode: 'credit',
    streamed: true,
    idempotency: 'fresh',
    held: 2n ** 60n,
    charged: 77n,
    settlement: 'charge',
    rate: { limit: 10, remaining: 3, resetMs: 5 },
    skipped: [{ target: { provider: 'three', upstreamModel: 'm', format: 'chat', weight: 1 }, reason: 'cooling' }],
    warnings: ['left out'],
    usage: {
      source: 'reported',
      tokens: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cacheWrite1h: 5, reasoning: 6 },
    },
    admittedAt: record.receivedAt + 2,
    bytesIn: 10,
    bytesOut: 20,
    chunks: 3,
    clientClosed: true,
    stopped: 'client_gone',
    pricing: {
      per: 1_000n,
      tiers: [
        { fromInputTokens: 0, rates: { input: 9n, output: 9n, cacheRead: 9n, cacheWrite: 9n, cacheWrite1h: 9n } },
        {
          fromInputTokens: 13,
          rates: { input: 1n, output: 2n ** 60n, cacheRead: 3n, cacheWrite: 4n, cacheWrite1h: 5n },
        },
      ],
    },
  });
  return record;
}

/** As release 0.2 stored it. */
const STORED_BY_0_2 = String.raw`["chat","chat","a \"quoted\" label\nwith a line end","credit",0,1,"fresh","mine","agent","10.0.0.1","failed","client_gone",1,[["one","m","chat","passthrough",1,"running",0,1250,null,null,500,null,"upstream_error","no",null],["two","m","chat","passthrough",1,"running",0,null,null,null,null,null,null,null,null]],[10,3],[["three","m","cooling"]],["left out"],"1152921504606846976","charge",77,["reported",1,2,3,4,5,6],70,"unreported",2000,3000,4000,5000,6000,10,20,3,[1000,1,"1152921504606846976",3,4,5],"acc_1"]`;

describe('what is stored of a request', () => {
  test('comes back as it was', () => {
    const record = fullRecord();
    const view = viewOf(entryOf(record));
    assert.equal(view.key_label, record.keyLabel);
    assert.deepEqual([view.endpoint, view.format, view.streamed, view.idempotency], ['chat', 'chat', true, 'fresh']);
    assert.deepEqual(
      [view.held, view.charged, view.cost_nanos, view.settlement],
      [String(2n ** 60n), '77', '77', 'charge'],
    );
    assert.deepEqual(view.rate, { limit: 10, remaining: 3 });
    assert.deepEqual(view.skipped, [{ provider: 'three', model: 'm', reason: 'cooling' }]);
    assert.deepEqual(view.warnings, ['left out']);
    assert.deepEqual(view.usage, {
      source: 'reported',
      input: 1,
      output: 2,
      cache_read: 3,
      cache_write: 4,
      cache_write_1h: 5,
      reasoning: 6,
    });
    assert.deepEqual([view.admitted_ms, view.bytes_in, view.bytes_out, view.chunks], [2, 10, 20, 3]);
    assert.deepEqual([view.client_closed, view.stopped], [true, 'client_gone']);
    assert.deepEqual(
      view.prices,
      { per: '1000', input: '1', output: String(2n ** 60n), cache_read: '3', cache_write: '4', cache_write_1h: '5' },
      'of the tier that its 13 tokens of input are in',
    );
    assert.deepEqual(
      [view.attempts[0]?.started_ms, view.attempts[0]?.status, view.attempts[1]?.provider],
      [1.25, 500, 'two'],
    );
  });

  test('is text that every store takes, whatever clients and providers send', () => {
    const hostile = 'a\0b\ud800c"\'\u202e\n';
    const record = requestRecord({ model: hostile });
    Object.assign(record, { userAgent: hostile, clientRequestId: hostile, message: hostile });
    const entry = entryOf(record);
    assert.ok(entry.detail.isWellFormed() && entry.model?.isWellFormed());
    assert.equal(`${entry.detail}${entry.model}`.includes('\0'), false);
    assert.equal(viewOf(entry).user_agent?.includes('\0'), false);
  });

  test('begins with what release 0.2 wrote and reads, so that the two can share a log', () => {
    const [stored, before] = [entryOf(fullRecord()).detail, STORED_BY_0_2].map((text) => JSON.parse(text) as unknown[]);
    assert.ok(stored && before && stored.length >= before.length);
    assert.deepEqual(stored.slice(0, before.length), before);
  });

  test('of an earlier release has nothing where a later one has more', () => {
    const view = viewOf({ ...entryOf(requestRecord()), detail: '["chat"]' });
    assert.deepEqual([view.endpoint, view.attempts, view.usage, view.bytes_in], ['chat', [], null, 0]);
  });
});
