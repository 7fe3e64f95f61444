/** Converts prices in USD per million tokens to the exact rationals that charges are computed from. */
import type { Static } from 'typebox';
import type { Fraction, HostedToolPrice, PriceModifiers, PriceTier, Pricing, Rates } from '../core/money.ts';
import {
  decimalNumber,
  divide,
  leastCommonMultiple,
  multiply,
  type Rational,
  rational,
  rationalFromDecimal,
} from '../lib/rational.ts';
import { type PriceTierSchema, type PricingSchema, RATE_NAMES } from './price-schema.ts';

/**
 * USD per million tokens. A cache class that is not given costs what `input` costs, `cache_write_1h` what `cache_write` costs;
 * parts of the input and output that have no price cost what text costs.
 */
export type UsdPricing = Static<typeof PricingSchema>;
/** What changes for a request whose whole input has at least this many tokens; classes not given stay as they are. */
export type UsdTier = Static<typeof PriceTierSchema>;
export type UsdRates = Omit<UsdPricing, 'tiers'>;

/** What changes or adds to the price of tokens at one provider, as people write it. */
export interface UsdModifiers {
  readonly multipliers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly hostedTools: Readonly<Record<string, UsdToolPrice>>;
}

interface UsdToolPrice {
  readonly usdPer1000Calls: number;
  readonly maxCalls: number;
  /** USD per million tokens of the tool's own. */
  readonly tokens?: { readonly input: number; readonly output: number } | undefined;
}

type RationalRates = { readonly [Name in keyof Rates]: Rational };

/**
 * Nanos per token from USD per million tokens: × 10⁹ nanos a credit ÷ 10⁶ tokens ÷ USD a credit × mark-up.
 * All rates share one denominator.
 */
export function pricingFromUsd(
  usd: UsdPricing,
  usdPerCredit: number,
  markup = 1,
  modifiers: Readonly<Record<string, UsdModifiers>> = {},
): Pricing {
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
  // Where a model is free, so is everything about it.
  const longCacheWrites = usd.cache_write_1h !== undefined || (usd.input === 0 && usd.output === 0);
  const pricing: Pricing = { per, tiers: [first, ...rest], ...(longCacheWrites ? { longCacheWrites } : {}) };
  const modified = Object.entries(modifiers).filter(([, { multipliers, hostedTools }]) => {
    return Object.keys(multipliers).length > 0 || Object.keys(hostedTools).length > 0;
  });
  if (modified.length === 0) return pricing;
  return {
    ...pricing,
    modifiers: Object.fromEntries(modified.map(([provider, one]) => [provider, modifiersFromUsd(one, factor)])),
  };
}

/** `factor` turns USD per million tokens into nanos per token. A fee is marked up like tokens are; a multiplier is not. */
function modifiersFromUsd({ multipliers, hostedTools }: UsdModifiers, factor: Rational): PriceModifiers {
  return {
    multipliers: mapValues(multipliers, (values) => mapValues(values, (value): Fraction => rationalFromDecimal(value))),
    hostedTools: mapValues(
      hostedTools,
      ({ usdPer1000Calls, maxCalls, tokens }): HostedToolPrice => ({
        // A thousand calls instead of a million tokens.
        nanosPerCall: multiply(multiply(rationalFromDecimal(usdPer1000Calls), factor), rational(1000n)),
        maxCalls,
        ...(tokens === undefined
          ? {}
          : {
              nanosPerToken: {
                input: multiply(rationalFromDecimal(tokens.input), factor),
                output: multiply(rationalFromDecimal(tokens.output), factor),
              },
            }),
      }),
    ),
  };
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

/** What the catalog shows: USD per million tokens by class, mark-up included; a later tier's classes carry its beginning. */
export function publishedUsd(usd: UsdPricing, markup = 1): Record<string, number> {
  const factor = rationalFromDecimal(markup);
  const published: Record<string, number> = {};
  for (const rates of [usd, ...sortedTiers(usd)]) {
    const suffix = 'from_input_tokens' in rates ? `_from_${rates.from_input_tokens}` : '';
    for (const name of RATE_NAMES) {
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
    ...(usd.input_audio === undefined ? {} : { inputAudio: scaled(usd.input_audio) }),
    ...(usd.input_image === undefined ? {} : { inputImage: scaled(usd.input_image) }),
    ...(usd.output_audio === undefined ? {} : { outputAudio: scaled(usd.output_audio) }),
    ...(usd.output_image === undefined ? {} : { outputImage: scaled(usd.output_image) }),
  };
}

function integerRates(rates: RationalRates, per: bigint): Rates {
  const integers = Object.entries(rates).map(([name, { numerator, denominator }]) => [
    name,
    numerator * (per / denominator),
  ]);
  return Object.fromEntries(integers) as Rates;
}
