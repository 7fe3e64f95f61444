/** What multiplies and adds to token prices: published defaults by provider and model, the file over them. */
import { MULTIPLIER_FIELDS, type MultiplierField } from '../core/money.ts';
import type { UsdModifiers } from './pricing.ts';
import type { FileModel, FileProvider } from './schema.ts';

type Multipliers = Partial<Record<MultiplierField, Readonly<Record<string, number>>>>;

interface PublishedRow {
  /** In the price book. */
  readonly provider: string;
  readonly models: RegExp;
  readonly multipliers: Multipliers;
}

/**
 * Read in November 2026; docs/run/prices.md names the pages. The first row that fits counts for each field. A model
 * without a row has no published multiplier: then the file prices a value, or it is refused.
 */
const PUBLISHED: readonly PublishedRow[] = [
  { provider: 'anthropic', models: /^claude-opus-4[.-][67]/, multipliers: { speed: { fast: 6 } } },
  { provider: 'anthropic', models: /^claude-opus-(4[.-][89]|[5-9])/, multipliers: { speed: { fast: 2 } } },
  { provider: 'anthropic', models: /^claude-/, multipliers: { inference_geo: { us: 1.1 } } },
  {
    provider: 'openai',
    models: /^gpt-6-astra/,
    multipliers: { service_tier: { ...fast(2), ultrafast: 6, flex: 0.5 } },
  },
  { provider: 'openai', models: /^gpt-6(\.1)?-(sol|luna)/, multipliers: { service_tier: { ...fast(2), flex: 0.5 } } },
  { provider: 'openai', models: /^gpt-5\.5/, multipliers: { service_tier: { ...fast(2.5), flex: 0.5 } } },
  { provider: 'openai', models: /^gpt-5-mini/, multipliers: { service_tier: { ...fast(1.8), flex: 0.5 } } },
  { provider: 'openai', models: /^gpt-5(\.[1246])?(-|$)/, multipliers: { service_tier: { ...fast(2), flex: 0.5 } } },
  { provider: 'openai', models: /^gpt-4\.1(-\d|$)/, multipliers: { service_tier: fast(1.75) } },
  { provider: 'groq', models: /^/, multipliers: { service_tier: { flex: 1 } } },
];

/** Priority processing has been called Fast mode since July 2026; requests may use either name. */
function fast(multiplier: number): { readonly priority: number; readonly fast: number } {
  return { priority: multiplier, fast: multiplier };
}

/** USD per thousand calls that the price book does not have. */
const PUBLISHED_TOOLS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'x-ai': { web_search: 5, x_search: 5, code_execution: 5, code_interpreter: 5, file_search: 2.5 },
};

const MAX_CALLS = 5;

interface ModifierInput {
  readonly priceBook: string | null;
  readonly upstreamModel: string;
  /** USD per thousand calls, by type of tool, as the price book has them. */
  readonly bookTools: Readonly<Record<string, number>>;
  readonly provider: Pick<FileProvider, 'multipliers' | 'hosted_tools'> | undefined;
  readonly model: Pick<FileModel, 'multipliers' | 'hosted_tools'> | undefined;
}

/** The second part names the tools that neither the file nor a published list prices. */
export function priceModifiers(input: ModifierInput): {
  readonly modifiers: UsdModifiers;
  readonly unpriced: string[];
} {
  const multipliers: Record<string, Readonly<Record<string, number>>> = {};
  for (const field of MULTIPLIER_FIELDS) {
    const own = input.provider?.multipliers?.[field];
    const ofModel = input.model?.multipliers?.[field];
    const values = own === undefined && ofModel === undefined ? published(input, field) : { ...own, ...ofModel };
    if (Object.keys(values).length > 0) multipliers[field] = values;
  }
  const unpriced: string[] = [];
  const hostedTools: Record<string, UsdModifiers['hostedTools'][string]> = {};
  for (const [type, { per_1000_calls, max_calls, tokens }] of Object.entries({
    ...input.provider?.hosted_tools,
    ...input.model?.hosted_tools,
  })) {
    const usdPer1000Calls = per_1000_calls ?? publishedTool(input, type);
    if (usdPer1000Calls === undefined) unpriced.push(type);
    else hostedTools[type] = { usdPer1000Calls, maxCalls: max_calls ?? MAX_CALLS, tokens };
  }
  return { modifiers: { multipliers, hostedTools }, unpriced };
}

function published(
  { priceBook, upstreamModel }: ModifierInput,
  field: MultiplierField,
): Readonly<Record<string, number>> {
  const row = PUBLISHED.find(
    ({ provider, models, multipliers }) =>
      provider === priceBook && multipliers[field] !== undefined && models.test(upstreamModel),
  );
  return row?.multipliers[field] ?? {};
}

function publishedTool({ priceBook, bookTools }: ModifierInput, type: string): number | undefined {
  const tools = { ...(priceBook === null ? {} : PUBLISHED_TOOLS[priceBook]), ...bookTools };
  const plain = type.replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2}|preview.*)$/, '');
  return Object.hasOwn(tools, type) ? tools[type] : Object.hasOwn(tools, plain) ? tools[plain] : undefined;
}
