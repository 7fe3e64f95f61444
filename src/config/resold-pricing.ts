/**
 * Prices of models that a cloud or router resells: published lists of resellers often leave out the one-hour cache write
 * and the long-context tier that the maker of the model has, and that the reseller charges in the same proportion.
 */
import { knownModel } from './price-book.ts';
import type { UsdPricing, UsdRates, UsdTier } from './pricing.ts';

/** The names that models of a maker have everywhere, and the maker's own price book. */
const MAKERS: readonly (readonly [name: RegExp, priceBook: string])[] = [
  [/claude-[\w.-]+/, 'anthropic'],
  [/gemini-[\w.-]+/, 'google'],
  [/gpt-[5-9][\w.-]*/, 'openai'],
  [/grok-[\w.-]+/, 'x-ai'],
];
const CLASSES = ['input', 'output', 'cache_read', 'cache_write', 'cache_write_1h'] as const;

/** The price with what the maker's has beyond it, in proportion; the same price where it is the maker's own or complete. */
export function withMakersClasses(
  usd: UsdPricing,
  priceBook: string | null,
  upstreamModel: string,
  at: Date,
): UsdPricing {
  const maker = makersPricing(priceBook, upstreamModel, at);
  if (maker === null) return usd;
  const base = withHourWrite(usd, maker);
  if (base.tiers !== undefined || maker.tiers === undefined) return base;
  const tiers = maker.tiers.map((tier): UsdTier => {
    const rates = CLASSES.flatMap((name) => {
      const [own, theirs, long] = [base[name], maker[name], tier[name]];
      return own === undefined || theirs === undefined || long === undefined
        ? []
        : [[name, inProportion(own, theirs, long)]];
    });
    return { from_input_tokens: tier.from_input_tokens, ...(Object.fromEntries(rates) as Partial<UsdRates>) };
  });
  return { ...base, tiers };
}

function withHourWrite(usd: UsdPricing, maker: UsdPricing): UsdPricing {
  if (usd.cache_write_1h !== undefined || maker.cache_write_1h === undefined) return usd;
  const cache_write_1h = inProportion(usd.input, maker.input, maker.cache_write_1h);
  const tiers = usd.tiers?.map((tier) => {
    const long = maker.tiers?.find(({ from_input_tokens }) => from_input_tokens === tier.from_input_tokens);
    if (tier.input === undefined || long?.input === undefined || long.cache_write_1h === undefined) return tier;
    return { ...tier, cache_write_1h: inProportion(tier.input, long.input, long.cache_write_1h) };
  });
  return { ...usd, cache_write_1h, ...(tiers === undefined ? {} : { tiers }) };
}

function makersPricing(priceBook: string | null, upstreamModel: string, at: Date): UsdPricing | null {
  for (const [name, maker] of MAKERS) {
    const found = name.exec(upstreamModel.toLowerCase())?.[0];
    // Google resells Claude beside its own models.
    if (found === undefined || maker === priceBook) continue;
    return knownModel(maker, found.replace(/-v\d+$/, ''), at)?.pricing ?? null;
  }
  return null;
}

function inProportion(own: number, theirBase: number, theirs: number): number {
  return theirBase === 0 ? own : Number(((own * theirs) / theirBase).toPrecision(12));
}
