/** What is stored of a request beside the columns to search by, and is shown of it to an operator. */
import { type PriceTier, type Pricing, tierOf } from '../../core/money.ts';
import type { AttemptRecord, RateNote, RequestRecord, SkippedTarget } from '../../core/request-record.ts';
import type { Usage } from '../../core/usage.ts';
import {
  AMOUNT,
  COUNT,
  DURATION,
  FLAG,
  layoutOf,
  listOf,
  MOMENT,
  NUMBER,
  optional,
  RATE,
  TEXT,
  TEXTS,
  WHOLE,
  WORD,
} from './layout.ts';

export const ATTEMPT = layoutOf<AttemptRecord>()((field) => ({
  provider: field(WORD, ({ provider }) => provider),
  model: field(WORD, ({ upstreamModel }) => upstreamModel),
  format: field(WORD, ({ format }) => format),
  lane: field(WORD, ({ lane }) => lane),
  credential: field(
    COUNT,
    ({ credential }) => credential,
    'Its number among those of the provider; 0: none was needed.',
  ),
  outcome: field(WORD, ({ outcome }) => outcome),
  waited_ms: field(DURATION, ({ waitedMs }) => waitedMs),
  started_ms: field(MOMENT, ({ startedAt }) => startedAt),
  first_byte_ms: field(MOMENT, ({ firstByteAt }) => firstByteAt),
  ended_ms: field(MOMENT, ({ endedAt }) => endedAt),
  status: field(WHOLE, ({ status }) => status),
  provider_request_id: field(TEXT, ({ providerRequestId }) => providerRequestId),
  condition: field(TEXT, ({ condition }) => condition),
  message: field(TEXT, ({ message }) => message),
  retry_after_s: field(NUMBER, ({ retryAfterS }) => retryAfterS),
}));

const RATE_NOTE = layoutOf<RateNote>()((field) => ({
  limit: field(COUNT, ({ limit }) => limit),
  remaining: field(COUNT, ({ remaining }) => remaining),
}));

const SKIPPED = layoutOf<SkippedTarget>()((field) => ({
  provider: field(WORD, ({ target }) => target.provider),
  model: field(WORD, ({ target }) => target.upstreamModel),
  reason: field(WORD, ({ reason }) => reason),
}));

const USAGE = layoutOf<Usage>()((field) => ({
  source: field(WORD, ({ source }) => source),
  input: field(COUNT, ({ tokens }) => tokens.input),
  output: field(COUNT, ({ tokens }) => tokens.output),
  cache_read: field(COUNT, ({ tokens }) => tokens.cacheRead),
  cache_write: field(COUNT, ({ tokens }) => tokens.cacheWrite),
  cache_write_1h: field(COUNT, ({ tokens }) => tokens.cacheWrite1h),
  reasoning: field(COUNT, ({ tokens }) => tokens.reasoning),
}));

interface Prices {
  readonly per: bigint;
  readonly tier: PriceTier;
}

const PRICES = layoutOf<Prices>()((field) => ({
  per: field(RATE, ({ per }) => per),
  input: field(RATE, ({ tier }) => tier.rates.input),
  output: field(RATE, ({ tier }) => tier.rates.output),
  cache_read: field(RATE, ({ tier }) => tier.rates.cacheRead),
  cache_write: field(RATE, ({ tier }) => tier.rates.cacheWrite),
  cache_write_1h: field(RATE, ({ tier }) => tier.rates.cacheWrite1h),
}));

const written = new WeakMap<PriceTier, readonly unknown[]>();

/** The same array for all requests of a tier: a catalog has few of them. */
function writePrices(prices: Prices, receivedAt: number): readonly unknown[] {
  const known = written.get(prices.tier) ?? PRICES.write(prices, receivedAt);
  written.set(prices.tier, known);
  return known;
}

function pricesOf(pricing: Pricing | null, usage: Usage | null): Prices | null {
  return pricing === null || usage === null ? null : { per: pricing.per, tier: tierOf(pricing, usage.tokens) };
}

export const RECORD = layoutOf<RequestRecord>()((field) => ({
  endpoint: field(TEXT, ({ endpoint }) => endpoint),
  format: field(TEXT, ({ format }) => format),
  key_label: field(TEXT, ({ keyLabel }) => keyLabel),
  mode: field(TEXT, ({ mode }) => mode),
  /** Whether the model was in the catalog. */
  model_known: field(FLAG, ({ askedModel, model }) => askedModel === null || model !== null),
  streamed: field(FLAG, ({ streamed }) => streamed),
  idempotency: field(WORD, ({ idempotency }) => idempotency),
  client_request_id: field(TEXT, ({ clientRequestId }) => clientRequestId),
  user_agent: field(TEXT, ({ userAgent }) => userAgent),
  client_address: field(TEXT, ({ clientAddress }) => clientAddress),
  message: field(TEXT, ({ message }) => message),
  /** Who ended it before its answer was complete: `client_gone`, `deadline`, `drain`, `operator`, or of a run `cancelled` or `run_size`. */
  stopped: field(TEXT, ({ stopped }) => stopped),
  client_closed: field(FLAG, ({ clientClosed }) => clientClosed),
  attempts: field(listOf(ATTEMPT), ({ attempts }) => attempts),
  rate: field(optional(RATE_NOTE), ({ rate }) => rate),
  skipped: field(listOf(SKIPPED), ({ skipped }) => skipped),
  warnings: field(TEXTS, ({ warnings }) => warnings),
  held: field(AMOUNT, ({ held }) => held, "In the key's unit: nanos of a credit, or tokens."),
  settlement: field(TEXT, ({ settlement }) => settlement),
  charged: field(AMOUNT, ({ charged }) => charged),
  usage: field(optional(USAGE), ({ usage }) => usage),
  provider_cost_nanos: field(AMOUNT, ({ providerCostNanos }) => providerCostNanos),
  flag: field(TEXT, (record) => record.flag),
  admitted_ms: field(MOMENT, ({ admittedAt }) => admittedAt),
  first_byte_ms: field(MOMENT, ({ firstByteAt }) => firstByteAt),
  first_content_ms: field(MOMENT, ({ firstContentAt }) => firstContentAt),
  last_byte_ms: field(MOMENT, ({ lastByteAt }) => lastByteAt),
  settled_ms: field(MOMENT, ({ settledAt }) => settledAt),
  bytes_in: field(COUNT, ({ bytesIn }) => bytesIn),
  bytes_out: field(COUNT, ({ bytesOut }) => bytesOut),
  chunks: field(COUNT, ({ chunks }) => chunks, 'The pieces of a stream before the one that ends it.'),
  prices: field(
    { ...optional(PRICES), write: writePrices },
    ({ pricing, usage }) => pricesOf(pricing, usage),
    'What a token of each class was charged by: nanos of a credit = rate ÷ per.',
  ),
  account_id: field(TEXT, ({ accountId }) => accountId, 'The account of the key when the request came.'),
  background: field(FLAG, ({ background }) => background, 'Its answer is a response that is made in the background.'),
}));
