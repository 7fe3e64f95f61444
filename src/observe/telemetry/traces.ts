/**
 * A request as a trace, by the GenAI semantic conventions: a server span for the request, a client span for each attempt,
 * events for what happened between. No prompt and no answer is in it.
 */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ENDPOINTS } from '../../core/endpoints.ts';
import { creditsFromNanos } from '../../core/money.ts';
import type { AttemptRecord, RequestRecord } from '../../core/request-record.ts';
import { readTraceparent } from '../../core/traceparent.ts';
import { inputTokens } from '../../core/usage.ts';
import { given, providerAttributes } from './attributes.ts';
import { GENERATION, operationOf } from './operation.ts';

export class RequestTraces {
  readonly #tracer: Tracer;

  readonly #ratio: number;

  /** `ratio`: how many of the requests that are in no trace of their client get one. */
  constructor(tracer: Tracer, ratio: number) {
    this.#tracer = tracer;
    this.#ratio = ratio;
  }

  finished(record: RequestRecord): void {
    // What came to no endpoint has nothing that a span is about.
    if (record.endpoint === null) return;
    const parent = parentOf(record.traceparent);
    if (parent === ROOT_CONTEXT && Math.random() >= this.#ratio) return;
    const { endpoint, model, attempts } = record;
    const operation = operationOf(record);
    const name = operation === GENERATION ? `${operation} ${model ?? 'unknown model'}` : `${endpoint}`;
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: record.receivedAtMs }, parent);
    if (!span.isRecording()) return;
    span.setAttributes(requestAttributes(record, operation));
    if (record.condition !== null && !isOfClient(record.status)) span.setStatus(failed(record.message));
    addEvent(span, record, 'gateway.admitted', record.admittedAt);
    addEvent(span, record, 'gateway.first_token', record.firstContentAt);
    addEvent(span, record, 'gateway.settled', record.settledAt);
    for (const { target, reason } of record.skipped) {
      span.addEvent(
        'gateway.target_skipped',
        { ...providerAttributes(target.provider), 'gateway.reason': reason },
        record.receivedAtMs,
      );
    }
    const context = trace.setSpan(ROOT_CONTEXT, span);
    for (const attempt of attempts) this.#attempt(record, attempt, context);
    span.end(wallTime(record, record.endedAt));
  }

  #attempt(record: RequestRecord, attempt: AttemptRecord, context: Context): void {
    if (attempt.startedAt === null) return;
    const operation = operationOf(record) ?? GENERATION;
    const span = this.#tracer.startSpan(
      `${operation} ${attempt.upstreamModel}`,
      {
        kind: SpanKind.CLIENT,
        startTime: wallTime(record, attempt.startedAt),
        attributes: { 'gen_ai.operation.name': operation, ...attemptAttributes(attempt) },
      },
      context,
    );
    if (attempt.outcome === 'failed') span.setStatus(failed(attempt.message));
    addEvent(span, record, 'gateway.first_byte', attempt.firstByteAt);
    span.end(wallTime(record, attempt.endedAt));
  }
}

function failed(message: string | null): SpanStatus {
  return { code: SpanStatusCode.ERROR, ...(message !== null && { message }) };
}

/** A span of a server that refused a bad request is none that failed: whoever alerts on errors of the service means its own. */
function isOfClient(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500;
}

function requestAttributes(record: RequestRecord, operation: string | null): Attributes {
  const { usage, endpoint, attempts } = record;
  const last = attempts.at(-1);
  const tokens = usage?.tokens;
  const row = endpoint === null ? null : ENDPOINTS[endpoint];
  return given({
    'http.request.method': row?.method,
    'http.route': row?.path,
    'http.response.status_code': record.status ?? undefined,
    'error.type': record.condition ?? (record.stopped === null ? undefined : record.stopped),
    'gen_ai.operation.name': operation ?? undefined,
    ...providerAttributes(last?.provider),
    'gen_ai.request.model': record.model ?? undefined,
    'gen_ai.request.stream': operation === GENERATION ? record.streamed : undefined,
    'gen_ai.usage.input_tokens': tokens && inputTokens(tokens),
    'gen_ai.usage.output_tokens': tokens?.output,
    'gen_ai.usage.cache_read.input_tokens': tokens?.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': tokens && tokens.cacheWrite + tokens.cacheWrite1h,
    'gen_ai.usage.reasoning.output_tokens': tokens?.reasoning,
    'gateway.request_id': record.requestId,
    'gateway.key_id': record.keyId ?? undefined,
    'gateway.attempts': attempts.length,
    'gateway.idempotency': record.idempotency === 'none' ? undefined : record.idempotency,
    'gateway.usage_source': usage?.source,
    'gateway.cost_credits': record.costNanos === null ? undefined : creditsFromNanos(record.costNanos),
    'gateway.provider_cost_credits':
      record.providerCostNanos === null ? undefined : creditsFromNanos(record.providerCostNanos),
    'gateway.flag': record.flag ?? undefined,
  });
}

function attemptAttributes(attempt: AttemptRecord): Attributes {
  return given({
    ...providerAttributes(attempt.provider),
    'gen_ai.request.model': attempt.upstreamModel,
    'http.response.status_code': attempt.status ?? undefined,
    'error.type': attempt.condition ?? undefined,
    'gateway.format': attempt.format,
    'gateway.lane': attempt.lane,
    'gateway.credential': attempt.credential,
    'gateway.outcome': attempt.outcome,
    'gateway.provider_request_id': attempt.providerRequestId ?? undefined,
  });
}

function addEvent(span: Span, record: RequestRecord, name: string, at: number | null): void {
  if (at !== null) span.addEvent(name, undefined, wallTime(record, at));
}

/** Milliseconds since the Unix epoch. */
function wallTime({ receivedAt, receivedAtMs }: RequestRecord, at: number | null): number {
  return at === null ? receivedAtMs : receivedAtMs + (at - receivedAt);
}

function parentOf(traceparent: string | null): Context {
  const parent = readTraceparent(traceparent);
  if (parent === null) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
