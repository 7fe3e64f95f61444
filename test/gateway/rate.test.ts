/** Requests per minute: what takes a place, what does not, and what every answer says about it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { auditClean, bodyOf, errorReply, isAboutResponse, POSTS, refusal, say, visit } from '../support/requests.ts';
import { startedGateway, withGateway } from '../support/started-gateway.ts';

const WINDOW_MS = 60_000;
const HEADERS = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'] as const;
const NAMES = Object.keys(ENDPOINTS) as EndpointName[];

const gateway = await withGateway({ config: 'routing: { max_attempts: 1 }' });

function rateOf(response: Response | { headers: Headers }): (number | null)[] {
  return HEADERS.map((name) => {
    const value = response.headers.get(name);
    if (value !== null) assert.match(value, /^\d+$/, name);
    return value === null ? null : Number(value);
  });
}

function limited(rpm: number, extra: object = {}): Promise<CreatedKey> {
  return gateway.creditKey({ rpm_limit: rpm, ...extra });
}

describe('the limit', () => {
  test('[R11] never more than the limit is admitted, on whatever routes, and the rest get a 429 with Retry-After', async () => {
    const key = await limited(4);
    for (const name of ['usage', 'models', 'chat', 'count_tokens'] as const) {
      assert.equal((await visit(key, name)).status, 200, name);
    }
    for (const name of NAMES) {
      const error = await refusal(visit(key, name), name, 429, 'rate_limit_exceeded');
      assert.equal(error.type, 'rate_limit_error');
      assert.match(error.message, /4 requests per minute/);
    }
    await auditClean(gateway);
  });

  test('[R11] the limit holds over requests that arrive at once', async () => {
    const key = await limited(7);
    const responses = await Promise.all(Array.from({ length: 40 }, () => visit(key, 'usage')));
    assert.equal(responses.filter(({ status }) => status === 200).length, 7);
    assert.equal(responses.filter(({ status }) => status === 429).length, 33);
  });

  test('[R11] a request that the limit refused does not count; one refused later has counted', async () => {
    const key = await limited(2);
    const bad = await refusal(visit(key, 'chat', { body: '{}' }), 'chat', 400, 'invalid_request');
    assert.deepEqual(rateOf(bad).slice(0, 2), [2, 1]);
    const unknown = await refusal(say(key, 'messages', 'Hi', { model: 'no' }), 'messages', 404, 'model_not_found');
    assert.deepEqual(rateOf(unknown).slice(0, 2), [2, 0]);
    const first = await refusal(visit(key, 'usage'), 'usage', 429, 'rate_limit_exceeded');
    // Had refused ones counted, each would move the end of the window on.
    await delay(1_100);
    const later = await refusal(visit(key, 'usage'), 'usage', 429, 'rate_limit_exceeded');
    assert.ok(Number(later.headers.get('x-ratelimit-reset-requests')) < 60);
    assert.ok(Number(later.headers.get('retry-after')) < Number(first.headers.get('retry-after')));
  });

  test('[R11] Retry-After is the exact wait, rounded up', async () => {
    const key = await limited(1);
    const beforeMs = performance.now();
    assert.equal((await visit(key, 'usage')).status, 200);
    const afterMs = performance.now();
    await delay(1_100);
    const askedMs = performance.now();
    const error = await refusal(visit(key, 'usage'), 'usage', 429, 'rate_limit_exceeded');
    const toldMs = performance.now();
    // A millisecond either way: the gateway's clock counts whole ones.
    const longest = Math.ceil((WINDOW_MS - (askedMs - afterMs) + 1) / 1_000);
    const shortest = Math.ceil((WINDOW_MS - (toldMs - beforeMs) - 1) / 1_000);
    const seconds = Number(error.headers.get('retry-after'));
    assert.ok(shortest <= seconds && seconds <= longest, `${shortest} <= ${seconds} <= ${longest}`);
    assert.ok(longest < 60);
  });

  test('[R11] a raised limit counts at once, and without a limit nothing is refused', async () => {
    const key = await limited(1);
    assert.equal((await visit(key, 'usage')).status, 200);
    await refusal(visit(key, 'usage'), 'usage', 429, 'rate_limit_exceeded');
    await gateway.admin.changeKey(key.id, { rpm_limit: 2 });
    assert.equal((await visit(key, 'usage')).status, 200);
    await refusal(visit(key, 'usage'), 'usage', 429, 'rate_limit_exceeded');
    await gateway.admin.changeKey(key.id, { rpm_limit: null });
    for (let i = 0; i < 5; i++) assert.equal((await visit(key, 'usage')).status, 200);
  });

  test('[R11] the window survives a restart', async () => {
    const first = await startedGateway();
    const key = await first.creditKey({ rpm_limit: 1 });
    assert.equal((await visit(key, 'usage')).status, 200);
    await first.stop();
    const second = await startedGateway({ dataDir: first.dataDir });
    const response = await visit({ ...key, origin: second.origin }, 'usage');
    await refusal(response, 'usage', 429, 'rate_limit_exceeded');
    await second.stop();
    await first[Symbol.asyncDispose]();
  });

  test('a request refused for its body takes its place first: where that is refused, the 429 wins', async () => {
    const key = await limited(1);
    assert.equal((await visit(key, 'usage')).status, 200);
    for (const name of POSTS) {
      for (const body of ['', '{', '[]', '{"model":1}', JSON.stringify(bodyOf(name, 'Hi', { model: 'no' }))]) {
        await refusal(visit(key, name, { body }), name, 429, 'rate_limit_exceeded');
      }
      const text = visit(key, name, { headers: { 'content-type': 'text/plain' } });
      await refusal(text, name, 429, 'rate_limit_exceeded');
    }
  });

  test('a request without a right to be there takes no place: the credential is judged first', async () => {
    const key = await limited(1);
    await gateway.admin.changeKey(key.id, { status: 'disabled' });
    for (let i = 0; i < 3; i++) await refusal(visit(key, 'chat'), 'chat', 403, 'key_disabled');
    await gateway.admin.changeKey(key.id, { status: 'active' });
    const wrongOrigin = { ...key, origin: `${key.origin}/token` };
    for (let i = 0; i < 3; i++) await refusal(visit(wrongOrigin, 'chat'), 'chat', 403, 'key_disabled');
    assert.equal((await visit(key, 'usage')).status, 200);
  });
});

describe('the headers', () => {
  test('[R12] every authenticated response of a limited key carries them, errors and streams too', async () => {
    const key = await limited(50, { credit: '1' });
    let left = 50;
    const expectNext = (response: { headers: Headers }, what: string): void => {
      left -= 1;
      const [limit, remaining, reset] = rateOf(response);
      assert.deepEqual([limit, remaining], [50, left], what);
      assert.ok(reset !== null && reset !== undefined && reset > 0 && reset <= 60, what);
    };
    for (const name of NAMES) {
      // The response that it is about was asked for by this key, too.
      if (isAboutResponse(name)) left -= 1;
      expectNext(await visit(key, name), name);
    }
    for (const name of POSTS) {
      expectNext(await visit(key, name, { body: '{' }), `${name} 400`);
      expectNext(await say(key, name, 'Hi', { model: 'none' }), `${name} 404`);
    }
    for (const name of ['chat', 'responses', 'messages'] as const) {
      const stream = await say(key, name, 'Hi', { stream: true });
      expectNext(stream, `${name} stream`);
      await stream.text();
      expectNext(await say(key, name, '[[status=500]]'), `${name} 502`);
    }
    const withKey = { 'Idempotency-Key': 'rate' };
    expectNext(await visit(key, 'chat', { headers: withKey }), 'first');
    expectNext(await visit(key, 'chat', { headers: withKey }), 'replay');
    expectNext(await visit(key, 'responses', { headers: withKey }), 'conflict');
    const poor = await limited(2, { credit: '0' });
    const error = await refusal(visit(poor, 'chat'), 'chat', 402, 'insufficient_credit');
    assert.deepEqual(rateOf(error).slice(0, 2), [2, 1]);
    await auditClean(gateway);
  });

  test('[R12] the 429 itself carries them, with nothing remaining', async () => {
    const key = await limited(1);
    assert.deepEqual(rateOf(await visit(key, 'usage')).slice(0, 2), [1, 0]);
    for (const name of NAMES) {
      const error = await errorReply(await visit(key, name), ENDPOINTS[name].envelope);
      const [limit, remaining, reset] = rateOf(error);
      assert.deepEqual([limit, remaining], [1, 0], name);
      assert.ok(reset !== null && reset !== undefined && reset >= 1 && reset <= 60);
    }
  });

  test('[R11] [R12] without a limit there is none to tell: no such headers', async () => {
    const key = await gateway.creditKey();
    for (const name of NAMES) assert.deepEqual(rateOf(await visit(key, name)), [null, null, null], name);
    const error = await refusal(visit(key, 'chat', { body: '{' }), 'chat', 400, 'invalid_request');
    assert.deepEqual(rateOf(error), [null, null, null]);
  });
});
