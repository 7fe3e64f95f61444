/** Whatever is thrown while an answer is read ends the attempt with a value: nothing is left held, no callback throws. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAIN_NETWORK } from '../../src/core/provider.ts';
import { AttemptRecord } from '../../src/core/request-record.ts';
import { Attempt } from '../../src/exchange/attempt.ts';
import type { AttemptOptions } from '../../src/exchange/attempt-options.ts';
import type { ResponseSink } from '../../src/exchange/response-sink.ts';
import type { UpstreamHandle } from '../../src/provider/upstream.ts';
import type { Lane, LaneStep, LaneStream } from '../../src/wire/lane.ts';

const METER = { reported: null, reportedFinal: false, outputBytes: 5 };
const CONTENT = Buffer.from('data: {}\n\n');
const OPEN: LaneStep = { forward: CONTENT, state: 'open', failure: null };

const TARGET = { provider: 'p', upstreamModel: 'm', format: 'chat', weight: 1 } as const;

/** A client that takes everything. */
function responseSink(): ResponseSink & { readonly written: Buffer[] } {
  const written: Buffer[] = [];
  let headersSent = false;
  return {
    written,
    get headersSent() {
      return headersSent;
    },
    closed: false,
    onClose: () => {},
    writeHead: () => {
      headersSent = true;
    },
    write: (bytes) => written.push(bytes) > 0,
    onDrain: () => {},
    end: () => {},
    destroy: () => {},
    send: () => {},
    replay: () => {},
  };
}

function thrown(): never {
  throw new TypeError('a fault of this program');
}

interface Tried {
  readonly attempt: Attempt;
  readonly faults: unknown[];
  /** What the client had been given when the attempt said that the first content was on its way. */
  readonly sent: number[];
  aborted(): boolean;
}

function tried(stream: Partial<LaneStream>): Tried {
  const faults: unknown[] = [];
  const sent: number[] = [];
  const response = responseSink();
  let aborted = false;
  const lane: Lane = {
    kind: 'translate',
    requestBody: thrown,
    whole: thrown,
    stream: () => ({
      push: () => OPEN,
      cover: () => {},
      uncovered: false,
      uncoveredBytes: 0,
      letOut: thrown,
      end: thrown,
      terminal: thrown,
      meter: () => METER,
      outputBytes: METER.outputBytes,
      ...stream,
    }),
  };
  const options: AttemptOptions = {
    call: {
      via: 'http',
      destination: { origin: 'http://127.0.0.1:9', path: '/', headers: {}, network: PLAIN_NETWORK },
      body: CONTENT,
      timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    },
    lane,
    stream: true,
    response,
    recorder: null,
    keepAlive: CONTENT,
    streams: { totalMs: 0, keepAliveMs: 0, headersWaitMs: 0, holdWaitMs: 0 },
    secrets: () => [],
    onProof: () => {},
    onFirstContent: () => {},
    onContentSent: () => sent.push(response.written.length),
    record: new AttemptRecord(TARGET, 'translate', 0, 0),
    onEnd: () => {},
    onFault: (error) => faults.push(error),
    elastic: null,
    cutShort: thrown,
  };
  const handle: UpstreamHandle = {
    pause: () => {},
    resume: () => {},
    abort: () => {
      aborted = true;
    },
  };
  const attempt = new Attempt(options);
  attempt.start({ send: () => handle });
  attempt.onHeaders(200, { contentType: 'text/event-stream', retryAfter: null, requestId: null });
  return { attempt, faults, sent, aborted: () => aborted };
}

describe('a fault while an answer is read', () => {
  test('[F17] before any content: the attempt fails and nothing is owed', async () => {
    const { attempt, faults, aborted } = tried({ push: thrown });
    attempt.onData(CONTENT);
    const end = await attempt.ended;
    assert.ok(end.kind === 'failed');
    assert.deepEqual([end.condition, end.meter], ['upstream_error', null]);
    assert.equal(faults.length, 1);
    assert.equal(aborted(), true);
  });

  test('[R50] after content: the attempt fails and what was produced is owed', async () => {
    const { attempt, faults } = tried({});
    attempt.onData(CONTENT);
    attempt.onEnd();
    const end = await attempt.ended;
    assert.ok(end.kind === 'failed');
    assert.deepEqual([end.condition, end.meter], ['upstream_error', { ...METER, sample: null }]);
    assert.equal(faults.length, 1);
  });

  test('[R50] when the connection breaks after content', async () => {
    const { attempt, faults } = tried({});
    attempt.onData(CONTENT);
    attempt.onFailure({ kind: 'broken', message: 'the connection to the provider broke' });
    const end = await attempt.ended;
    assert.ok(end.kind === 'failed');
    assert.deepEqual(end.meter, { ...METER, sample: null });
    assert.equal(faults.length, 1);
  });
});

test('the first content is on its way when that is told, once: a background run knows only then that it was seen', () => {
  const { attempt, sent } = tried({});
  attempt.onData(CONTENT);
  attempt.onData(CONTENT);
  assert.deepEqual(sent, [1]);
});
