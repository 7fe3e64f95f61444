/** What requests add to the metrics: everything is taken from their records, at their end. */
import type { AttemptRecord, RequestObserver, RequestRecord } from '../../core/request-record.ts';
import { CompactingMap } from '../../lib/compacting-map.ts';
import { FAMILIES } from './families.ts';
import type { Reading } from './reading.ts';
import { CounterTable, HistogramTable, seriesKey } from './table.ts';

const NANOS = 1_000_000_000;
const NONE = 'none';
const GENERATIONS: ReadonlySet<RequestRecord['endpoint']> = new Set(['chat', 'responses', 'messages']);

export interface RequestMetricsOptions {
  /** Whether every key has series of its own. */
  readonly perKey: boolean;
}

export class RequestMetrics implements RequestObserver {
  readonly #perKey: boolean;
  readonly #live = new CompactingMap<string, RequestRecord>();
  readonly #requests = new CounterTable();
  readonly #unauthenticated = new CounterTable();
  readonly #admissions = new CounterTable();
  readonly #attempts = new CounterTable();
  readonly #skipped = new CounterTable();
  readonly #tokens = new CounterTable();
  readonly #reasoning = new CounterTable();
  readonly #chargedNanos = new CounterTable();
  readonly #chargedTokens = new CounterTable();
  readonly #costNanos = new CounterTable();
  readonly #providerCostNanos = new CounterTable();
  readonly #flagged = new CounterTable();
  readonly #received = new CounterTable();
  readonly #sent = new CounterTable();
  readonly #keyRequests = new CounterTable();
  readonly #keyNanos = new CounterTable();
  readonly #keyTokens = new CounterTable();
  readonly #firstByte = new HistogramTable(FAMILIES.gateway_time_to_first_byte_seconds.buckets);
  readonly #duration = new HistogramTable(FAMILIES.gateway_request_duration_seconds.buckets);
  readonly #betweenChunks = new HistogramTable(FAMILIES.gateway_time_between_chunks_seconds.buckets);
  readonly #admission = new HistogramTable(FAMILIES.gateway_admission_seconds.buckets);

  constructor({ perKey }: RequestMetricsOptions) {
    this.#perKey = perKey;
  }

  started(record: RequestRecord): void {
    this.#live.set(record.requestId, record);
  }

  finished(record: RequestRecord): void {
    const { attempts } = record;
    const condition = record.condition ?? NONE;
    const endpoint = record.endpoint ?? NONE;
    const model = record.model ?? NONE;
    const provider = attempts.at(-1)?.provider ?? NONE;
    this.#requests.add(1, seriesKey(endpoint, model, provider, String(record.status ?? NONE), condition));
    if (record.bytesIn > 0) this.#received.add(record.bytesIn, endpoint);
    if (record.bytesOut > 0) this.#sent.add(record.bytesOut, endpoint);
    if (record.keyId === null) {
      this.#unauthenticated.add(1, condition);
      return;
    }
    this.#live.delete(record.requestId);
    if (this.#perKey) this.#keyRequests.add(1, record.keyId);
    if (!GENERATIONS.has(record.endpoint)) return;
    this.#admissions.add(1, admissionOutcome(record));
    if (record.admittedAt !== null) this.#admission.observe((record.admittedAt - record.receivedAt) / 1_000, '');
    for (const attempt of attempts) this.#attempted(attempt);
    for (const { target, reason } of record.skipped) this.#skipped.add(1, seriesKey(target.provider, reason));
    const target = seriesKey(model, provider);
    this.#charged(record, target);
    this.#timed(record, target);
  }

  #attempted({ provider, upstreamModel, outcome, condition }: AttemptRecord): void {
    this.#attempts.add(1, seriesKey(provider, upstreamModel, outcome, condition ?? NONE));
  }

  #charged(record: RequestRecord, target: string): void {
    const { usage, charged, mode, keyId } = record;
    if (usage !== null) {
      const { input, cacheRead, cacheWrite, cacheWrite1h, output, reasoning } = usage.tokens;
      if (input > 0) this.#tokens.add(input, seriesKey(target, 'input'));
      if (cacheRead > 0) this.#tokens.add(cacheRead, seriesKey(target, 'cache_read'));
      if (cacheWrite > 0) this.#tokens.add(cacheWrite, seriesKey(target, 'cache_write'));
      if (cacheWrite1h > 0) this.#tokens.add(cacheWrite1h, seriesKey(target, 'cache_write_1h'));
      if (output > 0) this.#tokens.add(output, seriesKey(target, 'output'));
      if (reasoning > 0) this.#reasoning.add(reasoning, target);
    }
    if (record.flag !== null) this.#flagged.add(1, target);
    if (record.costNanos !== null) this.#costNanos.add(Number(record.costNanos), target);
    if (record.providerCostNanos !== null) this.#providerCostNanos.add(Number(record.providerCostNanos), target);
    if (charged === null) return;
    const amount = Number(charged);
    (mode === 'credit' ? this.#chargedNanos : this.#chargedTokens).add(amount, target);
    if (this.#perKey && keyId !== null) (mode === 'credit' ? this.#keyNanos : this.#keyTokens).add(amount, keyId);
  }

  #timed(record: RequestRecord, target: string): void {
    const { receivedAt, firstContentAt, lastByteAt, streamed, chunks } = record;
    if (record.attempts.length === 0 || lastByteAt === null) return;
    const key = seriesKey(target, String(streamed));
    this.#duration.observe((lastByteAt - receivedAt) / 1_000, key);
    const firstAt = firstContentAt ?? (streamed ? null : record.firstByteAt);
    if (firstAt === null || record.condition !== null) return;
    this.#firstByte.observe((firstAt - receivedAt) / 1_000, key);
    if (streamed && chunks > 1) this.#betweenChunks.observe((lastByteAt - firstAt) / 1_000 / (chunks - 1), target);
  }

  reading(nowMs = performance.now()): Reading {
    return {
      gateway_requests_total: this.#requests.samples(),
      gateway_unauthenticated_requests_total: this.#unauthenticated.samples(),
      gateway_admissions_total: this.#admissions.samples(),
      gateway_attempts_total: this.#attempts.samples(),
      gateway_targets_skipped_total: this.#skipped.samples(),
      gateway_tokens_total: this.#tokens.samples(),
      gateway_reasoning_tokens_total: this.#reasoning.samples(),
      gateway_charged_credits_total: this.#chargedNanos.samples(NANOS),
      gateway_charged_tokens_total: this.#chargedTokens.samples(),
      gateway_cost_credits_total: this.#costNanos.samples(NANOS),
      gateway_provider_cost_credits_total: this.#providerCostNanos.samples(NANOS),
      gateway_flagged_charges_total: this.#flagged.samples(),
      gateway_received_bytes_total: this.#received.samples(),
      gateway_sent_bytes_total: this.#sent.samples(),
      gateway_key_requests_total: this.#keyRequests.samples(),
      gateway_key_charged_credits_total: this.#keyNanos.samples(NANOS),
      gateway_key_charged_tokens_total: this.#keyTokens.samples(),
      gateway_time_to_first_byte_seconds: this.#firstByte.samples(),
      gateway_request_duration_seconds: this.#duration.samples(),
      gateway_time_between_chunks_seconds: this.#betweenChunks.samples(),
      gateway_admission_seconds: this.#admission.samples(),
      ...this.#held(nowMs),
    };
  }

  #held(nowMs: number): Reading {
    const holds = { credit: 0, token_budget: 0 };
    const amounts = { credit: 0n, token_budget: 0n };
    let oldestAt = nowMs;
    for (const { held, mode, settledAt, admittedAt } of this.#live.values()) {
      if (held === null || mode === null || settledAt !== null) continue;
      holds[mode] += 1;
      amounts[mode] += held;
      if (admittedAt !== null && admittedAt < oldestAt) oldestAt = admittedAt;
    }
    return {
      gateway_requests_in_flight: [{ labels: [], value: this.#live.size }],
      gateway_holds: Object.entries(holds).map(([mode, value]) => ({ labels: [mode], value })),
      gateway_held_credits: [{ labels: [], value: Number(amounts.credit) / NANOS }],
      gateway_held_tokens: [{ labels: [], value: Number(amounts.token_budget) }],
      gateway_oldest_hold_seconds: [{ labels: [], value: (nowMs - oldestAt) / 1_000 }],
    };
  }
}

/** `admitted`, what its `Idempotency-Key` came to, or why it was refused before anything was held. */
function admissionOutcome({ admittedAt, idempotency, condition }: RequestRecord): string {
  if (idempotency === 'replay' || idempotency === 'conflict' || idempotency === 'in_flight') return idempotency;
  if (admittedAt !== null) return 'admitted';
  return condition ?? NONE;
}
