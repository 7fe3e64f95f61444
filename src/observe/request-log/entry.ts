/**
 * What is stored of a request: a few columns to search by, and everything else as one JSON array. Without the names the
 * array is half as large and written in two thirds of the time; a later release may only add to its end.
 */
import { type PriceTier, type Pricing, tierOf } from '../../core/money.ts';
import type { AttemptRecord, RequestRecord } from '../../core/request-record.ts';
import type { Usage } from '../../core/usage.ts';

export interface RequestEntry {
  readonly id: string;
  readonly receivedAtMs: number;
  /** Null: one of the sampled requests without a known key, or the store could not be asked about it. */
  readonly keyId: string | null;
  /** As asked for; it may be in no catalog. */
  readonly model: string | null;
  readonly status: number | null;
  readonly condition: string | null;
  readonly durationMs: number;
  readonly costNanos: bigint | null;
  readonly detail: string;
}

/** Where in the array of `detail` the client's format is, for a search by it. */
export const FORMAT_AT = 1;
/** Where in the array of `detail` the client's own id is, for a search by it. */
export const CLIENT_REQUEST_ID_AT = 7;
/** Where in the array of `detail` the names of the providers are, for a search by them. */
export const ATTEMPTS_AT = 13;
/** And in the array of an attempt. */
export const PROVIDER_AT = 0;

export function entryOf(record: RequestRecord): RequestEntry {
  const { endedAt, receivedAt } = record;
  return {
    id: record.requestId,
    receivedAtMs: record.receivedAtMs,
    keyId: record.keyId,
    model: wellFormed(record.askedModel),
    status: record.status,
    condition: record.condition,
    durationMs: Math.round((endedAt ?? receivedAt) - receivedAt),
    costNanos: record.costNanos,
    detail: JSON.stringify(detailOf(record)),
  };
}

/** In the order in which `viewOf` takes them apart. */
function detailOf(record: RequestRecord): readonly unknown[] {
  const { receivedAt, usage, skipped, warnings, attempts, rate } = record;
  return [
    record.endpoint,
    record.format,
    wellFormed(record.keyLabel),
    record.mode,
    record.askedModel !== null && record.model === null ? 0 : 1,
    record.streamed ? 1 : 0,
    record.idempotency,
    wellFormed(record.clientRequestId),
    wellFormed(record.userAgent),
    record.clientAddress,
    wellFormed(record.message),
    record.stopped,
    record.clientClosed ? 1 : 0,
    attempts.map((attempt) => attemptOf(attempt, receivedAt)),
    rate === null ? null : [rate.limit, rate.remaining],
    skipped.length === 0 ? null : skipped.map(({ target, reason }) => [target.provider, target.upstreamModel, reason]),
    warnings.length === 0 ? null : warnings.map(wellFormed),
    amount(record.held),
    record.settlement,
    amount(record.charged),
    usage === null ? null : usageOf(usage),
    amount(record.providerCostNanos),
    record.flag,
    moment(receivedAt, record.admittedAt),
    moment(receivedAt, record.firstByteAt),
    moment(receivedAt, record.firstContentAt),
    moment(receivedAt, record.lastByteAt),
    moment(receivedAt, record.settledAt),
    record.bytesIn,
    record.bytesOut,
    record.chunks,
    record.pricing === null || usage === null ? null : pricesOf(record.pricing, usage),
    record.accountId,
  ];
}

function attemptOf(attempt: AttemptRecord, receivedAt: number): readonly unknown[] {
  return [
    attempt.provider,
    attempt.upstreamModel,
    attempt.format,
    attempt.lane,
    attempt.credential,
    attempt.outcome,
    Math.round(attempt.waitedMs * MICROSECONDS),
    moment(receivedAt, attempt.startedAt),
    moment(receivedAt, attempt.firstByteAt),
    moment(receivedAt, attempt.endedAt),
    attempt.status,
    wellFormed(attempt.providerRequestId),
    attempt.condition,
    wellFormed(attempt.message),
    attempt.retryAfterS,
  ];
}

function usageOf({ source, tokens }: Usage): readonly unknown[] {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = tokens;
  return [source, input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning];
}

const prices = new WeakMap<PriceTier, readonly unknown[]>();

/** The same array for all requests of a tier: a catalog has few of them. */
function pricesOf(pricing: Pricing, { tokens }: Usage): readonly unknown[] {
  const tier = tierOf(pricing, tokens);
  let cells = prices.get(tier);
  if (cells === undefined) {
    const { input, output, cacheRead, cacheWrite, cacheWrite1h } = tier.rates;
    cells = [pricing.per, input, output, cacheRead, cacheWrite, cacheWrite1h].map(amount);
    prices.set(tier, cells);
  }
  return cells;
}

/** In one millisecond. */
export const MICROSECONDS = 1_000;

function moment(receivedAt: number, at: number | null): number | null {
  return at === null ? null : Math.round((at - receivedAt) * MICROSECONDS);
}

/** As a number, which JSON has, where that is exact. */
function amount(value: bigint | null): number | string | null {
  if (value === null) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** A text of the client or the provider may be no well-formed Unicode, and a zero character cannot be stored everywhere. */
function wellFormed(text: string | null): string | null {
  return text === null || PRINTABLE.test(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
}

const PRINTABLE = /^[ -~]*$/;

/** A row of either store. */
export function entryIn(row: Readonly<Record<string, unknown>>): RequestEntry {
  return {
    id: String(row.id),
    receivedAtMs: Number(row.received_at_ms),
    keyId: textIn(row.key_id),
    model: textIn(row.model),
    status: row.status === null ? null : Number(row.status),
    condition: textIn(row.condition),
    durationMs: Number(row.duration_ms),
    costNanos: row.cost_nanos === null ? null : BigInt(String(row.cost_nanos)),
    detail: String(row.detail),
  };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
