/** What is known of an upstream model beside the operator's file, and where from: the one place that ranks the sources. */
import type { Source } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { isoDay } from '../core/time.ts';
import { KINDS, type KnownHost } from './kinds.ts';
import { dataProviderFor, priceBookSource, shippedLimits, shippedModel, shippedPricedModels } from './model-data.ts';
import type { ListedModel } from './model-list.ts';
import { listKey, type ModelLists } from './model-lists.ts';
import { isTextModelName, knownModel, knownTextModels, priceBookFor } from './price-book.ts';
import type { UsdPricing } from './pricing.ts';
import { withMakersClasses } from './resold-pricing.ts';

/** A figure with its source. */
interface Figure<Value> {
  readonly value: Value;
  readonly source: Source;
}

export interface TargetFacts {
  readonly displayName: string | undefined;
  readonly pricing: Figure<UsdPricing> | null;
  readonly contextWindow: Figure<number> | null;
  readonly maxOutputTokens: Figure<number> | null;
  readonly priceBook: string | null;
  /** USD per thousand calls of hosted tools, by type, as published. */
  readonly hostedTools: Readonly<Record<string, number>>;
}

/** What the facts are looked up in. */
export interface FactsContext {
  /** The day whose published prices count. */
  readonly now: Date;
  readonly lists: ModelLists;
}

/** The gateway always sends a limit, and a provider refuses one that is above its own: every model accepts this one. */
const ASSUMED_OUTPUT_TOKENS = 4_096;

export const CONFIGURED: Source = { kind: 'configured', name: 'the config file', date: null };
const ASSUMED: Source = { kind: 'assumed', name: 'a cautious default', date: null };
/** An unknown context window is not a figure, but its absence has a source as well. */
export const UNKNOWN: Source = { kind: 'assumed', name: 'unknown', date: null };

/**
 * Limits: the provider's own list, else published data. Prices: the price book, else the provider's list, else the shipped
 * data, which knows models that the book does not have yet.
 */
export function factsOf(provider: Provider, upstreamModel: string, context: FactsContext): TargetFacts {
  const { priceBook, dataProvider } = booksOf(provider);
  const known = priceBook === null ? null : knownModel(priceBook, upstreamModel, context.now);
  const listed = listedModel(provider, upstreamModel, context.lists);
  const exact = dataProvider === null ? null : shippedModel(dataProvider, upstreamModel);
  const limits = dataProvider === null ? null : shippedLimits(dataProvider, upstreamModel);
  const book = priceBookSource();
  const pricing =
    figure(known?.pricing, book) ??
    figure(listed?.model.pricing, listed?.source) ??
    figure(exact?.pricing, exact?.source);
  return {
    displayName: known?.name,
    priceBook,
    hostedTools: known?.hostedTools ?? {},
    pricing: pricing && {
      ...pricing,
      value: withMakersClasses(pricing.value, priceBook, upstreamModel, context.now),
    },
    contextWindow:
      figure(listed?.model.contextWindow, listed?.source) ??
      figure(known?.contextWindow, book) ??
      figure(limits?.contextWindow, limits?.source),
    maxOutputTokens:
      figure(listed?.model.maxOutputTokens, listed?.source) ?? figure(limits?.maxOutputTokens, limits?.source),
  };
}

/**
 * The output limit that all of these targets accept, so that no failover is refused; a target whose limit is unknown
 * counts with the cautious default. Never more than the context window.
 */
export function commonOutputLimit(
  facts: readonly Pick<TargetFacts, 'maxOutputTokens'>[],
  contextWindow: number | null,
): Figure<number> {
  let least: Figure<number> | null = null;
  for (const { maxOutputTokens } of facts) {
    const one = maxOutputTokens ?? { value: ASSUMED_OUTPUT_TOKENS, source: ASSUMED };
    if (least === null || one.value < least.value) least = one;
  }
  const { value, source } = least ?? { value: ASSUMED_OUTPUT_TOKENS, source: ASSUMED };
  return { value: contextWindow === null ? value : Math.min(value, contextWindow), source };
}

/** The names of the provider in the price book and in the shipped data. */
export function booksOf(provider: Provider): {
  readonly priceBook: string | null;
  readonly dataProvider: string | null;
} {
  const found = bookOfPackage(provider) ?? priceBookFor(provider.baseUrl, provider.name);
  const data = dataProviderFor(provider.baseUrl, found ?? provider.name);
  // An address that only the data knows is not one of the kind's namesake.
  const priceBook = found ?? (data === undefined ? KINDS[provider.kind].priceBook : null);
  return { priceBook, dataProvider: data ?? priceBook };
}

/** Every text model of the provider whose price is known, by the names that the provider has for them. */
export function pricedModelNames(
  host: KnownHost | undefined,
  provider: Provider,
  { now, lists }: FactsContext,
): readonly string[] {
  const { dataProvider } = booksOf(provider);
  const listed = [...(lists.get(listKey(provider))?.models ?? [])].filter(([, { pricing }]) => pricing !== null);
  const names = [
    ...(host === undefined ? [] : knownTextModels(host.priceBook, now)),
    // What is published of a host says nothing of a server that only speaks like it.
    ...(dataProvider === null || host === undefined ? [] : shippedPricedModels(dataProvider)),
    ...listed.map(([id]) => id),
  ];
  return [...new Set(names)].filter((name) => isTextModelName(name) && host?.serves.test(name) !== false);
}

/** A package is named after the provider that it speaks to, whatever the file calls it. */
function bookOfPackage({ package: used }: Provider): string | undefined {
  const named = used?.name.replace(/^@[^/]+\//, '').split('/')[0];
  return named === undefined ? undefined : priceBookFor('', named);
}

function listedModel(
  provider: Provider,
  upstreamModel: string,
  lists: ModelLists,
): { readonly model: ListedModel; readonly source: Source } | null {
  const list = lists.get(listKey(provider));
  const model = list?.models.get(upstreamModel) ?? list?.models.get(`${upstreamModel}:latest`);
  if (list === undefined || model === undefined) return null;
  return { model, source: listedSource(provider.name, list.askedAtMs) };
}

export function listedSource(provider: string, askedAtMs: number): Source {
  return {
    kind: 'listed',
    name: `the model list of ${provider}`,
    date: isoDay(askedAtMs),
  };
}

function figure<Value>(value: Value | null | undefined, source: Source | undefined): Figure<Value> | null {
  return value === null || value === undefined || source === undefined ? null : { value, source };
}
