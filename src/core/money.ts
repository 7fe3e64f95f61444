/**
 * Money is integers. A credit balance is counted in nanos (billionths of a credit), a price is an exact rational
 * per token, and a cost is rounded up once, at the very end.
 */
import type { TokenCounts } from './usage.ts';

export const NANOS_PER_CREDIT = 1_000_000_000n;
/** What a 64-bit signed column can hold. */
export const AMOUNT_MAX = 2n ** 63n - 1n;

/** Numerators of the price of one token, by class; the denominator is `Pricing.per`. */
export interface Rates {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint;
  /** Cache write with the provider's default lifetime (five minutes). */
  readonly cacheWrite: bigint;
  readonly cacheWrite1h: bigint;
}

export interface PriceTier {
  /** The tier counts for a request whose whole input has at least this many tokens. */
  readonly fromInputTokens: number;
  readonly rates: Rates;
}

export interface Pricing {
  /** Nanos per token = rate / per. */
  readonly per: bigint;
  /** Ascending; the first begins at 0. */
  readonly tiers: readonly [PriceTier, ...PriceTier[]];
}

/** The exact cost of these tokens in nanos, rounded up once. */
export function costNanos(pricing: Pricing, tokens: TokenCounts): bigint {
  const inputTokens = tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.cacheWrite1h;
  const { rates } = tierFor(pricing, inputTokens);
  let sum = BigInt(tokens.input) * rates.input + BigInt(tokens.output) * rates.output;
  // Every step with big integers allocates, and most requests leave these classes empty.
  if (tokens.cacheRead > 0) sum += BigInt(tokens.cacheRead) * rates.cacheRead;
  if (tokens.cacheWrite > 0) sum += BigInt(tokens.cacheWrite) * rates.cacheWrite;
  if (tokens.cacheWrite1h > 0) sum += BigInt(tokens.cacheWrite1h) * rates.cacheWrite1h;
  return ceilDivide(sum, pricing.per);
}

/** The most that a request with at most these many tokens can cost, whatever class and tier they fall in. */
export function worstCostNanos(pricing: Pricing, inputTokens: number, outputTokens: number): bigint {
  const { input, output } = dearestRates(pricing, inputTokens);
  return ceilDivide(BigInt(inputTokens) * input + BigInt(outputTokens) * output, pricing.per);
}

/** The most output tokens whose worst cost, on top of the input's, stays within `amountNanos`. */
export function affordableOutputTokens(pricing: Pricing, inputTokens: number, amountNanos: bigint): number {
  const { input, output } = dearestRates(pricing, inputTokens);
  const left = amountNanos * pricing.per - BigInt(inputTokens) * input;
  if (left < 0n) return 0;
  if (output === 0n) return Number.MAX_SAFE_INTEGER;
  const tokens = left / output;
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens);
}

/** Parses a decimal number of credits ("5", "0.25") exactly; at most nine decimals. */
export function parseCredits(text: string): bigint {
  const match = /^(\d{1,12})(?:\.(\d{1,9}))?$/.exec(text);
  if (!match) throw new RangeError(`not an amount of credits: ${text} (digits, at most 9 decimals)`);
  return BigInt(match[1] ?? '0') * NANOS_PER_CREDIT + BigInt((match[2] ?? '').padEnd(9, '0'));
}

/** For printing only: the number of credits, exact to nine decimals as far as a double can carry them. */
export function creditsFromNanos(nanos: bigint): number {
  const sign = nanos < 0n ? '-' : '';
  const abs = nanos < 0n ? -nanos : nanos;
  return Number(`${sign}${abs / NANOS_PER_CREDIT}.${(abs % NANOS_PER_CREDIT).toString().padStart(9, '0')}`);
}

export function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

function tierFor(pricing: Pricing, inputTokens: number): PriceTier {
  let chosen: PriceTier = pricing.tiers[0];
  for (const tier of pricing.tiers) if (inputTokens >= tier.fromInputTokens) chosen = tier;
  return chosen;
}

function dearestRates(pricing: Pricing, inputTokens: number): { input: bigint; output: bigint } {
  let input = 0n;
  let output = 0n;
  for (const { fromInputTokens, rates } of pricing.tiers) {
    if (fromInputTokens > inputTokens) break;
    const { cacheRead, cacheWrite, cacheWrite1h } = rates;
    input = dearer(dearer(input, rates.input), dearer(cacheRead, dearer(cacheWrite, cacheWrite1h)));
    output = dearer(output, rates.output);
  }
  return { input, output };
}

function dearer(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
