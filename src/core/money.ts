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
  /** Cache write with the provider's default lifetime (five minutes at Anthropic, thirty at OpenAI). */
  readonly cacheWrite: bigint;
  /** Cache write with the longer lifetime (one hour at Anthropic, twelve at OpenAI). */
  readonly cacheWrite1h: bigint;
  /** Parts of `input` and `output` whose price differs; absent where they cost what text costs. */
  readonly inputAudio?: bigint;
  readonly inputImage?: bigint;
  readonly outputAudio?: bigint;
  readonly outputImage?: bigint;
}

export interface PriceTier {
  /** The tier counts for a request whose whole input has at least this many tokens. */
  readonly fromInputTokens: number;
  readonly rates: Rates;
}

/** An exact factor or amount; the denominator is positive. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Fields of a request that multiply what its tokens cost. */
export const MULTIPLIER_FIELDS = ['speed', 'service_tier', 'inference_geo'] as const;
export type MultiplierField = (typeof MULTIPLIER_FIELDS)[number];

export interface HostedToolPrice {
  /** What one call costs, in nanos. */
  readonly nanosPerCall: Fraction;
  /** The most calls that one request may make; the hold carries them. */
  readonly maxCalls: number;
  /** What a token of the tool's own costs, in nanos; charged instead of its calls where the provider reports them. */
  readonly nanosPerToken?: { readonly input: Fraction; readonly output: Fraction };
}

/** What changes or adds to the price of tokens at one provider. */
export interface PriceModifiers {
  /** Field → value → factor on every token price. A value that is not here has no price. */
  readonly multipliers: Readonly<Partial<Record<MultiplierField, Readonly<Record<string, Fraction>>>>>;
  /** By type of tool. */
  readonly hostedTools: Readonly<Record<string, HostedToolPrice>>;
}

export interface Pricing {
  /** Nanos per token = rate / per. */
  readonly per: bigint;
  /** Ascending; the first begins at 0. */
  readonly tiers: readonly [PriceTier, ...PriceTier[]];
  /** Whether `cacheWrite1h` is a price of its own; where not, nobody says what the longer lifetime costs. */
  readonly longCacheWrites?: boolean;
  /** By the name of the provider; absent where it has none. */
  readonly modifiers?: Readonly<Record<string, PriceModifiers>>;
}

/** How the tokens of one request are priced, and what is charged beside them. */
interface PriceTerms {
  /** The product of all multipliers. */
  readonly factor: Fraction;
  /** For calls of hosted tools, in nanos. */
  readonly feeNanos: Fraction;
}

/** For a charge: also how many of the tokens were audio and images. */
export interface ChargeTerms extends PriceTerms {
  readonly parts?: TokenParts | undefined;
}

/** Parts of the input that was neither read from nor written to a cache, and of the output. */
export interface TokenParts {
  readonly inputAudio: number;
  readonly inputImage: number;
  readonly outputAudio: number;
  readonly outputImage: number;
}

/** For a hold: also whether there can be audio or images at all. */
export interface HoldTerms extends PriceTerms {
  readonly audio?: boolean | undefined;
  readonly images?: boolean | undefined;
}

const ONE: Fraction = { numerator: 1n, denominator: 1n };
const ZERO: Fraction = { numerator: 0n, denominator: 1n };

/** The plain price of tokens and nothing else. */
export const PLAIN_TERMS: PriceTerms = { factor: ONE, feeNanos: ZERO };

/** The exact cost in nanos, rounded up once. */
export function costNanos(pricing: Pricing, tokens: TokenCounts, terms: ChargeTerms = PLAIN_TERMS): bigint {
  const { rates } = tierOf(pricing, tokens);
  let sum = BigInt(tokens.input) * rates.input + BigInt(tokens.output) * rates.output;
  // Every step with big integers allocates, and most requests leave these classes empty.
  if (tokens.cacheRead > 0) sum += BigInt(tokens.cacheRead) * rates.cacheRead;
  if (tokens.cacheWrite > 0) sum += BigInt(tokens.cacheWrite) * rates.cacheWrite;
  if (tokens.cacheWrite1h > 0) sum += BigInt(tokens.cacheWrite1h) * rates.cacheWrite1h;
  if (terms.parts !== undefined) sum += partsDifference(rates, tokens, terms.parts);
  return withTerms(sum, pricing.per, terms);
}

/** The most that a request with at most these many tokens can cost, whatever class and tier they fall in. */
export function worstCostNanos(
  pricing: Pricing,
  inputTokens: number,
  outputTokens: number,
  terms: HoldTerms = PLAIN_TERMS,
): bigint {
  const { input, output } = dearestRates(pricing, inputTokens, terms);
  return withTerms(BigInt(inputTokens) * input + BigInt(outputTokens) * output, pricing.per, terms);
}

/** The most output tokens whose worst cost, on top of the input's, stays within `amountNanos`. */
export function affordableOutputTokens(
  pricing: Pricing,
  inputTokens: number,
  amountNanos: bigint,
  terms: HoldTerms = PLAIN_TERMS,
): number {
  const { input, output } = dearestRates(pricing, inputTokens, terms);
  const { factor, feeNanos } = terms;
  // (input + output tokens) × factor ÷ per + fee ≤ amount, with every denominator multiplied out.
  const scale = pricing.per * factor.denominator;
  const left =
    (amountNanos * feeNanos.denominator - feeNanos.numerator) * scale -
    BigInt(inputTokens) * input * factor.numerator * feeNanos.denominator;
  if (left < 0n) return 0;
  const perToken = output * factor.numerator * feeNanos.denominator;
  if (perToken === 0n) return Number.MAX_SAFE_INTEGER;
  const tokens = left / perToken;
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

/** All of its decimals and no more, never an exponent: what is added up again must come out the same. */
export function decimalCredits(nanos: bigint): string {
  const abs = nanos < 0n ? -nanos : nanos;
  const decimals = (abs % NANOS_PER_CREDIT).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${abs / NANOS_PER_CREDIT}${decimals === '' ? '' : `.${decimals}`}`;
}

function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** The one that counts for a request with these tokens. */
export function tierOf(pricing: Pricing, tokens: TokenCounts): PriceTier {
  const inputTokens = tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.cacheWrite1h;
  let chosen: PriceTier = pricing.tiers[0];
  for (const tier of pricing.tiers) if (inputTokens >= tier.fromInputTokens) chosen = tier;
  return chosen;
}

function dearestRates(
  pricing: Pricing,
  inputTokens: number,
  { audio = false, images = false }: HoldTerms,
): { input: bigint; output: bigint } {
  let input = 0n;
  let output = 0n;
  for (const { fromInputTokens, rates } of pricing.tiers) {
    if (fromInputTokens > inputTokens) break;
    const { cacheRead, cacheWrite, cacheWrite1h } = rates;
    input = dearer(dearer(input, rates.input), dearer(cacheRead, dearer(cacheWrite, cacheWrite1h)));
    output = dearer(output, rates.output);
    if (audio) {
      input = dearer(input, rates.inputAudio ?? 0n);
      output = dearer(output, rates.outputAudio ?? 0n);
    }
    if (images) {
      input = dearer(input, rates.inputImage ?? 0n);
      output = dearer(output, rates.outputImage ?? 0n);
    }
  }
  return { input, output };
}

/** What audio and images cost more, or less, than text. Parts beyond the whole do not count. */
function partsDifference(rates: Rates, { input, output }: TokenCounts, parts: TokenParts): bigint {
  const inputAudio = Math.min(parts.inputAudio, input);
  const inputImage = Math.min(parts.inputImage, input - inputAudio);
  const outputAudio = Math.min(parts.outputAudio, output);
  const outputImage = Math.min(parts.outputImage, output - outputAudio);
  return (
    BigInt(inputAudio) * ((rates.inputAudio ?? rates.input) - rates.input) +
    BigInt(inputImage) * ((rates.inputImage ?? rates.input) - rates.input) +
    BigInt(outputAudio) * ((rates.outputAudio ?? rates.output) - rates.output) +
    BigInt(outputImage) * ((rates.outputImage ?? rates.output) - rates.output)
  );
}

/** sum ÷ per × factor + fee, rounded up once. */
function withTerms(sum: bigint, per: bigint, terms: PriceTerms): bigint {
  const { factor, feeNanos } = terms;
  if (factor === ONE && feeNanos === ZERO) return ceilDivide(sum, per);
  const denominator = per * factor.denominator;
  return ceilDivide(
    sum * factor.numerator * feeNanos.denominator + feeNanos.numerator * denominator,
    denominator * feeNanos.denominator,
  );
}

function dearer(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
