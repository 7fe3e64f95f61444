/** Requests that are refused before any work: too large, not JSON, no such route or method, a wrong field. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import {
  auditClean,
  bodyOf,
  errorReply,
  POSTS,
  rawBytes,
  rawCall,
  readError,
  refusal,
  say,
  visit,
} from '../support/requests.ts';
import { COUNTS_EXACTLY, call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';

const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

describe('requests that reach no work', () => {
  const BODY_BYTES = 4_096;
  const logged: object[] = [];
  let gateway: StartedGateway;
  let credit: CreatedKey;
  let budget: CreatedKey;

  before(async () => {
    const log: Log = { ...NO_LOG, access: (fields) => logged.push(fields) };
    gateway = await startedGateway({ config: `limits: { body_bytes: ${BODY_BYTES} }`, log });
    credit = await gateway.creditKey();
    budget = await gateway.tokenKey();
  });

  after(() => gateway[Symbol.asyncDispose]());

  for (const chunked of [false, true]) {
    test(`[R32] a body over the limit is a 413, ${chunked ? 'found while it arrives' : 'by its announced length'}`, async () => {
      for (const key of [credit, budget]) {
        for (const name of POSTS) {
          const reply = await rawCall(key.origin + ENDPOINTS[name].path, {
            method: 'POST',
            headers: [
              ['authorization', `Bearer ${key.key}`],
              ['content-type', 'application/json'],
            ],
            body: JSON.stringify(bodyOf(name, 'x'.repeat(BODY_BYTES))),
            chunked,
          });
          const error = readError(reply.status, reply.headers, reply.text, ENDPOINTS[name].envelope);
          assert.deepEqual([error.status, error.code], [413, 'request_too_large']);
          assert.match(error.message, /4096 bytes/);
        }
      }
      const fits = JSON.stringify(bodyOf('chat', ''));
      const full = JSON.stringify(bodyOf('chat', 'x'.repeat(BODY_BYTES - fits.length)));
      assert.equal(full.length, BODY_BYTES);
      assert.equal((await visit(credit, 'chat', { body: full })).status, 200);
      assert.equal((await visit(credit, 'chat', { body: `${full} ` })).status, 413);
    });
  }

  test('[R32] the limit is 32 MiB where the operator sets none', async () => {
    await using plain = await startedGateway();
    const key = await plain.creditKey();
    const head = (bytes: number): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.key}\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
    const reply = await rawBytes(plain.origin, head(32 * 1024 * 1024 + 1));
    assert.equal(reply.status, 413);
    assert.match(reply.text, /33554432 bytes/);
    const padding = ' '.repeat(32 * 1024 * 1024 - 2);
    const fits = await visit(key, 'chat', { body: `{${padding}}` });
    assert.equal((await refusal(fits, 'chat', 400, 'invalid_request')).param, 'model');
  });

  test('[R32] a body that is not sent as JSON is a 400', async () => {
    for (const name of POSTS) {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonx',
        'multipart/form-data',
      ]) {
        const response = visit(credit, name, { headers: { 'content-type': type } });
        assert.match((await refusal(response, name, 400, 'invalid_request')).message, /application\/json/);
      }
      const gzip = visit(credit, name, { headers: { 'content-encoding': 'gzip' } });
      await refusal(gzip, name, 400, 'invalid_request');
      const charset = await visit(credit, name, { headers: { 'content-type': 'application/json; charset=utf-8' } });
      assert.equal(charset.status, 200);
    }
  });

  test('[R32] an unknown route is a 404 in the envelope of its family, with a credential or without', async () => {
    for (const [path, envelope] of [
      ['/v1/nothing', 'A'],
      ['/nothing', 'A'],
      ['/v1', 'A'],
      ['/v1/models/', 'A'],
      ['/v1/responses/a/b', 'A'],
      ['/v1/chat/completions/x', 'A'],
      ['/token/v2/usage', 'A'],
      ['/token/healthz', 'A'],
      ['/token/readyz', 'A'],
      ['/v1/messages/batches', 'B'],
      ['/token/v1/messages/batches', 'B'],
      ['/v1/messages/', 'B'],
    ] as const) {
      for (const sent of [{}, { key: credit.key }, { method: 'POST', body: {} }, { method: 'DELETE' }]) {
        const error = await errorReply(await call(gateway.origin + path, sent), envelope);
        assert.deepEqual([error.status, error.code], [404, 'not_found'], path);
      }
    }
  });

  test('[R32] a wrong method is a 405 with Allow, in the envelope of the route', async () => {
    for (const { origin } of [credit, budget]) {
      for (const name of NAMES) {
        const { path, envelope } = ENDPOINTS[name];
        const allowed = Object.values(ENDPOINTS)
          .filter((row) => row.path === path)
          .map((row): string => row.method);
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          if (allowed.includes(method)) continue;
          const error = await errorReply(await call(origin + path, { method, key: credit.key }), envelope);
          assert.deepEqual([error.status, error.code], [405, 'method_not_allowed'], `${method} ${path}`);
          assert.equal(error.headers.get('allow'), allowed.join(', '));
        }
        const head = await call(origin + path, { method: 'HEAD' });
        assert.equal(head.status, 405);
        assert.match(head.headers.get('x-request-id') ?? '', /^req_/);
      }
    }
    for (const [path, allow] of [
      ['/', 'GET, HEAD'],
      ['/token', 'GET, HEAD'],
      ['/healthz', 'GET, HEAD'],
      ['/readyz', 'GET, HEAD'],
      ['/openapi.json', 'GET'],
      ['/token/openapi.json', 'GET'],
    ] as const) {
      const error = await errorReply(await call(gateway.origin + path, { method: 'DELETE' }), 'A');
      assert.deepEqual([error.status, error.headers.get('allow')], [405, allow], path);
    }
  });

  test('[R32] a path that lacks only /v1 is a 404 that names the right one', async () => {
    for (const { origin } of [credit, budget]) {
      const prefix = new URL(origin).pathname.replace(/\/$/, '');
      for (const name of NAMES) {
        const { method } = ENDPOINTS[name];
        const path = ENDPOINTS[name].path.replace('{id}', 'one');
        const bare = path.replace('/v1', '');
        const error = await errorReply(await call(origin + bare, { method, key: credit.key }), 'A');
        assert.deepEqual([error.status, error.code], [404, 'not_found'], bare);
        const right = `/v1 is missing: the path is ${prefix}${path}. Use a base URL that ends in /v1.`;
        assert.equal(error.message, `There is no route ${method} ${prefix}${bare}. ${right}`);
      }
    }
    for (const path of ['/nothing', '/v2/messages', '/messages/', '/v1', '/responses/a/b']) {
      const { message } = await errorReply(await call(gateway.origin + path), 'A');
      assert.equal(message, `There is no route GET ${path}.`);
    }
  });

  test('[R34] every response has an id of its own, whatever its kind', async () => {
    const ids = new Set<string>();
    const responses = [
      await call(`${gateway.origin}/`),
      await call(`${gateway.origin}/token`, { method: 'HEAD' }),
      await call(`${gateway.origin}/healthz`),
      await call(`${gateway.origin}/readyz`),
      await call(`${gateway.origin}/openapi.json`),
      await call(`${gateway.origin}/nothing`),
      await call(`${gateway.origin}/docs`),
      await call(`${gateway.origin}/docs/redoc.js`),
      await call(`${gateway.origin}/v1/models`),
      await call(`${gateway.origin}/v1/usage`),
      await say(credit, 'chat', 'Hi', { stream: true }),
      await say(credit, 'responses', '[[status=500]]'),
    ];
    for (const name of NAMES) responses.push(await visit(credit, name), await visit(budget, name));
    for (const response of responses) {
      assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/, response.url);
      ids.add(response.headers.get('x-request-id') ?? '');
      await response.arrayBuffer();
    }
    assert.equal(ids.size, responses.length);
  });

  test('[R34] Format B routes name it as request-id too, Format A routes do not', async () => {
    for (const name of NAMES) {
      for (const response of [await visit(credit, name), await call(credit.origin + ENDPOINTS[name].path)]) {
        const expected = ENDPOINTS[name].envelope === 'B' ? response.headers.get('x-request-id') : null;
        assert.equal(response.headers.get('request-id'), expected, name);
      }
    }
    const stream = await say(credit, 'messages', 'Hi', { stream: true });
    assert.equal(stream.headers.get('request-id'), stream.headers.get('x-request-id'));
    await stream.text();
  });

  test('[R34] what the HTTP parser refuses has one too', async () => {
    for (const bytes of [
      'GARBAGE\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      `GET / HTTP/1.1\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
    ]) {
      const reply = await rawBytes(gateway.origin, bytes);
      const error = readError(reply.status, reply.headers, reply.text, 'A');
      assert.deepEqual([error.status, error.code], [400, 'invalid_request'], bytes.slice(0, 20));
    }
  });

  test('[R34] an expectation that nobody knows is no reason for an answer without one', async () => {
    const reply = await rawBytes(
      gateway.origin,
      'GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n',
    );
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get('x-request-id') ?? '', /^req_/);
  });

  test('[R34] [R45] so has the 426 to a WebSocket', async () => {
    for (const origin of [credit.origin, budget.origin]) {
      const reply = await rawCall(`${origin}/v1/chat/completions`, {
        headers: [
          ['connection', 'Upgrade'],
          ['upgrade', 'websocket'],
          ['sec-websocket-version', '13'],
          ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
        ],
      });
      const error = readError(reply.status, reply.headers, reply.text, 'A');
      assert.deepEqual([error.status, error.code], [426, 'upgrade_required']);
    }
  });

  test("[R34] a client's own x-request-id is not taken for the id; it is logged", async () => {
    const own = 'client-made-this-up';
    const response = await call(`${credit.origin}/v1/usage`, { key: credit.key, headers: { 'x-request-id': own } });
    const requestId = response.headers.get('x-request-id');
    assert.notEqual(requestId, own);
    assert.ok(logged.some((fields) => isDeepStrictEqual({ ...fields, requestId, clientRequestId: own }, fields)));
  });

  test('nothing of all this was charged but the good requests, and the books agree', async () => {
    await auditClean(gateway);
  });
});

describe('the field at fault', () => {
  let gateway: StartedGateway;
  let key: CreatedKey;

  before(async () => {
    gateway = await startedGateway({ config: COUNTS_EXACTLY });
    key = await gateway.creditKey();
  });

  after(() => gateway[Symbol.asyncDispose]());

  const message = { role: 'user', content: 'Hi' };
  const CASES: readonly (readonly [EndpointName, object, string])[] = [
    ['chat', { model: undefined }, 'model'],
    ['chat', { model: '' }, 'model'],
    ['chat', { model: 7 }, 'model'],
    ['chat', { messages: undefined }, 'messages'],
    ['chat', { messages: [] }, 'messages'],
    ['chat', { messages: 'Hi' }, 'messages'],
    ['chat', { messages: [{ content: 'Hi' }] }, 'messages[0].role'],
    ['chat', { messages: [message, { role: 'robot', content: 'Hi' }] }, 'messages[1].role'],
    ['chat', { messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    ['chat', { messages: [{ role: 'user', content: ['Hi'] }] }, 'messages[0].content[0]'],
    ['chat', { messages: [{ role: 'assistant', tool_calls: 'x' }] }, 'messages[0].tool_calls'],
    ['chat', { stream: 'yes' }, 'stream'],
    ['chat', { max_tokens: 0 }, 'max_tokens'],
    ['chat', { temperature: 2.1 }, 'temperature'],
    ['chat', { temperature: -0.1 }, 'temperature'],
    ['chat', { top_p: 1.1 }, 'top_p'],
    ['chat', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    ['chat', { stop: [1] }, 'stop[0]'],
    ['chat', { tools: {} }, 'tools'],
    ['chat', { tool_choice: 1 }, 'tool_choice'],
    ['chat', { user: 1 }, 'user'],
    ['responses', { input: undefined }, 'input'],
    ['responses', { input: 5 }, 'input'],
    ['responses', { input: ['Hi'] }, 'input[0]'],
    ['responses', { instructions: [] }, 'instructions'],
    ['responses', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['responses', { model: null }, 'model'],
    ['messages', { messages: [] }, 'messages'],
    ['messages', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['messages', { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }, 'messages[0].content[0].type'],
    ['messages', { messages: [{ role: 'tool', content: 'Hi' }] }, 'messages[0].role'],
    ['messages', { system: [{ text: 'Hi' }] }, 'system[0].type'],
    ['messages', { max_tokens: 1.5 }, 'max_tokens'],
    ['messages', { top_k: 0.5 }, 'top_k'],
    ['messages', { stop_sequences: 'x' }, 'stop_sequences'],
    ['messages', { tool_choice: 'auto' }, 'tool_choice'],
    ['messages', { metadata: 'x' }, 'metadata'],
    ['count_tokens', { model: '' }, 'model'],
    ['count_tokens', { messages: undefined }, 'messages'],
    ['count_tokens', { tools: [1] }, 'tools[0]'],
  ];

  test('[R35] param is the JSON path of the first offending field', async () => {
    const wrong: string[] = [];
    for (const [name, extra, param] of CASES) {
      const error = await refusal(say(key, name, 'Hi', extra), name, 400, 'invalid_request');
      if (error.param !== param) wrong.push(`${name} ${JSON.stringify(extra)}: ${error.param}, not ${param}`);
    }
    assert.deepEqual(wrong, []);
    assert.equal((await gateway.admin.showKey(key.id)).used, 0);
  });

  test('[R36] a context overflow is reported to Format B clients in the words that they act on', async () => {
    const long = 'word '.repeat(200_000);
    const native = await refusal(say(key, 'messages', long), 'messages', 400, 'context_length_exceeded');
    assert.match(native.message, /^prompt is too long: \d+ tokens > 128000 maximum$/);
    // A count is no prompt: it tells how much too long it would be.
    const count = (await (await say(key, 'count_tokens', long)).json()) as { input_tokens: number };
    assert.ok(count.input_tokens > 128_000);
    for (const name of ['chat', 'responses'] as const) {
      const error = await refusal(say(key, name, long), name, 400, 'context_length_exceeded');
      assert.equal(error.param, name === 'chat' ? 'messages' : 'input');
    }
    assert.equal((await gateway.admin.showKey(key.id)).used, 0);
    await auditClean(gateway);
  });
});
