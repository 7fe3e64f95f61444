/** Where traces and metrics are sent, by the variables that every OpenTelemetry program knows. */
import type { OtlpTarget, TelemetrySettings } from '../core/telemetry.ts';
import { validateHeaderName, validateHeaderValue } from '../lib/node-http.ts';
import { type Environment, SettingError, shown } from './settings.ts';

/** Null where nothing of it is set, or all of it is switched off: then nothing of it is even loaded. */
export function readTelemetry(env: Environment): TelemetrySettings | null {
  if (given(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  const traces = readTarget(env, 'TRACES', 'v1/traces');
  const metrics = readTarget(env, 'METRICS', 'v1/metrics');
  if (traces === null && metrics === null) return null;
  const resource = readPairs(env, 'OTEL_RESOURCE_ATTRIBUTES');
  return {
    traces,
    metrics,
    serviceName: given(env, 'OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'model-gateway',
    resource,
    sampler: readSampler(env),
    metricsIntervalMs: readMilliseconds(env, 'OTEL_METRIC_EXPORT_INTERVAL', 60_000),
  };
}

type Signal = 'TRACES' | 'METRICS';

const GENERAL_ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';

function readTarget(env: Environment, signal: Signal, path: string): OtlpTarget | null {
  const name = `OTEL_${signal}_EXPORTER`;
  const exporter = given(env, name);
  if (exporter === 'none') return null;
  if (exporter !== undefined && exporter !== 'otlp') {
    throw new SettingError(name, ` is ${shown(exporter)}: expected one of otlp, none`);
  }
  const setting = settingOf(env, signal, 'ENDPOINT');
  const address = given(env, setting) ?? (exporter === undefined ? null : 'http://localhost:4318');
  if (address === null) return null;
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    // What follows the question mark may be a secret.
    const known = address.replace(/\?.*/s, '?…');
    throw new SettingError(
      setting,
      ` is ${shown(known)}: must be an http or https address, e.g. http://localhost:4318`,
    );
  }
  // The address of one signal is whole; that of all is what their paths are below.
  if (setting === GENERAL_ENDPOINT) url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  const headers = {
    ...readHeaders(env, 'OTEL_EXPORTER_OTLP_HEADERS'),
    ...readHeaders(env, `OTEL_EXPORTER_OTLP_${signal}_HEADERS`),
  };
  return {
    url: url.href,
    headers,
    protocol: readProtocol(env, settingOf(env, signal, 'PROTOCOL')),
    timeoutMs: readMilliseconds(env, settingOf(env, signal, 'TIMEOUT'), 10_000),
  };
}

/** The variable for the signal alone, where it is given; the one for all of them otherwise. */
function settingOf(env: Environment, signal: Signal, name: 'ENDPOINT' | 'PROTOCOL' | 'TIMEOUT'): string {
  const own = `OTEL_EXPORTER_OTLP_${signal}_${name}`;
  return given(env, own) === undefined ? `OTEL_EXPORTER_OTLP_${name}` : own;
}

function readProtocol(env: Environment, name: string): OtlpTarget['protocol'] {
  const protocol = given(env, name) ?? 'http/protobuf';
  if (protocol === 'http/protobuf' || protocol === 'http/json') return protocol;
  throw new SettingError(
    name,
    ` is ${shown(protocol)}: expected one of http/protobuf, http/json (a Collector accepts both on port 4318)`,
  );
}

const SAMPLERS: Readonly<Record<string, (ratio: number) => TelemetrySettings['sampler']>> = {
  always_on: () => ({ parentBased: false, ratio: 1 }),
  always_off: () => ({ parentBased: false, ratio: 0 }),
  traceidratio: (ratio) => ({ parentBased: false, ratio }),
  parentbased_always_on: () => ({ parentBased: true, ratio: 1 }),
  parentbased_always_off: () => ({ parentBased: true, ratio: 0 }),
  parentbased_traceidratio: (ratio) => ({ parentBased: true, ratio }),
};

function readSampler(env: Environment): TelemetrySettings['sampler'] {
  const name = given(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const sampler = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined;
  if (sampler === undefined) {
    const known = Object.keys(SAMPLERS).join(', ');
    throw new SettingError('OTEL_TRACES_SAMPLER', ` is ${shown(name)}: expected one of ${known}`);
  }
  const text = given(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = /^\d{1,3}(\.\d{1,12})?$/.test(text) ? Number(text) : Number.NaN;
  if (ratio >= 0 && ratio <= 1) return sampler(ratio);
  throw new SettingError('OTEL_TRACES_SAMPLER_ARG', ` is ${shown(text)}: must be a number from 0 to 1, such as 0.01`);
}

/** `a=1,b=2`, with percent-encoded values. They may be secrets: none is shown. */
function readPairs(env: Environment, name: string): Record<string, string> {
  const text = given(env, name);
  if (text === undefined) return {};
  try {
    return Object.fromEntries(
      text
        .split(',')
        .filter((pair) => pair.trim() !== '')
        .map((pair) => {
          const at = pair.indexOf('=');
          if (at < 1) throw new TypeError('no name');
          return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
        }),
    );
  } catch {
    throw new SettingError(
      name,
      ' cannot be read: must be name=value pairs separated by commas, values percent-encoded',
    );
  }
}

function readHeaders(env: Environment, name: string): Record<string, string> {
  const headers = readPairs(env, name);
  try {
    for (const [header, value] of Object.entries(headers)) {
      validateHeaderName(header);
      validateHeaderValue(header, value);
    }
  } catch {
    throw new SettingError(name, ' cannot be sent: must be names of HTTP headers, with values of one line each');
  }
  return headers;
}

function readMilliseconds(env: Environment, name: string, fallback: number): number {
  const text = given(env, name);
  if (text === undefined) return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  throw new SettingError(name, ` is ${shown(text)}: must be a number of milliseconds`);
}

function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}
