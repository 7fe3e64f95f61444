/** Published prices and context windows: the data bundled with `@pydantic/genai-prices`, never fetched. */
import { createRequire } from 'node:module';
import type { MatchLogic, ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import type { UsdPricing, UsdTier } from './pricing.ts';

type Book = typeof import('@pydantic/genai-prices');

let opened: Book | null = null;

/** Half a megabyte of data, read when the first price is looked up. */
function book(): Book {
  opened ??= createRequire(import.meta.url)('@pydantic/genai-prices') as Book;
  return opened;
}

interface KnownModel {
  readonly name: string | undefined;
  readonly contextWindow: number | null;
  /** Null: no price, or one that counts something other than text tokens. */
  readonly pricing: UsdPricing | null;
  /** USD per thousand calls, by type of hosted tool. */
  readonly hostedTools: Readonly<Record<string, number>>;
}

const CLASS_KEYS = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'cache_read',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  input_audio_mtok: 'input_audio',
  input_image_mtok: 'input_image',
} as const;

const TOOL_KEYS: Readonly<Record<string, string>> = {
  web_searches_kcount: 'web_search',
  social_searches_kcount: 'x_search',
  storage_searches_kcount: 'file_search',
};

/**
 * Hosted tools, which are refused unless the operator prices them, and audio and images that were read from a cache, which
 * no provider reports apart. A price by any other unit cannot be charged by tokens of these classes, so the model counts as unpriced.
 */
const BESIDE_KEYS: ReadonlySet<string> = new Set([
  ...Object.keys(TOOL_KEYS),
  'code_executions_kcount',
  'cache_audio_read_mtok',
  'cache_image_read_mtok',
]);

/** Models with these names generate something other than text, or nothing. */
const NOT_TEXT =
  /embed|whisper|transcri|(^|[-/])tts|realtime|moderation|image|audio|video|[-/]ocr|voice|voxtral|[-/]live|guard|safety|rerank|lyria|omni-flash/i;

export function isTextModelName(name: string): boolean {
  return !NOT_TEXT.test(name);
}

/** The provider of the price data for an address, or for a name; undefined when neither is known. */
export function priceBookFor(baseUrl: string, name: string): string | undefined {
  const byAddress = baseUrl === '' ? undefined : book().findProvider({ providerApiUrl: baseUrl });
  return (byAddress ?? book().findProvider({ providerId: name }))?.id;
}

/** The price data of this upstream model on this day. */
export function knownModel(priceBook: string, upstreamModel: string, at: Date): KnownModel | null {
  const model = book().calcPrice({}, upstreamModel, { providerId: priceBook, timestamp: at })?.model;
  return model === undefined ? null : describe(model, at);
}

/** The upstream names of all text models of a provider that have a price. */
export function knownTextModels(priceBook: string, at: Date): readonly string[] {
  return (book().findProvider({ providerId: priceBook })?.models ?? []).flatMap((info) => {
    if (info.deprecated === true || !isTextModelName(info.id)) return [];
    const upstreamModel = upstreamName(priceBook, info);
    return upstreamModel === undefined || describe(info, at).pricing === null ? [] : [upstreamModel];
  });
}

function describe(info: ModelInfo, at: Date): KnownModel {
  const prices = pricesOn(info, at);
  const pricing = usdPricing(prices);
  // A zero is often a missing price, so only the operator can declare a model free.
  const free = pricing !== null && pricing.input === 0 && pricing.output === 0;
  return {
    name: info.name,
    contextWindow: info.context_window ?? null,
    pricing: free ? null : pricing,
    hostedTools: Object.fromEntries(
      Object.entries(prices).flatMap(([key, price]) => {
        const type = TOOL_KEYS[key];
        return type === undefined || price === undefined ? [] : [[type, basePrice(price)]];
      }),
    ),
  };
}

/** The id where it matches itself, else the first exact name that matches. */
function upstreamName(priceBook: string, info: ModelInfo): string | undefined {
  return [info.id, ...exactNames(info.match)].find(
    (name) => book().calcPrice({}, name, { providerId: priceBook })?.model.id === info.id,
  );
}

function exactNames(match: MatchLogic): string[] {
  if ('equals' in match) return [match.equals];
  return 'or' in match ? match.or.flatMap(exactNames) : [];
}

/** Where the price depends on the time of day, the highest: a caller is charged the same at every hour. */
function pricesOn(info: ModelInfo, at: Date): ModelPrice {
  if (!Array.isArray(info.prices)) return info.prices;
  const candidates: ModelPrice[] = [];
  for (const { constraint, prices } of info.prices.toReversed()) {
    if (constraint?.type === 'start_date' && at < new Date(constraint.start_date)) continue;
    candidates.push(prices);
    if (constraint?.type !== 'time_of_date') break;
  }
  return candidates.reduce((dearest, prices) => (baseSum(prices) > baseSum(dearest) ? prices : dearest), {});
}

function baseSum(prices: ModelPrice): number {
  return basePrice(prices.input_mtok) + basePrice(prices.output_mtok);
}

function basePrice(price: ModelPrice[string]): number {
  return typeof price === 'object' ? price.base : (price ?? 0);
}

function usdPricing(prices: ModelPrice): UsdPricing | null {
  const base: Record<string, number> = {};
  const tiers = new Map<number, Record<string, number>>();
  for (const [key, price] of Object.entries(prices)) {
    if (price === undefined || BESIDE_KEYS.has(key)) continue;
    if (!isClassKey(key)) return null;
    const name = CLASS_KEYS[key];
    base[name] = basePrice(price);
    for (const tier of typeof price === 'object' ? price.tiers : []) {
      // In the price data a tier begins above its start; here it includes its start.
      const from = tier.start + 1;
      const rates = tiers.get(from) ?? {};
      rates[name] = tier.price;
      tiers.set(from, rates);
    }
  }
  const { input, output, ...cache } = base;
  if (input === undefined || output === undefined) return null;
  const usdTiers: UsdTier[] = [...tiers].map(([from, rates]) => ({ from_input_tokens: from, ...rates }));
  return { input, output, ...cache, ...(usdTiers.length === 0 ? {} : { tiers: usdTiers }) };
}

function isClassKey(key: string): key is keyof typeof CLASS_KEYS {
  return Object.hasOwn(CLASS_KEYS, key);
}
