/** Every kind of failed request, explained by `gateway requests show` from its id alone: one golden text each. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { AttemptRecord, type RequestRecord, type RunningRequest } from '../../../src/core/request-record.ts';
import { explain } from '../../../src/observe/explain.ts';
import { entryOf } from '../../../src/observe/request-log/entry.ts';
import { viewOf } from '../../../src/observe/request-log/view.ts';
import { adminFetch } from '../../support/admin-fetch.ts';
import { commandJson } from '../../support/admin-fixture.ts';
import { faultyGateway } from '../../support/faulty-gateway.ts';
import { RecordedRequests } from '../../support/recorded-requests.ts';
import { requestRecord } from '../../support/request-entries.ts';
import { assertGolden, story } from '../../support/request-story.ts';
import {
  ask,
  ClientStream,
  configText,
  type ScriptedGateway,
  scriptedGateway,
} from '../../support/scripted-gateway.ts';
import { call } from '../../support/started-gateway.ts';
import { type ScriptedCall, ScriptedServer } from '../../support/upstreams/scripted.ts';
import { SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const { opening, text, closing, overloaded, whole, request } = SPEECH.chat;
const recorded = new RecordedRequests();
let scripted: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  // The circuit stays out of it: each story is about one failure.
  scripted = await scriptedGateway({
    provider: { circuit_breaker: false },
    timeouts: { first_byte: 4 },
    // A text beyond it is counted in no time.
    model: { context_window: 20_000 },
    observers: [recorded],
  });
  key = await scripted.gateway.creditKey({ label: 'team blue', rpm_limit: 10_000 });
});
after(() => scripted[Symbol.asyncDispose]());

interface RequestList {
  readonly data: readonly { readonly id: string }[];
}

type Answer = (call: ScriptedCall) => void;

const reply =
  (status: number, body: object, headers: Record<string, string> = {}): Answer =>
  (call) =>
    call.reply(status, body, headers);

const breaking: Answer = (call) => {
  call.streamHead();
  for (const frame of [...opening, text('Hi'), overloaded]) call.chunk(frame);
};

/** A stream of which the client has seen something. */
async function streaming(of: CreatedKey): Promise<ClientStream> {
  const upstream = Promise.withResolvers<ScriptedCall>();
  scripted.first.answer = upstream.resolve;
  const client = new ClientStream(of, 'chat', request({ stream: true })).read();
  const call = await upstream.promise;
  call.streamHead();
  for (const frame of [...opening, text('Hi')]) call.chunk(frame);
  await client.until(/Hi/);
  return client;
}

async function told(name: string, of: CreatedKey, answer: Answer | null, extra: object = {}): Promise<void> {
  scripted.first.answer = answer;
  const { headers } = await ask(of, 'chat', extra);
  assertGolden(name, await story(scripted.gateway.dataDir, headers['x-request-id']?.toString()));
}

describe('gateway requests show tells of', () => {
  test('an answer', () => told('answered', key, reply(200, whole('Hi'), { 'x-request-id': 'prov-1' })));

  test('a streamed answer', () =>
    told('streamed', key, (call) => call.stream([...opening, text('Hi'), ...closing]), { stream: true }));

  test('an answer whose usage cannot be', async () => {
    const usage = { prompt_tokens: 2_000_000, completion_tokens: 8, total_tokens: 2_000_008 };
    await told('flagged', key, reply(200, { ...whole('Hi'), usage }));
    const budgeted = await scripted.gateway.tokenKey({ budget: 100_000 });
    await told('flagged-tokens', budgeted, reply(200, { ...whole('Hi'), usage }));
  });

  test('a key that is disabled', async () => {
    const disabled = await scripted.gateway.creditKey({ label: 'old' });
    await scripted.gateway.admin.changeKey(disabled.id, { status: 'disabled' });
    await told('key', disabled, null);
  });

  test('a rate limit', async () => {
    const limited = await scripted.gateway.creditKey({ rpm_limit: 1 });
    scripted.first.answer = reply(200, whole('Hi'));
    await ask(limited, 'chat');
    await told('rate', limited, null);
  });

  test('a limit of tokens per minute', async () => {
    const limited = await scripted.gateway.creditKey({ tpm_limit: 12 });
    scripted.first.answer = reply(200, whole('Hi'));
    await ask(limited, 'chat');
    await told('rate-tokens', limited, null);
  });

  test('a limit of parallel requests', async () => {
    const limited = await scripted.gateway.creditKey({ parallel_limit: 1 });
    const client = await streaming(limited);
    await told('rate-parallel', limited, null);
    client.close();
  });

  test('a cap that is used up', async () => {
    const { admin } = scripted.gateway;
    const { id: account } = await admin.accounts.create({ name: 'acme' });
    await told('cap', await admin.createKey({ mode: 'credit', account, cap: '0', period: 'none' }), null);
  });

  test('a key that is suspended', async () => {
    const suspended = await scripted.gateway.creditKey({ label: 'late payer' });
    await scripted.gateway.admin.changeKey(suspended.id, { status: 'suspended' });
    await told('key-suspended', suspended, null);
  });

  test('a response that is not kept', async () => {
    const response = await call(`${key.origin}/v1/responses/resp_nosuch`, { key: key.key });
    assertGolden('no-response', await story(scripted.gateway.dataDir, response.headers.get('x-request-id')));
  });

  test('an Idempotency-Key of a stream that broke', async () => {
    const send = async () => {
      const client = new ClientStream(key, 'chat', request({ stream: true }), { 'idempotency-key': 'broken-1' }).read();
      const { headers } = await client.begun;
      await client.ended;
      return headers['x-request-id']?.toString();
    };
    scripted.first.answer = breaking;
    await send();
    assertGolden('idempotency-broken', await story(scripted.gateway.dataDir, await send()));
  });

  test('a balance that is too small', async () =>
    told('balance', await scripted.gateway.creditKey({ credit: '0.000001' }), null));

  test('an input that is too long', () =>
    told('context', key, null, { messages: [{ role: 'user', content: 'word '.repeat(30_000) }] }));

  test('a provider that refuses the credential', () =>
    told('provider-401', key, reply(401, { error: { message: 'bad key' } })));

  test('a provider that limits', () =>
    told(
      'provider-429',
      key,
      reply(429, { error: { message: 'slow down' } }, { 'retry-after': '7', 'x-request-id': 'prov-2' }),
    ));

  test('a provider that fails', () => told('provider-500', key, reply(500, { error: { message: 'boom' } })));

  test('a provider that never answers', () => told('time-out', key, () => {}));

  test('a stream that breaks', () => told('broken-stream', key, breaking, { stream: true }));

  test('a client that goes away', async () => {
    const client = await streaming(key);
    const ended = recorded.next();
    client.close();
    assertGolden('cancelled', await story(scripted.gateway.dataDir, (await ended).requestId));
  });

  test('an operator who stops it', async () => {
    const client = await streaming(key);
    const id = String((await client.begun).headers['x-request-id']);
    assert.equal((await adminFetch(scripted.gateway.dataDir)(`/requests/running/${id}`, 'DELETE')).status, 200);
    await client.ended;
    assertGolden('operator', await story(scripted.gateway.dataDir, id));
  });

  test('an operator who stops it before the provider has answered', async () => {
    const upstream = Promise.withResolvers<ScriptedCall>();
    scripted.first.answer = upstream.resolve;
    const answer = ask(key, 'chat');
    await upstream.promise;
    const admin = adminFetch(scripted.gateway.dataDir);
    const { body } = await admin('/requests/running');
    const { data } = body as { readonly data: readonly RunningRequest[] };
    const id = data.find(({ streamed }) => !streamed)?.id;
    assert.equal((await admin(`/requests/running/${id}`, 'DELETE')).status, 200);
    assert.equal((await answer).headers['x-request-id'], id);
    assertGolden('operator-early', await story(scripted.gateway.dataDir, id));
  });

  test('a background response that was cancelled, one that its provider refused, and one that broke', async () => {
    const { opening, text, overloaded, request } = SPEECH.responses;
    const begin = (answer: Answer): ClientStream => {
      scripted.first.answer = answer;
      return new ClientStream(key, 'responses', request({ stream: true, background: true })).read();
    };
    const toldOf = async (name: string, client: ClientStream): Promise<void> => {
      const { headers } = await client.begun;
      await client.ended;
      assertGolden(name, await story(scripted.gateway.dataDir, headers['x-request-id']?.toString()));
    };
    const producing: Answer = (call) => {
      call.streamHead();
      for (const frame of [...opening, text('Hi')]) call.chunk(frame);
    };
    const cancelled = begin(producing);
    await cancelled.until(/Hi/);
    const id = String((await cancelled.begun).headers['x-request-id']).replace('req_', 'resp_');
    await call(`${key.origin}/v1/responses/${id}/cancel`, { method: 'POST', key: key.key });
    await toldOf('run-cancelled', cancelled);
    await toldOf('run-refused', begin(reply(500, { error: { message: 'boom' } })));
    const broken = begin((call) => {
      producing(call);
      call.chunk(overloaded);
    });
    await toldOf('run-broken', broken);
  });

  test('a client that had gone before it could be answered, or told of a failure', () => {
    const gone = (change: Partial<RequestRecord>): string => {
      const record = Object.assign(requestRecord(), { status: null, clientClosed: true, ...change });
      return explain(viewOf(entryOf(record))).join('\n');
    };
    assert.match(gone({}), /: cancelled by the client\n/);
    assert.match(gone({}), /^Outcome: The client closed the connection before the answer was complete\.$/m);
    assert.match(
      gone({ condition: 'rate_limit_exceeded', message: 'Retry in 1 s.' }),
      /^Outcome: The client could no longer be told: Retry in 1 s\.$/m,
    );
  });

  test('a provider that asks for a credential and was sent none', () => {
    const record = requestRecord({ status: 502, condition: 'upstream_error', providers: [] });
    const target = { provider: 'free', upstreamModel: 'm', format: 'chat', weight: 1 } as const;
    const attempt = new AttemptRecord(target, 'passthrough', 0, 0);
    record.attempts.push(Object.assign(attempt, { status: 401, outcome: 'failed', condition: 'upstream_error' }));
    const told = explain(viewOf(entryOf(record))).join('\n');
    assert.match(told, /^For the operator: Provider free wants a credential and was sent none: give it an api_key/m);
  });

  test('a store that is out of reach, before the admission, after the answer, and for the key itself', async () => {
    const provider = await ScriptedServer.start();
    const base_url = `http://127.0.0.1:${provider.port}/v1`;
    const config = configText({
      providers: { one: { kind: 'openai', base_url, api_key: 'sk-one', formats: ['chat'] } },
      targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
      limits: { settle_wait: 0.2 },
    });
    {
      await using faulty = await faultyGateway(config);
      const paying = await faulty.admin.createKey({ mode: 'credit', credit: '5', label: 'team blue' });
      const unseen = await faulty.admin.createKey({ mode: 'credit', credit: '5' });
      provider.answer = (call) => {
        faulty.store.goDown();
        call.reply(200, whole('Hi'));
      };
      const late = await ask(paying, 'chat');
      assertGolden('store-down-at-the-end', await story(faulty.dataDir, late.headers['x-request-id']?.toString()));
      const refused = await ask(paying, 'chat');
      assertGolden('store-down', await story(faulty.dataDir, refused.headers['x-request-id']?.toString()));
      const answers = await Promise.all(Array.from({ length: 6 }, () => ask(unseen, 'chat')));
      for (const { status, headers } of answers) {
        assert.equal(status, 503);
        assertGolden('store-down-new-key', await story(faulty.dataDir, headers['x-request-id']?.toString()));
      }
    }
    await provider.close();
  });
});

describe('gateway requests show tells, of a model with two targets, of', () => {
  let two: ScriptedGateway;
  let payer: CreatedKey;

  before(async () => {
    two = await scriptedGateway({
      servers: 2,
      provider: { circuit_breaker: false },
      routing: { order: 'listed', max_attempts: 3 },
    });
    payer = await two.gateway.creditKey({ label: 'team blue' });
  });
  after(() => two[Symbol.asyncDispose]());

  /** The commands that it names must find the request. */
  async function toldOf(name: string, first: Answer, second: Answer): Promise<void> {
    two.first.answer = first;
    two.second.answer = second;
    const id = String((await ask(payer, 'chat')).headers['x-request-id']);
    const found = await story(two.gateway.dataDir, id);
    assertGolden(name, found);
    for (const [, line = ''] of found.replaceAll(/\s+/g, ' ').matchAll(/"gateway (requests list [^"]+)"/g)) {
      const { data } = await commandJson<RequestList>(two.gateway.dataDir, ...line.split(' '));
      assert.notEqual(
        data.find((request) => request.id === id),
        undefined,
        line,
      );
    }
  }

  test('a provider that failed before another answered', () =>
    toldOf('failed-over', reply(500, { error: { message: 'boom' } }), reply(200, whole('Hi'))));

  test('providers that failed one after the other', () =>
    toldOf('failed-over-in-vain', reply(500, {}), reply(400, { error: { message: 'no' } })));

  test('a target that rested while another answered, and one that rested and was asked last', async () => {
    const leaveAlone = reply(503, {}, { 'retry-after': '600' });
    two.first.answer = leaveAlone;
    two.second.answer = reply(200, whole('Hi'));
    await ask(payer, 'chat');
    await toldOf('cooling', leaveAlone, reply(200, whole('Hi')));
    await toldOf('cooling-asked', reply(200, whole('Hi')), reply(403, { error: { message: 'no' } }));
  });

  test('a provider that limits every credential', async () => {
    await using pooled = await scriptedGateway({
      servers: 2,
      provider: { api_key: undefined, api_keys: ['sk-secret-one-0123', 'sk-secret-two-0123'], circuit_breaker: false },
      routing: { order: 'listed', max_attempts: 3 },
    });
    pooled.first.answer = reply(429, { error: { message: 'slow down' } });
    pooled.second.answer = reply(200, whole('Hi'));
    const { headers } = await ask(await pooled.gateway.creditKey(), 'chat');
    const found = await story(pooled.gateway.dataDir, headers['x-request-id']?.toString());
    assertGolden('provider-429-everywhere', found.replace(/credential \d\)/g, 'credential N)'));
  });
});
