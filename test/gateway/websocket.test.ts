/** WebSocket on `/v1/responses`: every `response.create` is a request like one over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { type ClientOptions, WebSocket } from 'ws';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { RequestRecord } from '../../src/core/request-record.ts';
import { rawCall, readError, say, usage } from '../support/requests.ts';
import { refusedHandshake, SocketClient, webSocketOf } from '../support/socket-client.ts';
import { call, startedGateway, withGateway } from '../support/started-gateway.ts';

const ended: RequestRecord[] = [];
const observers = [{ started: () => {}, finished: (record: RequestRecord) => void ended.push(record) }];
const gateway = await withGateway({ config: 'limits: { count_wait: 300, websockets_per_key: 3 }', observers });

const keyOf = {
  credit: (input = {}) => gateway.creditKey(input),
  token_budget: (input = {}) => gateway.tokenKey(input),
} as const;
const MODES = ['credit', 'token_budget'] as const;

describe('[R80] a response over a WebSocket', () => {
  for (const mode of MODES) {
    test(`${mode}: has the events of the stream over HTTP, and its charge`, async () => {
      const [key, other] = [await keyOf[mode](), await keyOf[mode]()];
      await using client = await SocketClient.open(key);
      const events = await client.create('Hello').answer();
      const body = { model: 'sandbox/alpha', input: 'Hello', stream: true };
      const streamed = await (await call(`${other.origin}/v1/responses`, { key: other.key, body })).text();
      const types = [...streamed.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
      assert.deepEqual(
        events.map(({ type }) => type),
        types,
      );
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_, index) => index),
      );
      const [mine, theirs] = [await usage(key), await usage(other)];
      assert.deepEqual([mine.credits, mine.tokens, mine.requests], [theirs.credits, theirs.tokens, theirs.requests]);
    });
  }

  test('each is a request of its own: an id, a record, a charge; and the connection has one, too', async () => {
    const key = await gateway.creditKey();
    const before = ended.length;
    await using client = await SocketClient.open(key, { headers: { 'user-agent': 'tried/1' } });
    await client.create('One').completed();
    await client.create('Two').completed();
    const records = ended.slice(before).filter(({ keyId }) => keyId === key.id);
    assert.deepEqual(
      records.map(({ status, endpoint, model, settlement, userAgent }) => [
        status,
        endpoint,
        model,
        settlement,
        userAgent,
      ]),
      [
        [101, 'responses', null, null, 'tried/1'],
        [200, 'responses', 'sandbox/alpha', 'charge', 'tried/1'],
        [200, 'responses', 'sandbox/alpha', 'charge', 'tried/1'],
      ],
    );
    assert.equal(new Set(records.map(({ requestId }) => requestId)).size, 3);
    assert.equal((await usage(key)).requests.total, 2);
  });

  test('translated ones and those that are passed through work alike', async () => {
    await using client = await SocketClient.open(await gateway.creditKey());
    for (const model of ['sandbox/alpha', 'sandbox/beta']) {
      const { output, usage: used } = await client.create('Hello', { model }).completed();
      assert.ok(output.some(({ type }) => type === 'message'));
      assert.ok((used?.output_tokens ?? 0) > 0);
    }
  });

  test('they run one after the other, eight wait, and a ninth is an error event that names its lane', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    for (let lane = 0; lane <= 10; lane++) client.create('[[tokens=5]] [[delay=40]]', { stream_id: `lane ${lane}` });
    const seen: string[] = [];
    const refused: unknown[] = [];
    while (seen.filter((name) => name.endsWith('completed')).length < 9) {
      const { type, stream_id, status, error } = await client.next();
      if (type === 'error') refused.push([stream_id, status, error?.code]);
      else if (seen.at(-1) !== `${stream_id} ${type}`) seen.push(`${stream_id} ${type}`);
    }
    assert.deepEqual(refused, [
      ['lane 9', 429, 'rate_limit_exceeded'],
      ['lane 10', 429, 'rate_limit_exceeded'],
    ]);
    const lanes = seen.map((name) => Number(/\d+/.exec(name)?.[0]));
    assert.deepEqual(
      lanes,
      lanes.toSorted((a, b) => a - b),
    );
    assert.equal((await usage(key)).requests.total, 9);
  });

  test('what can only be said of a request over HTTP is refused by name, and the connection goes on', async () => {
    await using client = await SocketClient.open(await gateway.creditKey());
    const refusals = [
      [{ type: 'response.create', model: 'sandbox/alpha', input: 'Hi', background: true }, 'background'],
      [{ type: 'response.create', model: 'sandbox/alpha', input: 'Hi', stream_id: 7 }, 'stream_id'],
      [{ type: 'response.create', model: 'sandbox/alpha', input: 'Hi', generate: 'no' }, 'generate'],
      [{ type: 'response.create', model: 'sandbox/alpha' }, 'input'],
      [{ type: 'session.update' }, 'type'],
      [{}, 'type'],
      ['[]', null],
      ['not JSON', null],
      ['{"type": "response.create", "input": "a", "input": "b", "model": "sandbox/alpha"}', 'input'],
    ] as const;
    for (const [event, param] of refusals) {
      const error = await client.send(event).refused();
      assert.deepEqual([error.status, error.code, error.param], [400, 'invalid_request', param], JSON.stringify(event));
    }
    client.webSocket.send(Buffer.from('{}'), { binary: true });
    assert.equal((await client.refused()).code, 'invalid_request');
    const unknown = await client.create('Hi', { model: 'no/such' }).refused();
    assert.deepEqual([unknown.status, unknown.code, unknown.param], [404, 'model_not_found', 'model']);
    await client.create('Hi', { background: false, stream: false }).completed();
  });

  test('steering is answered with what was sent', async () => {
    await using client = await SocketClient.open(await gateway.creditKey());
    const input = [{ role: 'user', content: 'Rather in French' }];
    const event = await client.send({ type: 'response.steer', previous_response_id: 'resp_1', input }).next();
    assert.equal(event.type, 'response.steer.failed');
    assert.equal(event.error?.code, 'steering_not_supported');
    assert.deepEqual(event.steer, { input, previous_response_id: 'resp_1' });
  });

  test('each takes its place in the rate limit, and an error event says for how long to wait', async () => {
    const key = await gateway.creditKey({ rpm_limit: 2 });
    await using client = await SocketClient.open(key);
    await client.create('One').completed();
    assert.equal((await client.send('{}').refused()).code, 'invalid_request');
    const event = await client.create('Three').next();
    assert.deepEqual([event.status, event.error?.code], [429, 'rate_limit_exceeded']);
    const { 'retry-after': retryAfter, 'x-request-id': requestId } = event.headers as Record<string, string>;
    assert.ok(Number(retryAfter) > 0 && Number(retryAfter) <= 60);
    assert.ok(ended.some((record) => record.requestId === requestId && record.condition === 'rate_limit_exceeded'));
  });

  test('a steer takes its place in the rate limit, too', async () => {
    const key = await gateway.creditKey({ rpm_limit: 2 });
    await using client = await SocketClient.open(key);
    const steer = { type: 'response.steer', previous_response_id: 'resp_1', input: 'Rather in French' };
    assert.equal((await client.send(steer).next()).type, 'response.steer.failed');
    assert.equal((await client.send(steer).next()).type, 'response.steer.failed');
    assert.equal((await client.send(steer).refused()).code, 'rate_limit_exceeded');
    assert.equal((await client.create('Hello').refused()).code, 'rate_limit_exceeded');
  });

  test('[F26] a key that is disabled meanwhile is refused with the next request', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    await client.create('One').completed();
    await gateway.admin.changeKey(key.id, { status: 'disabled' });
    const error = await client.create('Two').refused();
    assert.deepEqual([error.status, error.code], [403, 'key_disabled']);
  });

  test('without balance it is a 402, as over HTTP', async () => {
    await using client = await SocketClient.open(await gateway.creditKey({ credit: '0' }));
    const error = await client.create('Hi').refused();
    assert.deepEqual([error.status, error.code, error.type], [402, 'insufficient_credit', 'quota_error']);
  });
});

describe('[R80] the connection remembers its latest responses', () => {
  test('also with store: false, and nobody else can continue them', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    const first = await client.create('Hello', { store: false }).completed();
    assert.equal(first.store, false);
    const previous = { store: false, previous_response_id: first.id };
    const second = await client.create('And more', previous).completed();
    assert.equal(second.previous_response_id, first.id);
    assert.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0), 'the whole input is charged');
    const third = await client.create('More', { store: false, previous_response_id: second.id }).completed();
    assert.ok((third.usage?.input_tokens ?? 0) > (second.usage?.input_tokens ?? 0));
    const item = first.output.find(({ type }) => type === 'message');
    await client.create([{ type: 'item_reference', id: item?.id }], { store: false }).completed();

    await using other = await SocketClient.open(key);
    const error = await other.create('And more', previous).refused();
    const { code, param, status } = error;
    assert.deepEqual([status, code, param], [400, 'previous_response_not_found', 'previous_response_id']);
    const overHttp = await say(key, 'responses', 'And more', previous);
    const { code: codeOverHttp } = readError(overHttp.status, overHttp.headers, await overHttp.text(), 'A');
    assert.equal(codeOverHttp, 'invalid_request');
  });

  test('one that is kept can be continued from everywhere, and one from elsewhere here', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    const first = await client.create('Hello').completed();
    assert.equal(first.store, true);
    const overHttp = await say(key, 'responses', 'More', { previous_response_id: first.id });
    const second = (await overHttp.json()) as { readonly id: string };
    const third = await client.create('More', { previous_response_id: second.id, store: false }).completed();
    const fourth = await client.create('More', { previous_response_id: third.id, store: false }).completed();
    assert.ok((fourth.usage?.input_tokens ?? 0) > (third.usage?.input_tokens ?? 0));
  });

  for (const mode of MODES) {
    test(`${mode}: generate: false gives an id, charges nothing, and can be continued`, async () => {
      const key = await keyOf[mode]();
      await using client = await SocketClient.open(key);
      const events = await client.create('Much to read', { generate: false, stream_id: 'a' }).answer();
      assert.deepEqual(
        events.map(({ type, stream_id, sequence_number }) => [type, stream_id, sequence_number]),
        [
          ['response.created', 'a', 0],
          ['response.completed', 'a', 1],
        ],
      );
      const prepared = events[1]?.response;
      assert.ok(prepared);
      assert.deepEqual([prepared.status, prepared.output, prepared.usage?.output_tokens], ['completed', [], 0]);
      const { requests, tokens, credits } = await usage(key);
      assert.deepEqual([requests.total, tokens.used, credits.used, credits.reserved], [0, 0, 0, 0]);
      const alone = await client.create([], { previous_response_id: prepared.id }).completed();
      const whole = await client.create('Much to read').completed();
      assert.equal(alone.usage?.input_tokens, whole.usage?.input_tokens);
    });
  }

  test('generate: false for a model that the key may not use is refused as a response would be', async () => {
    await using client = await SocketClient.open(await gateway.creditKey());
    const error = await client.create('Hi', { model: 'no/such', generate: false }).refused();
    assert.equal(error.code, 'model_not_found');
  });

  test('where the operator keeps no responses, a connection still remembers its own', async () => {
    await using off = await startedGateway({ config: 'responses: { store: false }' });
    await using client = await SocketClient.open(await off.creditKey());
    const first = await client.create('Hello').completed();
    assert.equal(first.store, false);
    await client.create('More', { previous_response_id: first.id }).completed();
  });
});

describe('[R80] the handshake', () => {
  const status = async (key: Pick<CreatedKey, 'origin' | 'key'>, options: ClientOptions = {}) => {
    const refused = await refusedHandshake(webSocketOf(key, options));
    return [refused.status, refused.code];
  };

  test('is refused as a request over HTTP is', async () => {
    const key = await gateway.creditKey();
    const expired = await gateway.creditKey({ expires_at: '2020-01-01T00:00:00.000Z' });
    const disabled = await gateway.creditKey();
    await gateway.admin.changeKey(disabled.id, { status: 'disabled' });
    const noCredential = { ...key, key: '' };
    assert.deepEqual(await status({ ...key, key: 'mg_c_wrong' }), [401, 'invalid_credentials']);
    assert.deepEqual(await status(noCredential), [401, 'invalid_credentials']);
    assert.deepEqual(await status(key, { headers: { 'x-api-key': key.key } }), [401, 'invalid_credentials']);
    assert.deepEqual(await status(expired), [403, 'key_expired']);
    assert.deepEqual(await status(disabled), [403, 'key_disabled']);
    assert.deepEqual(await status({ ...key, origin: `${key.origin}/token` }), [403, 'key_disabled']);
    assert.deepEqual(await status(key, { headers: { 'idempotency-key': 'once' } }), [400, 'invalid_request']);
    assert.deepEqual(await status(key, { protocolVersion: 8 }), [400, 'invalid_request']);
  });

  test('[R45] another route is a 426 with a short body, and one that is none a 404', async () => {
    const key = await gateway.creditKey();
    for (const path of ['/v1/chat/completions', '/v1/models', '/v1/responses/resp_1', '/', '/token/v1/messages']) {
      const webSocket = new WebSocket(`${gateway.origin.replace('http', 'ws')}${path}`);
      webSocket.on('error', () => {});
      const [, response] = await once(webSocket, 'unexpected-response');
      response.resume();
      assert.equal(response.statusCode, 426, path);
      assert.equal(response.headers.upgrade, 'HTTP/1.1');
    }
    assert.deepEqual(await status({ ...key, origin: `${key.origin}/nowhere` }), [404, 'not_found']);
  });

  test('a client that would rather speak HTTP/2 in clear is served as if it had not said so', async () => {
    const key = await gateway.creditKey();
    const reply = await rawCall(`${key.origin}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'sandbox/alpha', input: 'Hello' }),
      headers: [
        ['authorization', `Bearer ${key.key}`],
        ['content-type', 'application/json'],
        ['connection', 'Upgrade, HTTP2-Settings'],
        ['upgrade', 'h2c'],
        ['http2-settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
      ],
    });
    assert.equal(reply.status, 200, reply.text);
  });

  test('of one key as many as may be, and then a 429; a place is free when one closes', async () => {
    const [key, other] = [await gateway.creditKey(), await gateway.creditKey()];
    const opened = [await SocketClient.open(key), await SocketClient.open(key), await SocketClient.open(key)];
    assert.deepEqual(await status(key), [429, 'rate_limit_exceeded']);
    await (await SocketClient.open(other))[Symbol.asyncDispose]();
    const [first] = opened;
    const closed = first?.closed();
    first?.webSocket.close(1000);
    await closed;
    opened.push(await SocketClient.open(key));
    for (const client of opened) await client[Symbol.asyncDispose]();
  });

  test('of all as many as may be, and then a 503', async () => {
    await using few = await startedGateway({ config: 'limits: { websockets: 1 }' });
    const [key, other] = [await few.creditKey(), await few.creditKey()];
    await using _ = await SocketClient.open(key);
    assert.deepEqual(await status(other), [503, 'service_unavailable']);
  });
});

describe('[R80] the official SDK', () => {
  for (const mode of MODES) {
    test(`${mode}: its helper for WebSockets works unchanged`, async () => {
      const key = await keyOf[mode]();
      const client = new OpenAI({ apiKey: key.key, baseURL: `${key.origin}/v1` });
      const socket = new ResponsesWS(client, { reconnect: null });
      try {
        let text = '';
        socket.on('response.output_text.delta', ({ delta }) => {
          text += delta;
        });
        const failed = Promise.withResolvers<never>();
        socket.on('error', (error) => failed.reject(error));
        const completed = (): Promise<{ readonly response: { readonly id: string } }> =>
          Promise.race([new Promise((resolve) => socket.once('response.completed', resolve)), failed.promise]) as never;
        socket.send({ type: 'response.create', model: 'sandbox/alpha', input: 'Hello', store: false });
        const { response } = await completed();
        assert.match(text, /Simulated answer/);
        socket.send({
          type: 'response.create',
          model: 'sandbox/alpha',
          input: 'And more',
          store: false,
          previous_response_id: response.id,
        });
        await completed();
        socket.send({ type: 'response.create', model: 'no/such', input: 'Hello' });
        const error = await failed.promise.catch((reason: unknown) => reason);
        assert.match(String(error), /no\/such/);
        assert.equal((await usage(key)).requests.total, 2);
      } finally {
        socket.close();
      }
    });
  }
});
