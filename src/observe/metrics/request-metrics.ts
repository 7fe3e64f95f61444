/** What requests add to the metrics: everything is taken from their records, at their end. */
import type { RequestObserver, RequestRecord } from '../../core/request-record.ts';
import { Histogram } from '../../lib/histogram.ts';
import { FAMILIES } from './families.ts';
import type { Reading, Sample } from './reading.ts';
import { SeriesTree } from './series-tree.ts';
import { TargetSeries } from './target-series.ts';

const NANOS = 1_000_000_000;
const NONE = 'none';
const GENERATIONS: ReadonlySet<RequestRecord['endpoint']> = new Set(['chat', 'responses', 'messages']);

/** A count of one series. */
interface Count {
  value: number;
}

interface EndpointSeries {
  received: number;
  sent: number;
  /** By model, provider, status and condition. */
  readonly requests: SeriesTree<Count>;
}

interface KeySeries {
  requests: number;
  chargedNanos: number;
  chargedTokens: number;
}

interface RequestMetricsOptions {
  /** Whether every key has series of its own. */
  readonly perKey: boolean;
}

export class RequestMetrics implements RequestObserver {
  readonly #perKey: boolean;
  #live = 0;
  readonly #endpoints = new SeriesTree<EndpointSeries>(() => ({ received: 0, sent: 0, requests: counts() }));
  readonly #unauthenticated = counts();
  readonly #admissions = counts();
  readonly #attempts = counts();
  readonly #skipped = counts();
  readonly #usageCounted = counts();
  /** By model and provider. */
  readonly #targets = new SeriesTree(() => new TargetSeries());
  readonly #keys = new SeriesTree<KeySeries>(() => ({ requests: 0, chargedNanos: 0, chargedTokens: 0 }));
  readonly #admission = new Histogram(FAMILIES.gateway_admission_seconds.buckets);

  constructor({ perKey }: RequestMetricsOptions) {
    this.#perKey = perKey;
  }

  started(): void {
    this.#live += 1;
  }

  finished(record: RequestRecord): void {
    const { attempts, keyId } = record;
    const condition = record.condition ?? NONE;
    const model = record.model ?? NONE;
    const provider = attempts[attempts.length - 1]?.provider ?? NONE;
    const endpoint = this.#endpoints.at(record.endpoint ?? NONE);
    endpoint.received += record.bytesIn;
    endpoint.sent += record.bytesOut;
    endpoint.requests.at(model, provider, record.status ?? NONE, condition).value += 1;
    if (keyId === null) {
      this.#unauthenticated.at(condition).value += 1;
      return;
    }
    this.#live -= 1;
    if (this.#perKey) this.#ofKey(record, keyId);
    for (const attempt of attempts) {
      const { upstreamModel, outcome } = attempt;
      this.#attempts.at(attempt.provider, upstreamModel, outcome, attempt.condition ?? NONE).value += 1;
    }
    if (!GENERATIONS.has(record.endpoint)) return;
    this.#admissions.at(admissionOutcome(record)).value += 1;
    if (record.admittedAt !== null) this.#admission.observe((record.admittedAt - record.receivedAt) / 1_000);
    for (const { target, reason } of record.skipped) this.#skipped.at(target.provider, reason).value += 1;
    if (attempts.length === 0) return;
    const target = this.#targets.at(model, provider);
    target.charge(record);
    if (record.usage?.source === 'counted') {
      this.#usageCounted.at(model, provider, attempts[attempts.length - 1]?.outcome ?? NONE).value += 1;
    }
    target.time(record);
  }

  #ofKey({ charged, mode }: RequestRecord, keyId: string): void {
    const key = this.#keys.at(keyId);
    key.requests += 1;
    if (charged === null) return;
    if (mode === 'credit') key.chargedNanos += Number(charged);
    else key.chargedTokens += Number(charged);
  }

  reading(): Reading {
    const endpoints = this.#endpoints.entries();
    const keys = this.#keys.entries();
    return {
      gateway_requests_total: endpoints.flatMap(([names, { requests }]) =>
        requests.entries().map(([labels, { value }]) => ({ labels: [...names, ...labels], value })),
      ),
      gateway_unauthenticated_requests_total: counted(this.#unauthenticated),
      gateway_admissions_total: counted(this.#admissions),
      gateway_attempts_total: counted(this.#attempts),
      gateway_targets_skipped_total: counted(this.#skipped),
      gateway_usage_counted_total: counted(this.#usageCounted),
      gateway_received_bytes_total: endpoints.map(([labels, { received }]) => ({ labels, value: received })),
      gateway_sent_bytes_total: endpoints.map(([labels, { sent }]) => ({ labels, value: sent })),
      gateway_key_requests_total: keys.map(([labels, { requests }]) => ({ labels, value: requests })),
      gateway_key_charged_credits_total: keys.map(([labels, key]) => ({ labels, value: key.chargedNanos / NANOS })),
      gateway_key_charged_tokens_total: keys.map(([labels, key]) => ({ labels, value: key.chargedTokens })),
      gateway_admission_seconds: [{ labels: [], value: shown(this.#admission) }],
      gateway_requests_in_flight: [{ labels: [], value: this.#live }],
      ...this.#targetReading(),
    };
  }

  #targetReading(): Reading {
    const targets = this.#targets.entries();
    const sums = (of: (target: TargetSeries) => number, unit = 1): readonly Sample[] =>
      targets.map(([labels, target]) => ({ labels, value: of(target) / unit }));
    const classes = (target: TargetSeries): readonly (readonly [string, number])[] => [
      ['input', target.input],
      ['cache_read', target.cacheRead],
      ['cache_write', target.cacheWrite],
      ['cache_write_1h', target.cacheWrite1h],
      ['output', target.output],
    ];
    const latencies = (of: 'firstByte' | 'duration'): readonly Sample[] =>
      targets.flatMap(([labels, target]) => [
        ...histograms([...labels, 'true'], target.streamed[of]),
        ...histograms([...labels, 'false'], target.whole[of]),
      ]);
    return {
      gateway_tokens_total: targets.flatMap(([labels, target]) =>
        classes(target).map(([name, value]) => ({ labels: [...labels, name], value })),
      ),
      gateway_reasoning_tokens_total: sums(({ reasoning }) => reasoning),
      gateway_charged_credits_total: sums(({ chargedNanos }) => chargedNanos, NANOS),
      gateway_charged_tokens_total: sums(({ chargedTokens }) => chargedTokens),
      gateway_cost_credits_total: sums(({ costNanos }) => costNanos, NANOS),
      gateway_provider_cost_credits_total: sums(({ providerCostNanos }) => providerCostNanos, NANOS),
      gateway_flagged_charges_total: sums(({ flagged }) => flagged),
      gateway_charges_clamped_total: sums(({ clamped }) => clamped),
      gateway_charge_shortfall_credits_total: sums(({ shortfallNanos }) => shortfallNanos, NANOS),
      gateway_charge_shortfall_tokens_total: sums(({ shortfallTokens }) => shortfallTokens),
      gateway_time_to_first_byte_seconds: latencies('firstByte'),
      gateway_request_duration_seconds: latencies('duration'),
      gateway_time_between_chunks_seconds: targets.flatMap(([labels, target]) =>
        histograms(labels, target.betweenChunks),
      ),
    };
  }
}

/** `admitted`, what its `Idempotency-Key` came to, or why it was refused before anything was held. */
function admissionOutcome({ admittedAt, idempotency, condition }: RequestRecord): string {
  if (idempotency === 'replay' || idempotency === 'conflict' || idempotency === 'in_flight') return idempotency;
  if (admittedAt !== null) return 'admitted';
  return condition ?? NONE;
}

function counts(): SeriesTree<Count> {
  return new SeriesTree<Count>(() => ({ value: 0 }));
}

function counted(tree: SeriesTree<Count>): readonly Sample[] {
  return tree.entries().map(([labels, { value }]) => ({ labels, value }));
}

function histograms(labels: readonly string[], histogram: Histogram | null): readonly Sample[] {
  return histogram === null ? [] : [{ labels, value: shown(histogram) }];
}

/** A copy, which can be sent to another thread. */
function shown({ counts, sum }: Histogram): Sample['value'] {
  return { counts: [...counts], sum };
}
