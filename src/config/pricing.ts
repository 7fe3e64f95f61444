/** Converts prices in USD per million tokens to the exact rationals that charges are computed from. */
import type { PriceTier, Pricing, Rates } from '../core/money.ts';
import {
  decimalNumber,
  divide,
  leastCommonMultiple,
  multiply,
  type Rational,
  rational,
  rationalFromDecimal,
} from '../lib/rational.ts';

/** USD per million tokens. A cache class that is not given costs what `input` costs, `cache_write_1h` what `cache_write` costs. */
export interface UsdRates {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
  readonly cache_write_1h?: number | undefined;
}

/** What changes for a request whose whole input has at least this many tokens; classes not given stay as they are. */
export interface UsdTier extends Partial<UsdRates> {
  readonly from_input_tokens: number;
}

export interface UsdPricing extends UsdRates {
  readonly tiers?: readonly UsdTier[] | undefined;
}

const PRICE_CLASSES = ['input', 'output', 'cache_read', 'cache_write', 'cache_write_1h'] as const;

type RationalRates = Readonly<Record<keyof Rates, Rational>>;

/**
 * Nanos per token from USD per million tokens: × 10⁹ nanos a credit ÷ 10⁶ tokens ÷ USD a credit × mark-up.
 * All rates share one denominator.
 */
export function pricingFromUsd(usd: UsdPricing, usdPerCredit: number, markup = 1): Pricing {
  const factor = multiply(divide(rational(1000n), rationalFromDecimal(usdPerCredit)), rationalFromDecimal(markup));
  const tiers = steps(usd).map(({ from, rates }) => ({ from, rates: scaledRates(rates, factor) }));
  let per = 1n;
  for (const { rates } of tiers) {
    for (const rate of Object.values(rates)) per = leastCommonMultiple(per, rate.denominator);
  }
  const [first, ...rest] = tiers.map(
    ({ from, rates }): PriceTier => ({
      fromInputTokens: from,
      rates: integerRates(rates, per),
    }),
  );
  if (first === undefined) throw new Error('a price has at least one tier');
  return { per, tiers: [first, ...rest] };
}

/** What the catalog shows: USD per million tokens by class, mark-up included; a later tier's classes carry its beginning. */
export function publishedUsd(usd: UsdPricing, markup = 1): Record<string, number> {
  const factor = rationalFromDecimal(markup);
  const published: Record<string, number> = {};
  for (const rates of [usd, ...sortedTiers(usd)]) {
    const suffix = 'from_input_tokens' in rates ? `_from_${rates.from_input_tokens}` : '';
    for (const name of PRICE_CLASSES) {
      const price = rates[name];
      if (price !== undefined) published[name + suffix] = decimalNumber(multiply(rationalFromDecimal(price), factor));
    }
  }
  return published;
}

function steps(usd: UsdPricing): { from: number; rates: UsdRates }[] {
  let rates: UsdRates = usd;
  const list = [{ from: 0, rates }];
  for (const tier of sortedTiers(usd)) {
    rates = { ...rates, ...tier };
    list.push({ from: tier.from_input_tokens, rates });
  }
  return list;
}

function sortedTiers(usd: UsdPricing): UsdTier[] {
  return [...(usd.tiers ?? [])].sort((a, b) => a.from_input_tokens - b.from_input_tokens);
}

function scaledRates(usd: UsdRates, factor: Rational): RationalRates {
  const scaled = (price: number): Rational => multiply(rationalFromDecimal(price), factor);
  const cacheWrite = usd.cache_write ?? usd.input;
  return {
    input: scaled(usd.input),
    output: scaled(usd.output),
    cacheRead: scaled(usd.cache_read ?? usd.input),
    cacheWrite: scaled(cacheWrite),
    cacheWrite1h: scaled(usd.cache_write_1h ?? cacheWrite),
  };
}

function integerRates(rates: RationalRates, per: bigint): Rates {
  const integer = ({ numerator, denominator }: Rational): bigint => numerator * (per / denominator);
  return {
    input: integer(rates.input),
    output: integer(rates.output),
    cacheRead: integer(rates.cacheRead),
    cacheWrite: integer(rates.cacheWrite),
    cacheWrite1h: integer(rates.cacheWrite1h),
  };
}
