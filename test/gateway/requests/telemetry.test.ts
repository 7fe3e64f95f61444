/** Traces and metrics as an OTLP receiver gets them, and a receiver that hangs. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readTelemetry } from '../../../src/config/telemetry.ts';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';
import { type Log, NO_LOG } from '../../../src/core/log.ts';
import { AttemptRecord, RequestRecord } from '../../../src/core/request-record.ts';
import { readVersion } from '../../../src/lib/version.ts';
import { warnOfLoss } from '../../../src/observe/telemetry/loss.ts';
import { openTelemetry, resourceOf } from '../../../src/observe/telemetry/telemetry.ts';
import { attributesOf, OtlpReceiver } from '../../support/otlp-receiver.ts';
import { startPostgres } from '../../support/postgres.ts';
import { requestRecord } from '../../support/request-entries.ts';
import { ask, ClientStream, configText } from '../../support/scripted-gateway.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { ScriptedServer } from '../../support/upstreams/scripted.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const PROMPT = 'a prompt that no trace may hold';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

let receiver: OtlpReceiver;
let providers: [ScriptedServer, ScriptedServer];

before(async () => {
  receiver = await OtlpReceiver.start();
  providers = [await ScriptedServer.start(), await ScriptedServer.start()];
});
after(async () => {
  await receiver.close();
  for (const provider of providers) await provider.close();
});

function gatewayWith(env: Record<string, string>, log: Log = NO_LOG): Promise<StartedGateway> {
  const provider = (server: ScriptedServer): object => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${server.port}/v1`,
    api_key: 'sk-one-secret-0123',
    formats: ['chat'],
  });
  const config = configText({
    providers: { one: provider(providers[0]), two: { ...provider(providers[1]), forward_traceparent: true } },
    targets: ['one', 'two'].map((name) => ({ provider: name, model: UPSTREAM_MODEL })),
    routing: { max_attempts: 2, cache_affinity: false },
  });
  return startedGateway({ config, log, env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env } });
}

describe('with an OTLP endpoint', () => {
  test('a request is a server span with a client span for each attempt, below the trace of the client', async () => {
    const gateway = await gatewayWith({
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc',
      OTEL_SERVICE_NAME: 'tested-gateway',
    });
    const key = await gateway.creditKey();
    providers[0].answer = (call) => {
      assert.equal(call.headers.has('traceparent'), false, 'a provider gets it by setting only');
      call.reply(500, { error: { message: PROMPT } });
    };
    const { opening, text, closing } = SPEECH.chat;
    const seen: (string | undefined)[] = [];
    providers[1].answer = (call) => {
      seen.push(call.headers.get('traceparent'));
      call.stream([...opening, text('Hi'), ...closing]);
    };
    const body = SPEECH.chat.request({ stream: true, messages: [{ role: 'user', content: PROMPT }] });
    const client = new ClientStream(key, 'chat', body, { traceparent: `00-${TRACE}-${PARENT}-01` }).read();
    const id = String((await client.begun).headers['x-request-id']);
    await client.ended;
    await ask(key, 'chat', { model: 'no/such' });
    for (const provider of providers) provider.answer = (call) => call.reply(500, { error: { message: PROMPT } });
    await ask(key, 'chat');
    assert.deepEqual(seen, [`00-${TRACE}-${PARENT}-01`]);
    await gateway[Symbol.asyncDispose]();
    // A gateway waits only so long for what is left to be sent; on a busy machine it arrives after that.
    const latest = (name: string) => receiver.metrics.findLast((metric) => metric.name === name);
    const count = (name: string): number =>
      (latest(name)?.histogram?.dataPoints ?? []).reduce((sum, point) => sum + Number(point.count), 0);
    await receiver.until(({ spans }) => spans.filter(({ kind }) => kind === SERVER).length >= 3);
    await receiver.until(() => count('gen_ai.server.request.duration') >= 3);

    const spans = receiver.spans.filter(({ traceId }) => traceId === TRACE);
    const [server] = spans.filter(({ kind }) => kind === SERVER);
    assert.ok(server);
    assert.deepEqual([server.name, server.parentSpanId, server.status.code ?? 0], ['chat tested', PARENT, 0]);
    const attributes = attributesOf(server);
    assert.equal(attributes['gateway.request_id'], id);
    assert.equal(attributes['gateway.key_id'], key.id);
    assert.equal(attributes['gen_ai.usage.input_tokens'], INPUT_TOKENS);
    assert.equal(attributes['gen_ai.usage.output_tokens'], OUTPUT_TOKENS);
    assert.equal(attributes['gen_ai.response.model'], undefined, 'nobody has read what the answer names');
    assert.equal(attributes['http.response.status_code'], 200);
    assert.equal(attributes['http.route'], '/v1/chat/completions');
    assert.ok(Number(attributes['gateway.cost_credits']) > 0);
    assert.deepEqual(
      server.events.map(({ name }) => name),
      ['gateway.admitted', 'gateway.first_token', 'gateway.settled'],
    );
    const attempts = spans.filter(({ kind }) => kind === CLIENT);
    assert.deepEqual(
      attempts.map((span) => [attributesOf(span)['gen_ai.provider.name'], span.status.code ?? 0, span.parentSpanId]),
      [
        ['one', ERROR, server.spanId],
        ['two', 0, server.spanId],
      ],
    );
    for (const span of attempts) assert.equal(attributesOf(span)['gen_ai.request.model'], UPSTREAM_MODEL);
    for (const span of spans) assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
    const refused = receiver.spans.find((span) => attributesOf(span)['error.type'] === 'model_not_found');
    assert.equal(refused?.name, 'chat unknown model', 'a name that is not in the catalog is no name of a span');
    assert.equal(refused?.status.code ?? 0, 0, 'the service did what it should');
    const failed = receiver.spans.find((span) => attributesOf(span)['http.response.status_code'] === 502);
    assert.ok(failed);
    assert.equal(failed.status.code, ERROR);
    assert.equal(JSON.stringify(receiver.spans).includes(PROMPT), false);
    assert.deepEqual([...receiver.authorizations], ['Bearer abc']);

    assert.equal(receiver.resource['service.name'], 'tested-gateway');
    assert.equal(receiver.resource['service.version'], readVersion());
    assert.equal(receiver.resource['telemetry.sdk.language'], 'nodejs');
    assert.match(String(receiver.resource['service.instance.id']), /^[0-9a-f-]{36}$/);

    assert.equal(count('gen_ai.server.request.duration'), 3);
    assert.equal(count('gen_ai.client.operation.duration'), 4);
    assert.equal(count('gen_ai.client.token.usage'), 2);
    assert.equal(count('gen_ai.server.time_to_first_token'), 1);
    assert.ok(Number(latest('gateway.cost')?.sum?.dataPoints[0]?.asDouble) > 0);
  });

  test('protobuf is the default, and a sampler that takes none sends no trace', async () => {
    const own = await OtlpReceiver.start();
    {
      await using gateway = await gatewayWith({
        OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
        OTEL_TRACES_SAMPLER: 'always_off',
      });
      providers[0].answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
      await ask(await gateway.creditKey(), 'chat');
    }
    await own.until(({ contentTypes }) => contentTypes.size > 0);
    assert.deepEqual([...own.contentTypes], ['application/x-protobuf']);
    assert.equal(own.calls, 1, 'the metrics');
    await own.close();
  });

  for (const workers of ['1', '2']) {
    test(`an endpoint that hangs stalls no request and no stop, of ${workers} workers`, async () => {
      await using postgres = await startPostgres();
      const own = await OtlpReceiver.start();
      own.hanging = true;
      {
        await using gateway = await gatewayWith({
          GATEWAY_WORKERS: workers,
          DATABASE_URL: postgres.url(await postgres.createDatabase()),
          OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
          OTEL_METRIC_EXPORT_INTERVAL: '50',
          OTEL_EXPORTER_OTLP_TIMEOUT: '3600000',
        });
        providers[0].answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
        const key = await gateway.creditKey();
        while (own.calls === 0) assert.equal((await ask(key, 'chat')).status, 200);
        for (let i = 0; i < 5; i++) assert.equal((await ask(key, 'chat')).status, 200);
      }
      await own.close();
    });
  }
});

describe('a count of tokens', () => {
  test('has a client span and a duration, by the name of its operation, and is no generation', async () => {
    const own = await OtlpReceiver.start();
    const settings = readTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: own.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' });
    assert.ok(settings);
    const telemetry = await openTelemetry(settings, NO_LOG);
    const record = requestRecord({ providers: [], endpoint: 'count_tokens' });
    const target = { provider: 'one', upstreamModel: UPSTREAM_MODEL, format: 'messages', weight: 1 } as const;
    const attempt = Object.assign(new AttemptRecord(target, 'passthrough', 1, 0), {
      startedAt: record.receivedAt + 1,
      endedAt: record.receivedAt + 5,
      outcome: 'failed',
      condition: 'upstream_timeout',
    } as const);
    record.attempts.push(attempt);
    record.finish(telemetry);
    await telemetry.close();
    await own.until(({ spans, metrics }) => spans.length === 2 && metrics.length > 0);
    const [client, server] = [CLIENT, SERVER].map((kind) => own.spans.find((span) => span.kind === kind));
    assert.ok(client && server);
    assert.deepEqual([server.name, client.name], ['count_tokens', `count_tokens ${UPSTREAM_MODEL}`]);
    assert.deepEqual([client.parentSpanId, client.status.code], [server.spanId, ERROR]);
    for (const span of [client, server]) assert.equal(attributesOf(span)['gen_ai.operation.name'], 'count_tokens');
    assert.deepEqual(
      own.metrics.map(({ name }) => name),
      ['gen_ai.client.operation.duration'],
    );
    await own.close();
  });
});

describe('what the target refuses', () => {
  test('is a warning with the reason, once a minute, and nothing to a request', async () => {
    const own = await OtlpReceiver.start();
    own.refusal = 401;
    const warnings: object[] = [];
    const log: Log = {
      ...NO_LOG,
      warn: (fields, message) => {
        if ('signal' in fields) warnings.push({ ...fields, message });
      },
    };
    {
      await using gateway = await gatewayWith(
        { OTEL_EXPORTER_OTLP_ENDPOINT: own.url, OTEL_METRIC_EXPORT_INTERVAL: '20', OTEL_TRACES_EXPORTER: 'none' },
        log,
      );
      providers[0].answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
      const key = await gateway.creditKey();
      while (own.calls < 3 || warnings.length === 0) assert.equal((await ask(key, 'chat')).status, 200);
    }
    const message = 'the OTLP target does not take what it is sent; requests go on';
    assert.deepEqual(warnings[0], { signal: 'metrics', reason: 'Unauthorized', code: 401, message });
    assert.ok(warnings.length < own.calls, `${warnings.length} warnings for ${own.calls} exports`);
    await own.close();
  });
});

describe('what the target says about that which it has taken', () => {
  /** The first warning after a span was sent to a target that answers with this. */
  async function warningAfter(remark: string, protocol: string): Promise<{ readonly reason: string }> {
    const own = await OtlpReceiver.start();
    own.remark = remark;
    const told = Promise.withResolvers<object>();
    const settings = readTelemetry({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    });
    assert.ok(settings);
    const telemetry = await openTelemetry(settings, { ...NO_LOG, warn: told.resolve });
    new RequestRecord('req_1', ENDPOINTS.usage, Date.now()).finish(telemetry);
    await telemetry.close();
    const warning = await told.promise;
    await own.close();
    assert.ok('reason' in warning && typeof warning.reason === 'string');
    return { reason: warning.reason };
  }

  test('is in the warning: how much it has rejected, and why', async () => {
    const remark = { partialSuccess: { rejectedSpans: '3', errorMessage: 'too many' } };
    const { reason } = await warningAfter(JSON.stringify(remark), 'http/json');
    assert.equal(reason, `Received Partial Success response: ${JSON.stringify(remark.partialSuccess)}`);
  });

  test('is cut, and shown as text, where it is no answer of OTLP', async () => {
    const { reason } = await warningAfter(`<html>\u001b[2J\n${'\u{1f600}'.repeat(5_000)}`, 'http/protobuf');
    assert.match(reason, /could not deserialize response .*Unknown wire type 4.* <html>\\u\{1b\}\[2J\\u\{a\}/);
    assert.ok(reason.length <= 300 && reason.isWellFormed(), reason);
    assert.doesNotMatch(reason, /\p{Cc}/u);
  });
});

describe('a target that is too slow', () => {
  test('to end an answer that it has begun is a warning too', async () => {
    const told = Promise.withResolvers<object>();
    const exporter = { export: (): void => {} };
    warnOfLoss(exporter, 'traces', 1, { ...NO_LOG, warn: told.resolve });
    const alive = setInterval(() => {}, 1_000);
    exporter.export();
    assert.deepEqual(await told.promise, {
      signal: 'traces',
      reason: 'no complete answer within 1 ms',
      code: undefined,
    });
    clearInterval(alive);
  });

  test('loses spans, and that is a warning', async () => {
    const own = await OtlpReceiver.start();
    own.slow = true;
    const warnings: object[] = [];
    const log: Log = { ...NO_LOG, warn: (fields) => warnings.push(fields) };
    const settings = readTelemetry({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own.url });
    assert.ok(settings);
    const telemetry = await openTelemetry(settings, log);
    const sendSpan = (): void => new RequestRecord('req_1', ENDPOINTS.usage, Date.now()).finish(telemetry);
    // More than one batch that is under way and all that may wait for it.
    for (let i = 0; i < 4_000; i++) sendSpan();
    while (own.calls === 0) await new Promise((resolve) => setImmediate(resolve));
    own.answer();
    while (warnings.length === 0) {
      sendSpan();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.match(JSON.stringify(warnings), /Dropped \d+ spans/);
    await telemetry.close();
    await own.close();
  });
});

describe('an instance of the service', () => {
  test('is every serving thread: sums under one name would replace each other', () => {
    const settings = { serviceName: 'gateway', resource: { 'service.instance.id': 'here', team: 'a' } };
    const attributes = [0, 1, 2].map((thread) => resourceOf(settings, thread).attributes);
    assert.deepEqual(
      attributes.map((each) => each['service.instance.id']),
      ['here', 'here/1', 'here/2'],
    );
    assert.equal(attributes[1]?.team, 'a');
    const made = [1, 1].map(() => resourceOf({ ...settings, resource: {} }, 0).attributes['service.instance.id']);
    assert.notEqual(made[0], made[1], 'several gateways are told apart without a setting');
  });
});
