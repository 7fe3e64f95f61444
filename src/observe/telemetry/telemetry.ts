/**
 * Traces and metrics over OTLP. Loaded only where a target is configured. Spans are made from the record of a request when
 * it has ended, so nothing of a trace is on its path; what the target does not take in time is dropped by the SDK.
 */
import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Log } from '../../core/log.ts';
import type { RequestObserver, RequestRecord } from '../../core/request-record.ts';
import type { TelemetrySettings } from '../../core/telemetry.ts';
import { readVersion } from '../../lib/version.ts';
import { warnOfDrops, warnOfLoss } from './loss.ts';
import { RequestMetrics } from './metrics.ts';
import { RequestTraces } from './traces.ts';

export interface Telemetry extends RequestObserver {
  /** Sends what is left, for a short time at most. */
  close(): Promise<void>;
}

const CLOSE_WAIT_MS = 2_000;
const SCOPE = 'model-gateway';

export async function openTelemetry(settings: TelemetrySettings, log: Log): Promise<Telemetry> {
  warnOfDrops(log);
  const resource = resourceOf(settings);
  const traces = await tracerProvider(settings, resource, log);
  const metrics = await meterProvider(settings, resource, log);
  const observers: ((record: RequestRecord) => void)[] = [];
  if (traces !== null) {
    const made = new RequestTraces(traces.getTracer(SCOPE), settings.sampler.ratio);
    observers.push((record) => made.finished(record));
  }
  if (metrics !== null) {
    const made = new RequestMetrics(metrics.getMeter(SCOPE));
    observers.push((record) => made.finished(record));
  }
  return {
    started: () => {},
    finished: (record) => {
      for (const observe of observers) observe(record);
    },
    close: async () => {
      const closed = Promise.allSettled([traces?.shutdown(), metrics?.shutdown()]);
      const late = new AbortController();
      await Promise.race([closed, delay(CLOSE_WAIT_MS, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
    },
  };
}

type Resource = ReturnType<typeof resourceFromAttributes>;

/** Every worker counts for itself, so each is an instance: sums under one name would replace each other. */
export function resourceOf(
  { resource, serviceName }: Pick<TelemetrySettings, 'resource' | 'serviceName'>,
  worker = cluster.worker?.id ?? 0,
): Resource {
  const given = resource['service.instance.id'] ?? randomUUID();
  return defaultResource().merge(
    resourceFromAttributes({
      'service.version': readVersion(),
      ...resource,
      'service.name': serviceName,
      'service.instance.id': worker === 0 ? given : `${given}/${worker}`,
    }),
  );
}

async function tracerProvider(
  { traces, sampler }: TelemetrySettings,
  resource: Resource,
  log: Log,
): Promise<TracerProvider | null> {
  if (traces === null) return null;
  const { url, headers, protocol, timeoutMs } = traces;
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: timeoutMs });
  warnOfLoss(exporter, 'traces', timeoutMs, log);
  return new TracerProvider({
    resource,
    sampler: samplerOf(sampler),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: timeoutMs })],
  });
}

/**
 * `RequestTraces` decides about requests that are in no trace yet, before anything is made for them; those get a trace, and
 * so do the attempts of all that have one. What a client has put into a trace is decided here.
 */
function samplerOf({ parentBased, ratio }: TelemetrySettings['sampler']): Sampler {
  const root = new AlwaysOnSampler();
  if (parentBased) return new ParentBasedSampler({ root });
  const byTraceId = new TraceIdRatioBasedSampler(ratio);
  return {
    shouldSample: (context, traceId) =>
      trace.getSpanContext(context)?.isRemote ? byTraceId.shouldSample(context, traceId) : root.shouldSample(),
    toString: () => `TraceIdRatio(${ratio})`,
  };
}

async function meterProvider(
  { metrics, metricsIntervalMs }: TelemetrySettings,
  resource: Resource,
  log: Log,
): Promise<MeterProvider | null> {
  if (metrics === null) return null;
  const { url, headers, protocol, timeoutMs } = metrics;
  const { OTLPMetricExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter = new OTLPMetricExporter({ url, headers: { ...headers }, timeoutMillis: timeoutMs });
  warnOfLoss(exporter, 'metrics', timeoutMs, log);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: metricsIntervalMs,
    exportTimeoutMillis: Math.min(timeoutMs, metricsIntervalMs),
  });
  return new MeterProvider({ resource, readers: [reader] });
}
