/** Whatever credential, header, route or model is sent: the right status in the right envelope, nothing charged. */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { fuzz } from '../support/fuzz.ts';
import {
  account,
  auditClean,
  bodyOf,
  GENERATIONS,
  POSTS,
  rawCall,
  readError,
  refusal,
  say,
} from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();
const key = await gateway.creditKey();
const untouched = await account(gateway, key);

afterEach(async () => {
  assert.deepEqual(await account(gateway, key), untouched, 'nothing was charged');
  await auditClean(gateway);
  assert.equal((await call(`${gateway.origin}/healthz`)).status, 200);
});

const posts = fc.constantFrom<EndpointName>(...POSTS);

describe('fuzzed requests', () => {
  const HEADER_CHARACTERS = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 300,
  });

  test('any credential', (t) =>
    fuzz(
      t,
      fc.tuple(fc.constantFrom(...(Object.keys(ENDPOINTS) as EndpointName[])), HEADER_CHARACTERS),
      async (input) => {
        const [name, text] = input;
        const { method, path, envelope } = ENDPOINTS[name];
        for (const header of [
          ['authorization', text],
          ['authorization', `Bearer ${text}`],
          ['x-api-key', text],
        ] as const) {
          const reply = await rawCall(key.origin + path, { method, headers: [header] });
          const error = readError(reply.status, reply.headers, reply.text, envelope);
          assert.deepEqual([error.status, error.code], [401, 'invalid_credentials']);
        }
      },
    ));

  test('any Idempotency-Key that is too long', (t) => {
    const names = fc.string({ unit: fc.constantFrom('a', '-', '\xe9', '~'), minLength: 256, maxLength: 2_000 });
    return fuzz(t, fc.tuple(fc.constantFrom(...GENERATIONS), names), async ([name, text]) => {
      const { path, envelope } = ENDPOINTS[name];
      const reply = await rawCall(key.origin + path, {
        method: 'POST',
        headers: [
          ['authorization', `Bearer ${key.key}`],
          ['content-type', 'application/json'],
          ['idempotency-key', text],
        ],
        body: JSON.stringify(bodyOf(name)),
      });
      const error = readError(reply.status, reply.headers, reply.text, envelope);
      assert.deepEqual([error.status, error.param], [400, 'Idempotency-Key']);
    });
  });

  test('any content type', (t) =>
    fuzz(t, fc.tuple(posts, HEADER_CHARACTERS), async ([name, type]) => {
      const reply = await rawCall(key.origin + ENDPOINTS[name].path, {
        method: 'POST',
        headers: [
          ['authorization', `Bearer ${key.key}`],
          ['content-type', type],
        ],
        body: JSON.stringify(bodyOf(name)),
      });
      const error = readError(reply.status, reply.headers, reply.text, ENDPOINTS[name].envelope);
      assert.deepEqual([error.status, error.code], [400, 'invalid_request']);
    }));

  test('any route', (t) => {
    const segment = fc.string({
      unit: fc.constantFrom('a', '.', '%', '~', '2', 'F', '-', ';', '\\', '*', ':'),
      minLength: 1,
    });
    const stem = fc.constantFrom(
      '',
      '/v1',
      '/token',
      '/token/v1',
      '/v1/chat',
      '/v1/messages',
      '/v1/models',
      '/openapi.json',
    );
    return fuzz(t, fc.tuple(stem, segment, fc.constantFrom('GET', 'POST', 'PUT')), async ([prefix, rest, method]) => {
      const path = `${prefix}/${rest}`;
      const reply = await rawCall(gateway.origin, { method, path });
      const envelope = /^(\/token)?\/v1\/messages\//.test(path) ? 'B' : 'A';
      const error = readError(reply.status, reply.headers, reply.text, envelope);
      if (prefix === '/v1/models' && method !== 'GET') assert.equal(error.status, 405, path);
      else assert.ok(error.status === 404 || (error.status === 400 && path.includes('%')), `${path}: ${error.status}`);
    });
  });

  test('any model name that is in no catalog', (t) =>
    fuzz(t, fc.tuple(posts, fc.string({ minLength: 1, unit: 'grapheme' })), async ([name, model]) => {
      const error = await refusal(say(key, name, 'Hi', { model }), name, 404, 'model_not_found');
      assert.equal(error.param, 'model');
    }));

  test('names of the object prototype are no models and no routes', async () => {
    for (const model of ['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']) {
      for (const name of POSTS) await refusal(say(key, name, 'Hi', { model }), name, 404, 'model_not_found');
      assert.equal((await call(`${gateway.origin}/${model}`)).status, 404);
      assert.equal((await call(`${gateway.origin}/v1/${model}`, { method: 'POST' })).status, 404);
    }
  });
});
