/** What the gateway sends over OTLP, as the OpenTelemetry Collector understands it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { attributesOf, OtlpReceiver } from '../support/otlp-receiver.ts';
import { ask, configText } from '../support/scripted-gateway.ts';
import { startedGateway } from '../support/started-gateway.ts';
import { ScriptedServer } from '../support/upstreams/scripted.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../support/upstreams/spoken.ts';
import { tool } from './tools.ts';

const { path, skip } = tool('otelcol');
const REQUESTS = 5;
/** For what never comes. */
const ARRIVED_MS = 120_000;

/** A Collector that sends what it received on as JSON, at once. */
function collectorConfig(port: number, to: string): string {
  const pipeline = { receivers: ['otlp'], exporters: ['otlp_http'] };
  return JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      otlp_http: { endpoint: to, encoding: 'json', compression: 'none', sending_queue: { enabled: false } },
    },
    service: {
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
      pipelines: { traces: pipeline, metrics: pipeline },
    },
  });
}

for (const protocol of ['http/protobuf', 'http/json']) {
  test(`the Collector takes traces and metrics over ${protocol}`, { skip }, async () => {
    const receiver = await OtlpReceiver.start();
    const provider = await ScriptedServer.start();
    provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    const port = await freePort();
    const collector = spawn(path, ['--config', `yaml:${collectorConfig(port, receiver.url)}`], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const exited = once(collector, 'exit');
    try {
      await listening(port, exited);
      const config = configText({
        providers: {
          one: {
            kind: 'openai',
            base_url: `http://127.0.0.1:${provider.port}/v1`,
            api_key: 'secret',
            formats: ['chat'],
          },
        },
        targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
      });
      {
        await using gateway = await startedGateway({
          config,
          env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_EXPORTER_OTLP_PROTOCOL: protocol },
        });
        const key = await gateway.creditKey();
        for (let i = 0; i < REQUESTS; i += 1) assert.equal((await ask(key, 'chat')).status, 200);
      }
      // Its end sends the last spans, and waits for two seconds at most until the Collector has passed them on.
      const requestsNow = () =>
        receiver.spans.filter((span) => attributesOf(span)['http.route'] === '/v1/chat/completions');
      const countNow = (): number => {
        const durations = receiver.metrics.findLast(({ name }) => name === 'gen_ai.server.request.duration');
        return Number(durations?.histogram?.dataPoints[0]?.count ?? 0);
      };
      const untilMs = Date.now() + ARRIVED_MS;
      while ((requestsNow().length < REQUESTS || countNow() < REQUESTS) && Date.now() < untilMs) await delay(50);
      const requests = requestsNow();
      assert.equal(requests.length, REQUESTS);
      for (const span of requests) {
        const attributes = attributesOf(span);
        assert.equal(attributes['gen_ai.usage.input_tokens'], INPUT_TOKENS);
        assert.equal(attributes['gen_ai.usage.output_tokens'], OUTPUT_TOKENS);
        assert.ok(Number(attributes['gateway.cost_credits']) > 0);
        const attempts = receiver.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
        assert.deepEqual(
          attempts.map((attempt) => [attempt.traceId, attributesOf(attempt)['gateway.outcome']]),
          [[span.traceId, 'complete']],
        );
      }
      assert.equal(countNow(), REQUESTS);
    } finally {
      collector.kill();
      await exited;
      await provider.close();
      await receiver.close();
    }
  });
}

async function listening(port: number, exited: Promise<unknown>): Promise<void> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  for (;;) {
    assert.equal(ended, false, 'the Collector did not start; its own lines are above');
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    if (answer !== null) return;
    await delay(50);
  }
}
