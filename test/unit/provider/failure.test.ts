import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failureInAnswer, failureOfStatus, failureOfTransport, redact } from '../../../src/provider/failure.ts';
import type { TransportFailure } from '../../../src/provider/upstream.ts';

const SECRET = 'sk-live-4f9a8b7c6d5e';

function judged(status: number, body = '{}', retryAfter: string | null = null) {
  return failureOfStatus(status, body, retryAfter, [SECRET]);
}

describe("a provider's status", () => {
  const rows: readonly (readonly [number, string, string, boolean, 'key' | 'target' | null])[] = [
    [400, 'invalid_request', 'never', false, null],
    [422, 'invalid_request', 'never', false, null],
    [413, 'invalid_request', 'never', false, null],
    [401, 'upstream_error', 'elsewhere', false, 'key'],
    [403, 'upstream_error', 'elsewhere', false, 'key'],
    [404, 'upstream_error', 'elsewhere', false, null],
    [408, 'upstream_timeout', 'elsewhere', true, null],
    [429, 'provider_unavailable', 'elsewhere', true, 'key'],
    [500, 'upstream_error', 'anywhere', true, null],
    [502, 'upstream_error', 'anywhere', true, null],
    [503, 'provider_unavailable', 'anywhere', true, 'target'],
    [504, 'upstream_timeout', 'elsewhere', true, null],
    [529, 'provider_unavailable', 'anywhere', true, 'target'],
  ];
  for (const [status, condition, retry, unhealthy, cools] of rows) {
    test(`[R31] ${status} → ${condition}, tried ${retry}, ${unhealthy ? 'counts' : 'does not count'} against the target`, () => {
      const failure = judged(status);
      assert.deepEqual(
        [failure.condition, failure.retry, failure.unhealthy, failure.cools],
        [condition, retry, unhealthy, cools],
      );
    });
  }

  test('[R31] 401, 403 and 404 are told to the operator', () => {
    assert.deepEqual(
      [401, 403, 404, 429, 500, 400].map((status) => judged(status).operatorFault),
      [true, true, true, false, false, false],
    );
  });

  test('[R31] a context-length error stays one, whatever its shape', () => {
    for (const body of [
      '{"error":{"code":"context_length_exceeded","message":"This model\'s maximum context length is 8192 tokens"}}',
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}',
    ]) {
      assert.equal(judged(400, body).condition, 'context_length_exceeded');
    }
    assert.notEqual(judged(500, 'the context window service is down').condition, 'context_length_exceeded');
  });

  test('Retry-After is read as seconds or as a date, and nonsense is ignored', (t) => {
    assert.equal(judged(429, '{}', '7').retryAfterS, 7);
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 2, 10) });
    assert.equal(judged(503, '{}', 'Tue, 10 Mar 2026 00:00:10 GMT').retryAfterS, 10);
    assert.equal(judged(503, '{}', 'Mon, 09 Mar 2026 23:59:59 GMT').retryAfterS, 0);
    assert.equal(judged(429, '{}', 'soon').retryAfterS, null);
    assert.equal(judged(429, '{}', '999999999').retryAfterS, 86_400);
  });
});

describe('what a client is told', () => {
  test("[F20] [R31] a provider's 400 keeps its words, without credentials", () => {
    const { message } = judged(400, JSON.stringify({ error: { message: `temperature is bad (key ${SECRET})` } }));
    assert.equal(message, 'temperature is bad (key [redacted])');
  });

  test("[F41] of a provider's words nothing is kept but its labels and the field that it names first", () => {
    const kept = (status: number, error: object): string => judged(status, JSON.stringify({ error })).kept;
    const quoting = 'the codename is Nightingale';
    const openai = { type: 'invalid_request_error', code: 'unsupported_value', param: 'messages[0].role' };
    assert.equal(
      kept(400, { ...openai, message: `'${quoting}' is not a role` }),
      'The provider refused the request (status 400): invalid_request_error, unsupported_value, messages.',
    );
    assert.equal(
      kept(413, { type: 'invalid_request_error', message: `max_tokens: 9 > 8, said "${quoting}"` }),
      'The provider refused the request (status 413): invalid_request_error, max_tokens.',
    );
    const labelled = { type: quoting, code: SECRET, param: 'tools[0].parameters.nightingale', message: quoting };
    assert.equal(kept(422, labelled), 'The provider refused the request (status 422): [redacted], tools.');
    assert.equal(judged(400, `${quoting} <html>`).kept, 'The provider refused the request (status 400).');
    assert.equal(judged(500, quoting).kept, judged(500).message);
  });

  test('[F20] credentials of any usual shape are taken out, plain words are left', () => {
    assert.equal(redact('Incorrect API key: sk-proj-12345678abcd.', []), 'Incorrect API key: [redacted]');
    assert.equal(redact('saw Bearer abcdefgh1234 here', []), 'saw [redacted] here');
    for (const opaque of [
      'AIzaSyA1234567890abcdefghijklmnop',
      'org-AbCdEf1234567890AbCdEf',
      'f47ac10b-58cc-4372-a567-0e02b2c3d479',
      'nvapi-aB3-cD4_eF5-gH6_iJ7-kL8_mN9-oP0',
    ]) {
      assert.equal(redact(`seen: ${opaque}, refused`), 'seen: [redacted], refused');
    }
    // The gateway's own are known by heart, whatever they look like.
    assert.equal(redact('the key open-sesame is unknown', ['open-sesame', '']), 'the key [redacted] is unknown');
    for (const plain of [
      'the key parameters are key_value_pairs',
      'the model claude-3-5-sonnet-20241022 takes less',
      'no tool output for call_8GZabcdefghijklmnop12',
    ]) {
      assert.equal(redact(plain), plain);
    }
  });

  test('each time-out has its own message', () => {
    const kinds: readonly TransportFailure[] = [
      { kind: 'connect_timeout', message: 'a' },
      { kind: 'first_byte_timeout', message: 'b' },
      { kind: 'idle_timeout', message: 'c' },
    ];
    assert.deepEqual(
      kinds.map((kind) => failureOfTransport(kind).condition),
      ['provider_unavailable', 'upstream_timeout', 'upstream_timeout'],
    );
  });

  test("the request's own faults in an answer are never tried elsewhere, and do not count against the target", () => {
    const own = failureInAnswer('context_length_exceeded', 'too long');
    assert.deepEqual([own.retry, own.unhealthy], ['never', false]);
    const busy = failureInAnswer('provider_unavailable', 'overloaded');
    assert.deepEqual([busy.retry, busy.unhealthy], ['anywhere', true]);
    assert.equal(failureInAnswer('upstream_error', 'nonsense').retry, 'elsewhere');
  });
});
