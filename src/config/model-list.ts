/** What a provider's own model list says of its models: one reader for all shapes that providers document. */
import { arrayAt, isObject, type JsonObject, objectAt } from '../lib/json.ts';
import type { UsdPricing } from './pricing.ts';

export interface ListedModel {
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly pricing: UsdPricing | null;
}

/** By the name that the provider knows the model under; its aliases are here as well. */
export type ListedModels = ReadonlyMap<string, ListedModel>;

/** The unit of the prices in a list. A list of unknown unit is read without its prices. */
export type ListPrices = 'usd_per_token' | 'usd_per_million' | 'cents_per_100_million';

/** More than any provider lists; the rest of a longer list is left out. */
const LISTED_MAX = 5_000;
const ALIASES_MAX = 50;
const TOKENS_MAX = 1_000_000_000;
const USD_MAX = 1_000_000;

/**
 * Where each provider states the context window: OpenRouter, xAI, Together and Fireworks `context_length`, Groq
 * `context_window`, Mistral and LM Studio `max_context_length`, vLLM `max_model_len`, Anthropic `max_input_tokens`,
 * Gemini `inputTokenLimit`.
 */
const WINDOW_FIELDS = [
  'context_length',
  'context_window',
  'max_context_length',
  'max_model_len',
  'max_input_tokens',
  'inputTokenLimit',
] as const;
/** Groq `max_completion_tokens`, Anthropic `max_tokens`, Gemini `outputTokenLimit`, others `max_output_tokens` or `…_length`. */
const OUTPUT_FIELDS = [
  'max_completion_tokens',
  'max_output_tokens',
  'max_output_length',
  'max_tokens',
  'outputTokenLimit',
] as const;

/** Null where the text is not a list of models. Whatever in it is not a sane figure counts as not stated. */
export function readModelList(body: string, prices: ListPrices | null = null): ListedModels | null {
  const entries = entriesOf(body);
  if (entries === null) return null;
  const listed = new Map<string, ListedModel>();
  for (const entry of entries.slice(0, LISTED_MAX)) {
    if (!isObject(entry)) continue;
    const model: ListedModel = { ...limitsOf(entry), pricing: prices === null ? null : pricingOf(entry, prices) };
    for (const name of namesOf(entry)) if (!listed.has(name)) listed.set(name, model);
  }
  return listed.size === 0 ? null : listed;
}

/** `data` in most lists, `models` at Gemini, and some servers send the list bare. */
function entriesOf(body: string): readonly unknown[] | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  if (Array.isArray(parsed)) return parsed;
  return isObject(parsed) ? (arrayAt(parsed, 'data') ?? arrayAt(parsed, 'models') ?? null) : null;
}

function namesOf(entry: JsonObject): string[] {
  const id = entry.id ?? entry.name;
  const aliases = (arrayAt(entry, 'aliases') ?? []).slice(0, ALIASES_MAX);
  return [id, ...aliases].flatMap((name) =>
    typeof name === 'string' && /^[!-~]{1,300}$/.test(name) ? [name.replace(/^models\//, '')] : [],
  );
}

function limitsOf(entry: JsonObject): Omit<ListedModel, 'pricing'> {
  // OpenRouter states the model's window and, beside it, what its first provider gives; DeepInfra has both in `metadata`.
  const inner = objectAt(entry, 'top_provider') ?? objectAt(entry, 'metadata') ?? {};
  const windows = [...WINDOW_FIELDS.map((name) => tokens(entry[name])), tokens(inner.context_length)];
  const contextWindow = least(windows);
  const outputs = [...OUTPUT_FIELDS.map((name) => tokens(entry[name])), tokens(inner.max_completion_tokens)];
  const maxOutputTokens = least([...outputs, tokens(inner.max_tokens)]);
  return {
    contextWindow,
    maxOutputTokens:
      maxOutputTokens === null || contextWindow === null ? maxOutputTokens : Math.min(maxOutputTokens, contextWindow),
  };
}

function pricingOf(entry: JsonObject, unit: ListPrices): UsdPricing | null {
  if (unit === 'cents_per_100_million') return xaiPricing(entry);
  const pricing = objectAt(entry, 'pricing') ?? {};
  const scale = unit === 'usd_per_token' ? 1_000_000 : 1;
  const usd = (value: unknown) => dollars(value, scale);
  // What is asked for each request could not be charged by tokens.
  if ((usd(pricing.request) ?? 0) > 0) return null;
  return complete({
    input: usd(pricing.prompt ?? pricing.input),
    output: usd(pricing.completion ?? pricing.output),
    cache_read: usd(pricing.input_cache_read ?? pricing.cached_input),
    cache_write: usd(pricing.input_cache_write),
  });
}

function xaiPricing(entry: JsonObject): UsdPricing | null {
  const usd = (name: string) => dollars(entry[name], 0.0001);
  const base = complete({
    input: usd('prompt_text_token_price'),
    output: usd('completion_text_token_price'),
    cache_read: usd('cached_prompt_text_token_price'),
  });
  const from = tokens(entry.long_context_threshold);
  const long = complete({
    input: usd('prompt_text_token_price_long_context'),
    output: usd('completion_text_token_price_long_context'),
    cache_read: usd('cached_prompt_text_token_price_long_context'),
  });
  if (base === null || from === null || long === null) return base;
  return { ...base, tiers: [{ from_input_tokens: from, ...long }] };
}

/** Null without a price for input and output, or where both are zero: what is free, the operator says. */
function complete(rates: {
  input: number | null;
  output: number | null;
  cache_read?: number | null;
  cache_write?: number | null;
}): UsdPricing | null {
  const { input, output, cache_read, cache_write } = rates;
  if (input === null || output === null || (input === 0 && output === 0)) return null;
  return { input, output, ...(cache_read ? { cache_read } : {}), ...(cache_write ? { cache_write } : {}) };
}

function dollars(value: unknown, scale: number): number | null {
  const given = typeof value === 'string' && value.length < 40 ? Number(value) : value;
  if (typeof given !== 'number' || !(given >= 0)) return null;
  // The decimal that was meant: scaling a double leaves a rest in its last digits.
  const usd = Number((given * scale).toPrecision(12));
  return usd <= USD_MAX ? usd : null;
}

function tokens(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= TOKENS_MAX ? value : null;
}

function least(counts: readonly (number | null)[]): number | null {
  const stated = counts.filter((count) => count !== null);
  return stated.length === 0 ? null : Math.min(...stated);
}
