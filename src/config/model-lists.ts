/** The model lists of all providers, as they are kept in the store so that every gateway on it has the same. */
import type { Provider } from '../core/provider.ts';
import { isObject, type JsonObject } from '../lib/json.ts';
import { knownHostOf, type ModelListRequest } from './kinds.ts';
import type { ListedModel, ListedModels } from './model-list.ts';
import type { UsdPricing } from './pricing.ts';

export interface ModelList {
  readonly askedAtMs: number;
  readonly models: ListedModels;
}

/** By `listKey`. */
export type ModelLists = ReadonlyMap<string, ModelList>;

export const NO_LISTS: ModelLists = new Map();

/** Its name in the store. */
export const MODEL_LISTS_DOCUMENT = 'model-lists';

/** A provider that moves to another address is another one. */
export function listKey({ name, baseUrl }: Pick<Provider, 'name' | 'baseUrl'>): string {
  return `${name} ${baseUrl}`;
}

export function listRequestOf({ baseUrl }: Provider): ModelListRequest {
  return knownHostOf(baseUrl)?.modelList ?? {};
}

interface ListAddress {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The address of a provider's model list, from the usual one. */
export function listAddress<Address extends ListAddress>(
  usual: Address,
  request: ModelListRequest,
  apiKey: string | null,
): Address {
  let address = usual;
  if (request.url !== undefined) {
    const { origin, pathname, search } = new URL(request.url);
    address = { ...address, origin, path: pathname + search };
  }
  if (request.keyHeader !== undefined && apiKey !== null) {
    const { authorization: _, ...headers } = address.headers;
    address = { ...address, headers: { ...headers, [request.keyHeader]: apiKey } };
  }
  return address;
}

/** The text of the document. Only what is stated is written. */
export function encodeModelLists(lists: ModelLists): string {
  const providers: Record<string, object> = {};
  for (const [key, { askedAtMs, models }] of lists) {
    providers[key] = { asked_at_ms: askedAtMs, models: Object.fromEntries(models) };
  }
  return JSON.stringify({ version: 1, providers });
}

/** Lists that this release cannot read count as not there: they are asked for again. */
export function decodeModelLists(text: string | null): ModelLists {
  const lists = new Map<string, ModelList>();
  if (text === null) return lists;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return lists;
  }
  if (!isObject(parsed) || parsed.version !== 1 || !isObject(parsed.providers)) return lists;
  for (const [key, list] of Object.entries(parsed.providers)) {
    if (!isObject(list) || typeof list.asked_at_ms !== 'number' || !isObject(list.models)) continue;
    const models = Object.entries(list.models).flatMap(([id, model]) =>
      isObject(model) ? [[id, decodeModel(model)] as const] : [],
    );
    lists.set(key, { askedAtMs: list.asked_at_ms, models: new Map(models) });
  }
  return lists;
}

/** Both, and of two lists of one provider the one that was asked for last. */
export function mergeModelLists(one: ModelLists, other: ModelLists): ModelLists {
  const merged = new Map(one);
  for (const [key, list] of other) {
    if ((merged.get(key)?.askedAtMs ?? Number.NEGATIVE_INFINITY) <= list.askedAtMs) merged.set(key, list);
  }
  return merged;
}

function decodeModel({ contextWindow, maxOutputTokens, pricing }: JsonObject): ListedModel {
  return {
    contextWindow: decodeCount(contextWindow),
    maxOutputTokens: decodeCount(maxOutputTokens),
    pricing: isObject(pricing) ? decodePricing(pricing) : null,
  };
}

function decodeCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Null unless every price in it is one. */
function decodePricing({ tiers = [], ...base }: JsonObject): UsdPricing | null {
  const steps = Array.isArray(tiers) ? tiers : [null];
  if (!isPriced(base, ['input', 'output']) || !steps.every((tier) => isPriced(tier, ['from_input_tokens'])))
    return null;
  return { ...base, tiers: steps } as unknown as UsdPricing;
}

function isPriced(rates: unknown, needed: readonly string[]): boolean {
  if (!isObject(rates) || !needed.every((name) => name in rates)) return false;
  return Object.values(rates).every((value) => typeof value === 'number' && value >= 0 && Number.isFinite(value));
}
