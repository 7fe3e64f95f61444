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
export interface AskedTerms {
  readonly fields: Readonly<Partial<Record<MultiplierField, string>>>;
  /** Types of the hosted tools that it brings. */
  readonly hostedTools: readonly string[];
  readonly audio?: boolean;
  readonly images?: boolean;
}

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
      product = multiply(product, larger(multiplierOf(pricing, provider, field, value) ?? ONE, ONE));
    }
    for (const { nanosPerCall, maxCalls } of pricesOf(pricing, provider, asked.hostedTools)) {
      fees = add(fees, times(nanosPerCall, maxCalls));
    }
    factor = larger(factor, product);
    feeNanos = larger(feeNanos, fees);
  }
  return { factor, feeNanos, audio: asked.audio, images: asked.images };
}

/** What an answer says about how it was made. */
export interface ReportedTerms {
  readonly fields: Readonly<Partial<Record<MultiplierField, string>>>;
  /** Calls by type of hosted tool: non-negative safe integers. */
  readonly calls: Readonly<Record<string, number>>;
  readonly parts?: TokenParts | undefined;
  /** Names of what the report holds and nobody can charge by: counts that are negative, fractional or no numbers. */
  readonly unusable?: readonly string[] | undefined;
}

/**
 * The terms of a charge at the provider that answered, and what in the report has no price (for the operator: it was
 * charged as if it were plain). `askedTools`: the types of hosted tools that were asked for; a call has the price of the
 * one that it is a call of.
 */
export function chargeTerms(
  pricing: Pricing,
  provider: string,
  reported: ReportedTerms,
  askedTools: readonly string[] = [],
): ChargeTerms & { readonly unpriced: readonly string[] } {
  const unpriced: string[] = [];
  let factor = ONE;
  for (const [field, value] of entriesOf(reported.fields)) {
    const multiplier = multiplierOf(pricing, provider, field, value);
    if (multiplier === null) unpriced.push(`${field} ${value}`);
    else factor = multiply(factor, multiplier);
  }
  let feeNanos = ZERO;
  for (const [type, calls] of Object.entries(reported.calls)) {
    if (calls === 0) continue;
    const price = callPrice(pricing, provider, type, askedTools);
    if (price === null) unpriced.push(`${calls} calls of ${type}`);
    else feeNanos = add(feeNanos, times(price, calls));
  }
  return { factor, feeNanos, parts: reported.parts, unpriced };
}

/** Reports name a tool without its version (`web_search`), requests and prices may name it with one. */
function callPrice(pricing: Pricing, provider: string, type: string, askedTools: readonly string[]): Fraction | null {
  const asked = askedTools.filter((tool) => plainType(tool) === plainType(type));
  let price: Fraction | null = null;
  for (const { nanosPerCall } of pricesOf(pricing, provider, asked.length > 0 ? asked : [type])) {
    price = price === null ? nanosPerCall : larger(price, nanosPerCall);
  }
  return price;
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

function plainType(type: string): string {
  return type.replace(/_(?:\d{8}|preview.*)$/s, '');
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
