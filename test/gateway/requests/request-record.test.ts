/** What observers are told of a request: once, at its end, whatever the end was. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';
import type { RequestRecord } from '../../../src/core/request-record.ts';
import { RecordedRequests } from '../../support/recorded-requests.ts';
import { ask, ClientStream, type ScriptedGateway, scriptedGateway, streamed } from '../../support/scripted-gateway.ts';
import { call } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const recorded = new RecordedRequests();
const SECRET_TEXT = 'my grandmother keeps her savings under the third flagstone';
let scripted: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  scripted = await scriptedGateway({
    servers: 2,
    routing: { max_attempts: 2, cache_affinity: false },
    timeouts: { first_byte: 4 },
    // A text beyond it is counted in no time.
    model: { context_window: 20_000 },
    observers: [recorded],
  });
  key = await scripted.gateway.creditKey({ label: 'team blue', rpm_limit: 10_000 });
});
after(async () => {
  await scripted.gateway[Symbol.asyncDispose]();
  await Promise.all(scripted.servers.map((server) => server.close()));
  const ids = recorded.ended.map(({ requestId }) => requestId);
  assert.equal(new Set(ids).size, ids.length, 'each request ends once');
  assert.deepEqual(
    recorded.ended.filter(({ body }) => body !== null),
    [],
    'no body is kept',
  );
});

/** What is answered to bytes that no HTTP client would send. */
async function rawAnswer(origin: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.end(bytes);
  return textOf(socket);
}

/** What a plain request with these answers, one for each attempt, is recorded as. */
async function recordOf(
  answers: readonly ((call: ScriptedCall) => void)[],
  extra: object = {},
): Promise<RequestRecord> {
  const rest = [...answers];
  for (const server of scripted.servers) {
    server.answer = (upstream) => (rest.shift() ?? (() => upstream.reset()))(upstream);
  }
  const answer = await ask(key, 'chat', extra);
  return recorded.of(String(answer.headers['x-request-id']));
}

const whole = (upstream: ScriptedCall): void =>
  upstream.reply(200, SPEECH.chat.whole('Hi'), { 'x-request-id': 'prov-77' });
const refuse =
  (status: number, message = 'no') =>
  (upstream: ScriptedCall): void =>
    upstream.reply(status, { error: { message } });

describe('a request that succeeds', () => {
  test('has its times in order, what was held and charged, and its one attempt', async () => {
    const record = await recordOf([whole]);
    assert.deepEqual(
      [record.keyId, record.keyLabel, record.mode, record.endpoint, record.format, record.model, record.streamed],
      [key.id, 'team blue', 'credit', 'chat', 'chat', 'tested', false],
    );
    assert.deepEqual([record.status, record.condition, record.message, record.stopped], [200, null, null, null]);
    assert.deepEqual([record.settlement, record.idempotency, record.clientClosed], ['charge', 'none', false]);
    assert.equal(record.usage?.source, 'reported');
    assert.deepEqual([record.usage?.tokens.input, record.usage?.tokens.output], [INPUT_TOKENS, OUTPUT_TOKENS]);
    assert.ok(record.charged !== null && record.charged > 0n && record.charged === record.costNanos);
    assert.ok(record.held !== null && record.held >= record.charged);
    assert.ok(record.bytesIn > 0 && record.bytesOut > 0);
    const [attempt] = record.attempts;
    assert.equal(record.attempts.length, 1);
    assert.ok(attempt);
    assert.deepEqual(
      [attempt.provider, attempt.upstreamModel, attempt.credential, attempt.outcome, attempt.status, attempt.lane],
      ['one', UPSTREAM_MODEL, 1, 'complete', 200, 'passthrough'],
    );
    assert.equal(attempt.providerRequestId, 'prov-77');
    const times = [
      record.receivedAt,
      record.admittedAt,
      attempt.startedAt,
      attempt.firstByteAt,
      attempt.endedAt,
      record.settledAt,
      record.lastByteAt,
      record.endedAt,
    ];
    assert.deepEqual(
      times.filter((time) => time === null),
      [],
    );
    assert.deepEqual(
      times,
      [...times].sort((a, b) => Number(a) - Number(b)),
    );
  });

  test('of a stream: the first content and the number of pieces', async () => {
    const { opening, text, closing } = SPEECH.chat;
    const record = await recordOf([(upstream) => upstream.stream([...opening, text('Hi'), ...closing])], {
      stream: true,
    });
    assert.equal(record.streamed, true);
    assert.ok(record.firstContentAt !== null && record.chunks > 0);
    assert.ok(Number(record.firstByteAt) <= Number(record.lastByteAt));
  });

  for (const format of FORMAT_NAMES) {
    test(`of a ${format} stream: its opening is not its first content`, async () => {
      const { opening, text, closing } = SPEECH[format];
      const upstream = Promise.withResolvers<ScriptedCall>();
      for (const server of scripted.servers) server.answer = upstream.resolve;
      const client = streamed(key, format);
      const at = await upstream.promise;
      at.streamHead();
      for (const frame of opening) at.chunk(frame);
      const id = String((await client.begun).headers['x-request-id']);
      await client.until(/data: /);
      const running = recorded.begun.find(({ requestId }) => requestId === id);
      assert.ok(running);
      assert.deepEqual([running.firstByteAt === null, running.firstContentAt], [false, null]);
      at.chunk(text('Hi'));
      await client.until(/Hi/);
      assert.ok(Number(running.firstContentAt) > Number(running.firstByteAt));
      assert.ok(running.openingChunks >= 1 && running.openingChunks < running.chunks);
      for (const frame of closing) at.chunk(frame);
      at.finish();
      await recorded.of(id);
    });
  }

  test('of a stream without any text: its end counts as the first content', async () => {
    const { opening, closing } = SPEECH.chat;
    const record = await recordOf([(upstream) => upstream.stream([...opening, ...closing])], { stream: true });
    assert.deepEqual([record.status, record.condition], [200, null]);
    assert.ok(record.firstContentAt !== null);
  });

  test('was announced when its key was known', async () => {
    const record = await recordOf([whole]);
    assert.equal(recorded.begun.filter((begun) => begun === record).length, 1);
  });

  test('has the cut texts of the client, whatever they hold', async () => {
    const id = `id-${'x'.repeat(500)}`;
    scripted.first.answer = whole;
    const headers = { 'x-request-id': id, 'user-agent': 'agent "quoted" {"a":1}', traceparent: '00-ab-cd-01' };
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({}), headers).read();
    const record = await recorded.of(String((await client.begun).headers['x-request-id']));
    assert.equal(record.clientRequestId, id.slice(0, 200));
    assert.equal(record.userAgent, headers['user-agent']);
    assert.equal(record.traceparent, headers.traceparent);
  });

  test("has the client's own id from X-Client-Request-Id, too, as coding agents send it", async () => {
    scripted.first.answer = whole;
    const headers = { 'x-client-request-id': 'mine' };
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({}), headers).read();
    const record = await recorded.of(String((await client.begun).headers['x-request-id']));
    assert.equal(record.clientRequestId, 'mine');
  });

  test('says what came of its Idempotency-Key', async () => {
    scripted.first.answer = whole;
    const outcomes: string[] = [];
    for (const content of ['a', 'a', 'b']) {
      const body = SPEECH.chat.request({ messages: [{ role: 'user', content }] });
      const client = new ClientStream(key, 'chat', body, { 'idempotency-key': 'same' }).read();
      outcomes.push((await recorded.of(String((await client.begun).headers['x-request-id']))).idempotency);
    }
    assert.deepEqual(outcomes, ['fresh', 'replay', 'conflict']);
  });
});

describe('a request that other endpoints serve', () => {
  test('is recorded too', async () => {
    const seen: (string | null)[] = [];
    for (const name of ['models', 'usage', 'count_tokens'] as const) {
      const { path, method } = ENDPOINTS[name];
      const body = method === 'POST' ? { body: { model: 'tested', messages: [{ role: 'user', content: 'x' }] } } : {};
      const response = await call(key.origin + path, { method, key: key.key, ...body });
      const record = await recorded.of(response.headers.get('x-request-id'));
      assert.deepEqual([record.status, record.keyId, record.held], [200, key.id, null]);
      seen.push(record.endpoint);
    }
    assert.deepEqual(seen, ['models', 'usage', 'count_tokens']);
  });
});

describe('a request that is refused before admission', () => {
  const cases: readonly [string, object, string, number][] = [
    ['a body that is not valid', { temperature: 'hot' }, 'invalid_request', 400],
    ['a model that is not there', { model: 'unknown/one' }, 'model_not_found', 404],
    [
      'an input beyond the window',
      { messages: [{ role: 'user', content: 'word '.repeat(30_000) }] },
      'context_length_exceeded',
      400,
    ],
  ];
  for (const [name, extra, condition, status] of cases) {
    test(name, async () => {
      const record = await recordOf([], extra);
      assert.deepEqual([record.condition, record.status, record.keyId], [condition, status, key.id]);
      assert.ok(record.message);
      assert.deepEqual([record.held, record.charged, record.settlement, record.attempts.length], [null, null, null, 0]);
      assert.ok(record.rate, 'it was counted');
    });
  }

  test('a model that is not in the catalog is not taken for one', async () => {
    const record = await recordOf([], { model: 'unknown/one' });
    assert.deepEqual([record.askedModel, record.model], ['unknown/one', null]);
  });

  test('the rate, and the balance', async () => {
    const limited = await scripted.gateway.creditKey({ rpm_limit: 1 });
    scripted.first.answer = whole;
    await ask(limited, 'chat');
    const rate = await recorded.of(String((await ask(limited, 'chat')).headers['x-request-id']));
    assert.deepEqual([rate.condition, rate.status, rate.rate?.limit], ['rate_limit_exceeded', 429, 1]);
    const poor = await scripted.gateway.creditKey({ credit: '0.000001' });
    const balance = await recorded.of(String((await ask(poor, 'chat')).headers['x-request-id']));
    assert.deepEqual([balance.condition, balance.status, balance.model], ['insufficient_credit', 402, 'tested']);
  });

  test('what comes to no endpoint is observed like the others', async () => {
    const { origin } = key;
    const before = Date.now();
    for (const [path, method, status, condition] of [
      ['/nowhere', 'GET', 404, 'not_found'],
      ['/v1/chat/completions', 'GET', 405, 'method_not_allowed'],
      ['/healthz', 'POST', 405, 'method_not_allowed'],
    ] as const) {
      const headers = { 'user-agent': 'lost', 'x-request-id': 'mine' };
      const response = await fetch(`${origin}${path}`, { method, headers });
      const record = await recorded.of(String(response.headers.get('x-request-id')));
      assert.deepEqual([response.status, record.status, record.condition], [status, status, condition]);
      assert.deepEqual([record.endpoint, record.keyId, record.bytesOut > 0], [null, null, true]);
      assert.deepEqual([record.userAgent, record.clientRequestId], ['lost', 'mine']);
      assert.ok(record.receivedAtMs >= before);
    }
    const malformed = await rawAnswer(origin, 'GET / HTTP/1.1\r\nhost: x\r\nbad\u0001name: y\r\n\r\n');
    const record = await recorded.of(/x-request-id: (\S+)/i.exec(malformed)?.[1] ?? '');
    assert.deepEqual(
      [record.status, record.condition, record.message],
      [400, 'invalid_request', 'The request is not valid HTTP.'],
    );
  });

  test('a key that may not be used is named; one that is not known leaves no key', async () => {
    const disabled = await scripted.gateway.creditKey();
    await scripted.gateway.admin.changeKey(disabled.id, { status: 'disabled' });
    const known = await recorded.of(String((await ask(disabled, 'chat')).headers['x-request-id']));
    assert.deepEqual([known.keyId, known.condition], [disabled.id, 'key_disabled']);
    const stranger = { ...key, key: `${key.key.slice(0, -1)}_` };
    const unknown = await recorded.of(String((await ask(stranger, 'chat')).headers['x-request-id']));
    assert.deepEqual([unknown.keyId, unknown.condition, unknown.status], [null, 'invalid_credentials', 401]);
    assert.equal(recorded.begun.includes(unknown), false);
  });
});

describe('a request whose provider fails', () => {
  test('has every attempt, with what the provider said of itself', async () => {
    const record = await recordOf([refuse(401), whole]);
    assert.deepEqual(
      record.attempts.map(({ provider, outcome, status, condition }) => [provider, outcome, status, condition]),
      [
        ['one', 'failed', 401, 'upstream_error'],
        ['two', 'complete', 200, null],
      ],
    );
    assert.match(record.attempts[0]?.message ?? '', /refused the credential/);
    assert.deepEqual([record.status, record.condition], [200, null]);
  });

  test('a target that was not asked in its turn is named with the reason', async () => {
    // The credential of the first provider rests since the test before.
    const record = await recordOf([refuse(500), refuse(500)]);
    assert.equal(record.condition, 'upstream_error');
    assert.deepEqual([record.settlement, record.charged], ['void', null]);
    assert.ok(record.settledAt !== null);
    assert.deepEqual(
      record.skipped.map(({ target, reason }) => [target.provider, reason]),
      [['one', 'cooling']],
    );
    assert.deepEqual(
      record.attempts.map(({ provider }) => provider),
      ['two', 'one'],
    );
  });

  test("the provider's own words are not kept", async () => {
    const message = `Invalid 'messages[0]': '${SECRET_TEXT.slice(0, 20)}' is odd; we saw ${SECRET_TEXT} and more. ${'z'.repeat(900)}`;
    const record = await recordOf([refuse(400, message)], { messages: [{ role: 'user', content: `${SECRET_TEXT}.` }] });
    for (const text of [record.message, record.attempts.at(-1)?.message]) {
      assert.match(String(text), /^The provider refused the request \(status 400\)[\w:, ]*\.$/);
    }
  });

  test('a stream that breaks has its condition in-band, with the status 200', async () => {
    const { opening, text } = SPEECH.chat;
    const breaking = (upstream: ScriptedCall): void => {
      upstream.streamHead();
      for (const frame of [...opening, text('Hi')]) upstream.chunk(frame);
      upstream.chunk(SPEECH.chat.overloaded);
    };
    const record = await recordOf([breaking], { stream: true });
    assert.deepEqual([record.status, record.condition, record.settlement], [200, 'provider_unavailable', 'charge']);
    assert.ok(record.charged);
  });

  test('a client that goes away leaves a cancelled request', async () => {
    const { opening, text } = SPEECH.chat;
    const upstream = Promise.withResolvers<ScriptedCall>();
    for (const server of scripted.servers) server.answer = upstream.resolve;
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true })).read();
    const at = await upstream.promise;
    at.streamHead();
    for (const frame of [...opening, text('Hi')]) at.chunk(frame);
    await client.until(/Hi/);
    const next = recorded.next();
    client.close();
    const record = await next;
    assert.deepEqual([record.stopped, record.clientClosed, record.condition], ['client_gone', true, null]);
    assert.deepEqual([record.attempts.at(-1)?.outcome, record.settlement], ['stopped', 'charge']);
  });
});
