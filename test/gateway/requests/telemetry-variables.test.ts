/** What the OTEL_* variables say, and which of them are refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readTelemetry } from '../../../src/config/telemetry.ts';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { RequestRecord } from '../../../src/core/request-record.ts';
import { openTelemetry } from '../../../src/observe/telemetry/telemetry.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';

describe('the OTEL_* variables', () => {
  test('unset, or switched off, nothing is sent', () => {
    assert.equal(readTelemetry({}), null);
    assert.equal(readTelemetry({ OTEL_SERVICE_NAME: 'x' }), null);
    assert.equal(readTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:1', OTEL_SDK_DISABLED: 'true' }), null);
    const metricsOnly = readTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:1/', OTEL_TRACES_EXPORTER: 'none' });
    assert.deepEqual([metricsOnly?.traces, metricsOnly?.metrics?.url], [null, 'http://x:1/v1/metrics']);
  });

  test('of the endpoint: the path of a signal comes before a query, and the address of one signal is taken as it is', () => {
    const urls = (env: Record<string, string>): unknown => {
      const settings = readTelemetry(env);
      return [settings?.traces?.url, settings?.metrics?.url];
    };
    const general = 'OTEL_EXPORTER_OTLP_ENDPOINT';
    assert.deepEqual(urls({ [general]: 'http://h/otlp?token=abc' }), [
      'http://h/otlp/v1/traces?token=abc',
      'http://h/otlp/v1/metrics?token=abc',
    ]);
    assert.deepEqual(urls({ [general]: 'http://h:4318//?a=/b/' }), [
      'http://h:4318/v1/traces?a=/b/',
      'http://h:4318/v1/metrics?a=/b/',
    ]);
    assert.deepEqual(urls({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://h/otlp/?token=abc', [general]: 'http://g' }), [
      'http://h/otlp/?token=abc',
      'http://g/v1/metrics',
    ]);
    assert.deepEqual(urls({ OTEL_TRACES_EXPORTER: 'otlp' }), ['http://localhost:4318/v1/traces', undefined]);
    assert.throws(() => readTelemetry({ [general]: 'ftp://h/otlp?token=abc' }), {
      message: /^OTEL_EXPORTER_OTLP_ENDPOINT is "ftp:\/\/h\/otlp\?…": must be an http or https address/,
    });
  });

  test('for one signal win over those for all', () => {
    const settings = readTelemetry({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:1',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://y:1/here',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
      OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '500',
    });
    assert.deepEqual(settings?.traces, {
      url: 'http://y:1/here',
      headers: { a: '2', b: '1' },
      protocol: 'http/protobuf',
      timeoutMs: 3_000,
    });
    assert.deepEqual(settings.metrics, {
      url: 'http://x:1/v1/metrics',
      headers: { a: '1', b: '1' },
      protocol: 'http/json',
      timeoutMs: 500,
    });
  });

  test('for one signal are what its exporter goes by', async () => {
    const own = await OtlpReceiver.start();
    const settings = readTelemetry({
      OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    });
    assert.ok(settings);
    const telemetry = await openTelemetry(settings, NO_LOG);
    const record = new RequestRecord('req_1', ENDPOINTS.chat, Date.now());
    record.finish(telemetry);
    await telemetry.close();
    await own.until(({ contentTypes }) => contentTypes.size === 2);
    assert.ok(own.metrics.length > 0, 'in JSON');
    assert.equal(own.spans.length, 0, 'in protobuf, which the receiver does not read');
    await own.close();
  });

  test('that cannot be used are refused with what is expected', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:1' };
    const wrong: readonly [Record<string, string>, RegExp][] = [
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' }, /OTEL_EXPORTER_OTLP_ENDPOINT .* must be an http or https address/],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /expected one of http\/protobuf, http\/json/],
      [
        { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
        /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "grpc": expected one of http\/protobuf, http\/json/,
      ],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'udp' }, /^OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is "udp"/],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '0' }, /^OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is "0": must be/],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '1s' }, /^OTEL_EXPORTER_OTLP_METRICS_TIMEOUT is "1s": must/],
      [{ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' }, /expected one of otlp, none/],
      [{ ...endpoint, OTEL_TRACES_SAMPLER: 'some' }, /OTEL_TRACES_SAMPLER .*expected one of always_on/],
      [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: '7' }, /must be a number from 0 to 1/],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, /must be a number of milliseconds/],
      [
        { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
        /^OTEL_EXPORTER_OTLP_HEADERS cannot be read: (?!.*secret)/,
      ],
      [{ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'no secret=1' }, /_HEADERS cannot be sent: (?!.*secret)/],
      [
        { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x=secret%0d%0a' },
        /TRACES_HEADERS cannot be sent: (?!.*secret)/,
      ],
    ];
    for (const [env, message] of wrong) assert.throws(() => readTelemetry(env), { message });
  });
});
