/** What a client is told when something fails: statuses, codes, envelopes, advice and request ids. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { CONDITIONS, type Condition, GatewayError } from '../../src/core/conditions.ts';
import { COMMON_STATUSES, ENDPOINTS, type Endpoint, type EndpointName } from '../../src/core/endpoints.ts';
import { type Failure, failureOf } from '../../src/core/failure.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import { failureHeaders } from '../../src/http/reply.ts';
import { account, auditClean, GENERATIONS, refusal, say, visit } from '../support/requests.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { GATED_SECRET, type GatedUpstream, gatedUpstream } from '../support/upstreams/gated.ts';

const CONDITION_NAMES = Object.keys(CONDITIONS) as Condition[];

function headerOf(answer: Failure, name: string): string | number | undefined {
  const headers = failureHeaders(answer);
  const at = headers.indexOf(name);
  return at === -1 ? undefined : headers[at + 1];
}

function failure(endpoint: Endpoint | null, condition: Condition): Failure {
  return failureOf(endpoint, new GatewayError(condition));
}

describe('every condition at every endpoint', () => {
  test('[R4] [R30] no endpoint tells a status that its list does not have', () => {
    const wrong: string[] = [];
    for (const endpoint of Object.values(ENDPOINTS)) {
      const listed: readonly number[] = [...endpoint.statuses, ...COMMON_STATUSES];
      for (const condition of CONDITION_NAMES) {
        const { status } = failure(endpoint, condition);
        if (!listed.includes(status)) wrong.push(`${endpoint.name} ${condition}: ${status}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  test('only what cannot happen at an endpoint is told as a fault of the gateway there', () => {
    const refused: readonly Condition[] = [
      'invalid_request',
      'context_length_exceeded',
      'previous_response_not_found',
      'websocket_connection_limit_reached',
    ];
    const body: readonly Condition[] = [...refused, 'model_not_found', 'not_found'];
    const balance: readonly Condition[] = ['insufficient_credit', 'idempotency_in_flight', 'idempotency_conflict'];
    const provider: readonly Condition[] = ['provider_unavailable', 'upstream_error', 'upstream_timeout'];
    const impossible: Readonly<Record<EndpointName, readonly Condition[]>> = {
      models: [...body, ...balance, ...provider],
      get_model: [...refused, ...balance, ...provider],
      usage: [...body, ...balance, ...provider],
      get_response: [...balance, ...provider],
      delete_response: [...refused, ...balance, ...provider],
      input_items: [...balance, ...provider],
      cancel_response: [...balance, ...provider],
      count_tokens: [...balance, ...provider],
      input_tokens: [...balance, ...provider],
      chat: [],
      responses: [],
      compact: [],
      messages: [],
    };
    for (const endpoint of Object.values(ENDPOINTS)) {
      const faults = CONDITION_NAMES.filter((condition) => failure(endpoint, condition).condition === 'internal_error');
      const expected = ['internal_error', ...impossible[endpoint.name]];
      assert.deepEqual(faults.toSorted(), expected.toSorted(), endpoint.name);
    }
  });

  test('[R4] routes without a 403 tell every refusal of the key as a 401; the message stays', () => {
    for (const name of ['models', 'get_model', 'usage'] as const) {
      for (const condition of ['key_expired', 'key_disabled'] as const) {
        const { status, code, message } = failure(ENDPOINTS[name], condition);
        assert.deepEqual([status, code, message], [401, 'invalid_credentials', CONDITIONS[condition].sentence]);
      }
    }
  });

  test('[R30] a time-out is a 504 on messages and a 502 upstream_error on chat and responses', () => {
    const told = GENERATIONS.map((name) => {
      const { status, code } = failure(ENDPOINTS[name], 'upstream_timeout');
      return [status, code];
    });
    assert.deepEqual(told, [
      [502, 'upstream_error'],
      [502, 'upstream_error'],
      [504, 'upstream_timeout'],
    ]);
  });

  test('[R28] the type in Format B follows from the status; limit_reached is a billing error', () => {
    const TYPES: Readonly<Record<number, string>> = {
      400: 'invalid_request_error',
      401: 'authentication_error',
      402: 'billing_error',
      403: 'permission_error',
      404: 'not_found_error',
      409: 'conflict_error',
      413: 'request_too_large',
      429: 'rate_limit_error',
      500: 'api_error',
      502: 'api_error',
      503: 'overloaded_error',
      504: 'timeout_error',
    };
    for (const condition of CONDITION_NAMES) {
      const { status, typeB } = failure(null, condition);
      if (condition === 'limit_reached') assert.equal(typeB, 'billing_error');
      else if (status !== 405 && status !== 426) assert.equal(typeB, TYPES[status], condition);
    }
  });

  test('section 7.2: status, code and type of every row of the interface', () => {
    const rows = CONDITION_NAMES.map((condition) => {
      const { status, type } = CONDITIONS[condition];
      return `${status} ${condition} ${type}`;
    });
    for (const row of [
      '401 invalid_credentials authentication_error',
      '403 key_expired permission_error',
      '403 key_disabled permission_error',
      '429 rate_limit_exceeded rate_limit_error',
      '429 balance_temporarily_reserved rate_limit_error',
      '429 limit_reached quota_error',
      '402 insufficient_credit quota_error',
      '400 invalid_request invalid_request_error',
      '404 model_not_found invalid_request_error',
      '400 context_length_exceeded invalid_request_error',
      '502 provider_unavailable api_error',
      '502 upstream_error api_error',
      '504 upstream_timeout api_error',
      '500 internal_error api_error',
    ]) {
      assert.ok(rows.includes(row), row);
    }
  });

  test('[R29] 503 is service_unavailable of type api_error; it and every 429 carry Retry-After at every endpoint', () => {
    const { code, type } = failure(null, 'service_unavailable');
    assert.deepEqual([code, type], ['service_unavailable', 'api_error']);
    for (const endpoint of Object.values(ENDPOINTS)) {
      for (const condition of CONDITION_NAMES) {
        const answer = failure(endpoint, condition);
        if (answer.status !== 429 && answer.status !== 503) continue;
        assert.match(String(headerOf(answer, 'retry-after')), /^\d+$/, condition);
      }
    }
  });

  test('[R33] x-should-retry: false on 401, 402, 403, limit_reached and idempotency_conflict, and on nothing else', () => {
    for (const condition of CONDITION_NAMES) {
      const answer = failure(null, condition);
      const never = [401, 402, 403].includes(answer.status) || /^(limit_reached|idempotency_conflict)$/.test(condition);
      assert.equal(headerOf(answer, 'x-should-retry'), never ? 'false' : undefined, condition);
    }
  });
});

describe('a provider that fails', () => {
  const STATUSES: readonly (readonly [sent: number, status: number, code: string])[] = [
    [400, 400, 'invalid_request'],
    [401, 502, 'upstream_error'],
    [403, 502, 'upstream_error'],
    [404, 502, 'upstream_error'],
    [422, 400, 'invalid_request'],
    [429, 502, 'provider_unavailable'],
    [500, 502, 'upstream_error'],
    [503, 502, 'provider_unavailable'],
    [529, 502, 'provider_unavailable'],
  ];

  for (const name of GENERATIONS) {
    // A gateway of its own: so many failures would open the circuit of a provider that others use.
    test(`[R30] [R31] ${name}: each status of the provider is told as what it means here, and nothing is charged`, async () => {
      const errors: string[] = [];
      const log: Log = { ...NO_LOG, error: (_fields, message) => errors.push(message) };
      await using gateway = await startedGateway({ config: 'routing: { max_attempts: 1 }', log });
      const key = await gateway.creditKey();
      const untouched = await account(gateway, key);
      for (const [sent, status, code] of STATUSES) {
        const before = errors.length;
        const error = await refusal(say(key, name, `[[status=${sent}]]`), name, status, code);
        if (status === 400) assert.equal(error.message, `Simulated error with status ${sent}.`);
        if (sent === 401 || sent === 403) assert.equal(errors.length, before + 1, 'the operator is told');
        assert.equal((await visit(key, name)).status, 200);
      }
      const late: [number, string] = name === 'messages' ? [504, 'upstream_timeout'] : [502, 'upstream_error'];
      await refusal(say(key, name, '[[status=504]]'), name, ...late);
      for (const [sent, status, code] of [STATUSES[0], STATUSES[5], STATUSES[6]] as typeof STATUSES) {
        const streamed = say(key, name, `[[status=${sent}]]`, { stream: true });
        await refusal(streamed, name, status, code);
      }
      await refusal(say(key, name, '[[fail-after=0]]'), name, 502, 'upstream_error');
      const { requests } = await gateway.admin.showKey(key.id);
      assert.equal(requests, STATUSES.length, 'only the good ones were charged');
      assert.notDeepEqual(await account(gateway, key), untouched);
      await auditClean(gateway);
    });
  }

  describe('in its own words', () => {
    let upstream: GatedUpstream;
    let gateway: StartedGateway;
    let key: CreatedKey;

    before(async () => {
      upstream = await gatedUpstream();
      gateway = await startedGateway({ config: upstream.config });
      key = await gateway.creditKey();
    });

    after(async () => {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    });

    async function providerSays(status: number, body: object, headers = {}): Promise<Response> {
      const response = say(key, 'chat', 'go', { model: 'gated/one' });
      (await upstream.next()).reply(status, body, headers);
      return response;
    }

    test('[R31] its 400 stays a 400 with its message, secrets redacted', async () => {
      const message = `Bad field foo; you sent ${GATED_SECRET} and Bearer ${GATED_SECRET}.`;
      const response = await providerSays(400, { error: { message, type: 'x' } });
      const text = await response.clone().text();
      assert.ok(!text.includes(GATED_SECRET));
      const error = await refusal(response, 'chat', 400, 'invalid_request');
      assert.match(error.message, /^Bad field foo/);
    });

    test('[R31] its context-length error becomes context_length_exceeded', async () => {
      const told = { error: { message: 'too many tokens', code: 'context_length_exceeded' } };
      await refusal(await providerSays(400, told), 'chat', 400, 'context_length_exceeded');
    });

    test('[R31] its refusal of our credential is not repeated to the client', async () => {
      const said = { error: { message: `Incorrect API key provided: ${GATED_SECRET}` } };
      const error = await refusal(await providerSays(401, said), 'chat', 502, 'upstream_error');
      assert.ok(!error.message.includes('Incorrect'));
    });

    test('[R31] an invalid body is a 502 upstream_error and is not charged', async () => {
      const before = await account(gateway, key);
      await refusal(await providerSays(200, { hello: 'there' }), 'chat', 502, 'upstream_error');
      await refusal(await providerSays(200, []), 'chat', 502, 'upstream_error');
      assert.deepEqual(await account(gateway, key), before);
      await auditClean(gateway);
    });

    test('[R61] nothing of its headers reaches the client, in errors either', async () => {
      const private_ = { 'set-cookie': 'a=b', 'x-ratelimit-remaining-tokens': '3', 'openai-organization': 'org-1' };
      for (const status of [400, 500]) {
        const { headers } = await providerSays(status, { error: { message: 'no' } }, private_);
        for (const name of Object.keys(private_)) assert.equal(headers.get(name), null, name);
      }
    });
  });

  test('[R31] one that cannot be reached is provider_unavailable', async () => {
    const dead = await gatedUpstream();
    await dead[Symbol.asyncDispose]();
    await using gateway = await startedGateway({ config: dead.config });
    const key = await gateway.creditKey();
    const response = say(key, 'chat', 'go', { model: 'gated/one' });
    await refusal(response, 'chat', 502, 'provider_unavailable');
    assert.equal((await gateway.admin.showKey(key.id)).used, 0);
    await auditClean(gateway);
  });
});
