/** What a provider is asked for a count of tokens, as the operator sees it: the record, the log, the metrics and the story. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import type { AttemptRecord, RequestRecord } from '../../../src/core/request-record.ts';
import { commandJson } from '../../support/admin-fixture.ts';
import { RecordedRequests } from '../../support/recorded-requests.ts';
import { assertGolden, story } from '../../support/request-story.ts';
import { scrapeOf } from '../../support/scrape.ts';
import { ask, type ScriptedGateway, scriptedGateway, secretOf } from '../../support/scripted-gateway.ts';
import { call } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const SAID = 'a prompt that nobody else has to know';
const recorded = new RecordedRequests();
const logged: (Record<string, unknown> & { readonly level: string; readonly message: string })[] = [];
let scripted: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  const keep = (level: string) => (fields: object, message: string) => {
    logged.push({ ...fields, level, message });
  };
  scripted = await scriptedGateway({
    provider: { count_tokens: true, formats: ['messages'] },
    observers: [recorded],
    log: { ...NO_LOG, warn: keep('warn'), error: keep('error') },
  });
  key = await scripted.gateway.creditKey({ label: 'team blue', rpm_limit: 10_000 });
});
after(() => scripted[Symbol.asyncDispose]());

interface Counted {
  readonly id: string;
  readonly tokens: number;
  readonly attemptsHeader: string | null;
  readonly record: RequestRecord;
  readonly attempt: AttemptRecord;
}

/** Counts that a pause of this process made too late. */
let late = 0;

async function count(answer: (call: ScriptedCall) => void, hangs = false): Promise<Counted> {
  for (;;) {
    const counted = await countOnce(answer);
    if (hangs || counted.attempt.condition !== 'upstream_timeout') return counted;
    late += 1;
  }
}

async function countOnce(answer: (call: ScriptedCall) => void): Promise<Counted> {
  scripted.first.answer = answer;
  logged.length = 0;
  const body = { model: 'tested', messages: [{ role: 'user', content: SAID }] };
  const response = await call(`${key.origin}/v1/messages/count_tokens`, { key: key.key, body });
  assert.equal(response.status, 200);
  const { input_tokens: tokens } = (await response.json()) as { input_tokens: number };
  const id = response.headers.get('x-request-id') ?? '';
  const record = await recorded.of(id);
  const [attempt] = record.attempts;
  assert.ok(attempt);
  return { id, tokens, attemptsHeader: response.headers.get('x-gateway-attempts'), record, attempt };
}

async function assertStory(name: string, { id }: Counted): Promise<void> {
  assertGolden(name, await story(scripted.gateway.dataDir, id));
}

describe('a count of tokens', () => {
  test('that the provider gives is an attempt', async () => {
    const counted = await count((asked) => asked.reply(200, { input_tokens: 42 }, { 'request-id': 'prov-7' }));
    const { attempt, tokens, attemptsHeader } = counted;
    assert.deepEqual([tokens, attemptsHeader, logged], [42, '1', []]);
    const { provider, upstreamModel, format, lane, credential, outcome, status, providerRequestId } = attempt;
    assert.deepEqual(
      [provider, upstreamModel, format, lane, credential, outcome, status, providerRequestId],
      ['one', UPSTREAM_MODEL, 'messages', 'passthrough', 1, 'complete', 200, 'prov-7'],
    );
    const times = [counted.record.receivedAt, attempt.startedAt, attempt.firstByteAt, attempt.endedAt].map(Number);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    await assertStory('count', counted);
    const found = await commandJson<{ data: { id: string }[] }>(
      scripted.gateway.dataDir,
      ...['requests', 'list', '--provider', 'one'],
    );
    assert.ok(found.data.some(({ id }) => id === counted.id));
  });

  const failures: readonly (readonly [string, (call: ScriptedCall) => void, string, string, RegExp])[] = [
    [
      'count-401',
      (asked) => asked.reply(401, { error: { message: `bad key ${secretOf('one')}` } }),
      'error',
      'upstream_error',
      /^look at the configuration of this provider: The provider refused the credential/,
    ],
    [
      'count-404',
      (asked) => asked.reply(404, { error: { message: 'no such route' } }),
      'error',
      'upstream_error',
      /does not know this model, or does not count tokens/,
    ],
    [
      'count-400',
      (asked) => asked.reply(400, { error: { message: `never "${SAID}" for ${secretOf('one')}` } }),
      'warn',
      'invalid_request',
      /^tokens are estimated, because a provider did not count them: The provider refused the request \(status 400\)\.$/,
    ],
    ['count-500', (asked) => asked.reply(500, { error: {} }), 'warn', 'upstream_error', /status 500/],
    ['count-nonsense', (asked) => asked.reply(200, { tokens: 42 }), 'warn', 'upstream_error', /no count of tokens/],
    ['count-broken', (asked) => asked.reset(), 'warn', 'upstream_error', /connection to the provider broke/],
    ['count-hangs', () => {}, 'warn', 'upstream_timeout', /gave no count within 5 s/],
  ];
  for (const [name, answer, level, condition, message] of failures) {
    test(`that fails is an attempt, in the log, and an estimate: ${name}`, async () => {
      const counted = await count(answer, condition === 'upstream_timeout');
      const { attempt, tokens, id } = counted;
      assert.ok(tokens > 4 && tokens < 20, String(tokens));
      assert.deepEqual([attempt.outcome, attempt.condition], ['failed', condition]);
      assert.match(attempt.message ?? '', /./);
      const [line, ...more] = logged;
      assert.deepEqual(
        [more, line?.level, line?.requestId, line?.keyId, line?.provider, line?.model, line?.condition],
        [[], level, id, key.id, 'one', UPSTREAM_MODEL, condition],
      );
      assert.match(line?.message ?? '', message);
      for (const secret of [SAID, secretOf('one')])
        assert.equal(JSON.stringify([line, attempt]).includes(secret), false);
      await assertStory(name, counted);
    });
  }

  test('that no provider of the model gives is estimated', async () => {
    await using plain = await scriptedGateway({ provider: { formats: ['messages'] } });
    const { key: secret, origin } = await plain.gateway.creditKey();
    const body = { model: 'tested', messages: [{ role: 'user', content: SAID }] };
    const response = await call(`${origin}/v1/messages/count_tokens`, { key: secret, body });
    assertGolden('count-here', await story(plain.gateway.dataDir, response.headers.get('x-request-id')));
  });

  test('is in the metrics of attempts, and in no other of providers', async () => {
    const scrape = await scrapeOf(scripted.gateway.dataDir);
    const attempts = (labels: object): number => scrape.sum('gateway_attempts_total', { provider: 'one', ...labels });
    assert.equal(attempts({ outcome: 'complete', condition: 'none', upstream_model: UPSTREAM_MODEL }), 1);
    assert.equal(attempts({ outcome: 'failed' }), failures.length + late);
    assert.equal(attempts({ outcome: 'failed', condition: 'upstream_timeout' }), 1 + late);
    assert.equal(scrape.sum('gateway_request_duration_seconds'), 0);
    assert.equal(scrape.sum('gateway_admissions_total'), 0);
  });

  test('that fails again and again neither opens a circuit nor lets a credential rest', async () => {
    for (const status of [500, 401, 429, 503]) {
      for (let i = 0; i < 10; i++) await count((asked) => asked.reply(status, {}, { 'retry-after': '600' }));
    }
    scripted.first.answer = (asked) => asked.reply(200, SPEECH.messages.whole('Hi'));
    const { status, headers } = await ask(key, 'messages');
    assert.deepEqual([status, headers['x-gateway-attempts']], [200, '1']);
    const scrape = await scrapeOf(scripted.gateway.dataDir);
    for (const gauge of ['gateway_circuit_open', 'gateway_targets_cooling', 'gateway_credentials_cooling']) {
      assert.equal(scrape.sum(gauge), 0, gauge);
    }
  });

  test('is not asked for where the circuit is open', async () => {
    let asked = 0;
    scripted.first.answer = (upstream) => {
      asked += 1;
      upstream.reply(500, { error: { message: 'no' } });
    };
    for (let before = -1; before < asked; ) {
      before = asked;
      await ask(key, 'messages');
    }
    const calls = asked;
    const body = { model: 'tested', messages: [{ role: 'user', content: SAID }] };
    const response = await call(`${key.origin}/v1/messages/count_tokens`, { key: key.key, body });
    const { attempts, skipped } = await recorded.of(response.headers.get('x-request-id'));
    assert.deepEqual([response.status, asked, attempts], [200, calls, []]);
    assert.deepEqual(
      skipped.map(({ target, reason }) => [target.provider, reason]),
      [['one', 'circuit_open']],
    );
  });
});
