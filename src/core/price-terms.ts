/**
 * From what a request asks for, or an answer reports, to the terms that its tokens are priced by. A value or tool without
 * a price is a null here: whoever asks decides whether that is a refusal or a flag.
 */
import {
  type ChargeTerms,
  type Fraction,
  type HoldTerms,
  type HostedToolPrice,
  type MultiplierField,
  PLAIN_TERMS,
  type PriceModifiers,
  type Pricing,
  type TokenParts,
} from './money.ts';

const { factor: ONE, feeNanos: ZERO } = PLAIN_TERMS;
const NONE: PriceModifiers = { multipliers: {}, hostedTools: {} };

/** Values that never cost more than the plain price, so that they need none of their own. */
const PLAIN_VALUES: Readonly<Record<MultiplierField, ReadonlySet<string>>> = {
  speed: new Set(['standard']),
  service_tier: new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand']),
  inference_geo: new Set(['global', 'not_available']),
};

/** Whether this value asks for nothing but the plain service. */
export function isPlainValue(field: MultiplierField, value: string): boolean {
  return PLAIN_VALUES[field].has(value);
}

/** What a field with this value multiplies the price by at this provider; null: it has no price there. */
export function multiplierOf(
  pricing: Pricing,
  provider: string,
  field: MultiplierField,
  value: string,
): Fraction | null {
  const values = modifiersOf(pricing, provider).multipliers[field];
  if (values !== undefined && Object.hasOwn(values, value)) return values[value] ?? null;
  return isPlainValue(field, value) ? ONE : null;
}

/** Whether the provider has a tier for this model that costs more, which `auto` could then mean. */
export function hasDearerTier(pricing: Pricing, provider: string): boolean {
  const tiers = Object.values(modifiersOf(pricing, provider).multipliers.service_tier ?? {});
  return tiers.some(({ numerator, denominator }) => numerator > denominator);
}

/**
 * The price of a hosted tool at this provider; null: it has none there. A price for `web_search` counts for its dated and
 * preview versions too (`web_search_20250305`, `web_search_preview`).
 */
export function hostedToolOf(pricing: Pricing, provider: string, type: string): HostedToolPrice | null {
  const { hostedTools } = modifiersOf(pricing, provider);
  for (const name of [type, plainType(type)]) {
    if (Object.hasOwn(hostedTools, name)) return hostedTools[name] ?? null;
  }
  return null;
}

/**
 * How many calls one request may make at this provider where its format bounds them all together: as many of the dearest
 * tool as the hold carries for all of them. Null where none of the tools has a price.
 */
export function callsWithinHold(pricing: Pricing, provider: string, types: readonly string[]): number | null {
  let fees = ZERO;
  let dearest = ZERO;
  let calls = 0;
  for (const price of pricesOf(pricing, provider, types)) {
    fees = add(fees, times(price.nanosPerCall, price.maxCalls));
    dearest = larger(dearest, price.nanosPerCall);
    calls += price.maxCalls;
  }
  if (calls === 0) return null;
  if (dearest.numerator === 0n) return calls;
  return Number((fees.numerator * dearest.denominator) / (fees.denominator * dearest.numerator));
}

/** What a request asks for beyond tokens. */
interface AskedTerms {
  readonly fields: Readonly<Partial<Record<MultiplierField, string>>>;
  /** Types of the hosted tools that it brings. */
  readonly hostedTools: readonly string[];
  readonly audio?: boolean;
  readonly images?: boolean;
}

const NOTHING_ASKED: AskedTerms = { fields: {}, hostedTools: [] };

/**
 * The dearest that the request can become at any of these providers: the highest multiplier, and never less than the plain
 * price, because a provider may serve it at that; and every call that its tools may make.
 */
export function holdTerms(pricing: Pricing, providers: readonly string[], asked: AskedTerms): HoldTerms {
  let factor = ONE;
  let feeNanos = ZERO;
  for (const provider of new Set(providers)) {
    let product = ONE;
    let fees = ZERO;
    for (const [field, value] of entriesOf(asked.fields)) {
      product = multiply(product, atLeastPlain(pricing, provider, field, value));
    }
    for (const { nanosPerCall, maxCalls } of pricesOf(pricing, provider, asked.hostedTools)) {
      fees = add(fees, times(nanosPerCall, maxCalls));
    }
    factor = larger(factor, product);
    feeNanos = larger(feeNanos, fees);
  }
  return { factor, feeNanos, audio: asked.audio, images: asked.images };
}

/** Safe, non-negative integers. */
export interface ToolTokens {
  readonly input: number;
  readonly output: number;
}

/** What an answer says about how it was made. */
export interface ReportedTerms {
  readonly fields: Readonly<Partial<Record<MultiplierField, string>>>;
  /** Calls by type of hosted tool: non-negative safe integers. */
  readonly calls: Readonly<Record<string, number>>;
  /** Tokens by type of hosted tool, beside those of the answer. */
  readonly toolTokens?: Readonly<Record<string, ToolTokens>> | undefined;
  readonly parts?: TokenParts | undefined;
  /** Names of what the report holds and nobody can charge by: counts that are negative, fractional or no numbers. */
  readonly unusable?: readonly string[] | undefined;
}

/**
 * The terms of a charge at the provider that answered, and what in the report has no price, for the operator. A call of a
 * hosted tool has the price of the one among those asked for that it is a call of. A value that has no price is charged
 * at the price of the value that was asked for, and never below the plain price.
 */
export function chargeTerms(
  pricing: Pricing,
  provider: string,
  reported: ReportedTerms,
  { fields: askedFields, hostedTools: askedTools }: AskedTerms = NOTHING_ASKED,
): ChargeTerms & { readonly unpriced: readonly string[] } {
  const unpriced: string[] = [];
  let factor = ONE;
  for (const [field, value] of entriesOf(reported.fields)) {
    const multiplier = multiplierOf(pricing, provider, field, value);
    if (multiplier === null) unpriced.push(`${field} ${value}`);
    factor = multiply(factor, multiplier ?? atLeastPlain(pricing, provider, field, askedFields[field]));
  }
  let feeNanos = ZERO;
  const { calls, toolTokens = {} } = reported;
  for (const type of new Set([...Object.keys(calls), ...Object.keys(toolTokens)])) {
    const prices = callPrices(pricing, provider, type, askedTools);
    const made = calls[type] ?? 0;
    const fee = tokenFee(prices, toolTokens[type]) ?? callFee(prices, made);
    if (fee !== null) feeNanos = add(feeNanos, fee);
    else if (made > 0) unpriced.push(`${made} calls of ${type}`);
    else if (toolTokens[type]) unpriced.push(`tokens of ${type}`);
  }
  return { factor, feeNanos, parts: reported.parts, unpriced };
}

function atLeastPlain(pricing: Pricing, provider: string, field: MultiplierField, asked: string | undefined): Fraction {
  return larger((asked === undefined ? null : multiplierOf(pricing, provider, field, asked)) ?? ONE, ONE);
}

/** Reports name a tool without its version (`web_search`), requests and prices may name it with one. */
function callPrices(
  pricing: Pricing,
  provider: string,
  type: string,
  askedTools: readonly string[],
): readonly HostedToolPrice[] {
  const asked = askedTools.filter((tool) => plainType(tool) === plainType(type));
  return [...pricesOf(pricing, provider, asked.length > 0 ? asked : [type])];
}

/** At the dearest of the prices; null where there are no calls, or they have no price. */
function callFee(prices: readonly HostedToolPrice[], calls: number): Fraction | null {
  const [first, ...others] = prices.map(({ nanosPerCall }) => nanosPerCall);
  return first === undefined || calls === 0 ? null : times(others.reduce(larger, first), calls);
}

/** Null where there are no tokens, or none of the prices is by the token. */
function tokenFee(prices: readonly HostedToolPrice[], tokens: ToolTokens | undefined): Fraction | null {
  if (tokens === undefined) return null;
  const fees = prices.flatMap(({ nanosPerToken: rates }) =>
    rates === undefined ? [] : [add(times(rates.input, tokens.input), times(rates.output, tokens.output))],
  );
  const [first, ...others] = fees;
  return first === undefined ? null : others.reduce(larger, first);
}

/** The prices of these tools, each once: several tools of one type share its calls. */
function pricesOf(pricing: Pricing, provider: string, types: readonly string[]): Iterable<HostedToolPrice> {
  const prices = new Set<HostedToolPrice>();
  for (const type of types) {
    const price = hostedToolOf(pricing, provider, type);
    if (price !== null) prices.add(price);
  }
  return prices;
}

/** Without its version; `mcp_toolset` names tools of `mcp`. */
function plainType(type: string): string {
  return type.replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2}|preview.*|toolset)$/s, '');
}

function modifiersOf({ modifiers }: Pricing, provider: string): PriceModifiers {
  return modifiers !== undefined && Object.hasOwn(modifiers, provider) ? (modifiers[provider] ?? NONE) : NONE;
}

function entriesOf(
  fields: Readonly<Partial<Record<MultiplierField, string>>>,
): [field: MultiplierField, value: string][] {
  return Object.entries(fields) as [MultiplierField, string][];
}

function multiply(one: Fraction, other: Fraction): Fraction {
  if (one === ONE || other === ONE) return one === ONE ? other : one;
  return { numerator: one.numerator * other.numerator, denominator: one.denominator * other.denominator };
}

function times({ numerator, denominator }: Fraction, count: number): Fraction {
  return { numerator: numerator * BigInt(count), denominator };
}

function add(one: Fraction, other: Fraction): Fraction {
  if (one === ZERO) return other;
  return {
    numerator: one.numerator * other.denominator + other.numerator * one.denominator,
    denominator: one.denominator * other.denominator,
  };
}

function larger(one: Fraction, other: Fraction): Fraction {
  return one.numerator * other.denominator >= other.numerator * one.denominator ? one : other;
}
