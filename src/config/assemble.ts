/** Builds providers and models from checked settings, with defaults for the rest. */
import {
  CAPABILITIES,
  DESCRIPTION,
  LISTING,
  type Model,
  type ModelOrigin,
  type ModelPrices,
  OUTPUT,
  type Target,
} from '../core/model.ts';
import {
  type Network,
  PLAIN_NETWORK,
  PROVIDER_SWITCHES,
  type Provider,
  type ProviderFactory,
  type ProviderKind,
  TIMEOUTS,
} from '../core/provider.ts';
import { CONFIGURED } from './facts.ts';
import { KINDS, knownHostNamed, knownHostOf } from './kinds.ts';
import { type PriceTerm, priceTerms } from './price-changes.ts';
import { pricingFromUsd, publishedUsd, type UsdModifiers, type UsdPricing } from './pricing.ts';
import type { FileModel, FileProvider } from './schema.ts';

/** Undefined where neither the file nor a well-known name determines it. */
export function kindOf(name: string, provider: FileProvider): ProviderKind | undefined {
  return provider.kind ?? knownHostNamed(name)?.kind;
}

/** Without a trailing slash; undefined where it must be configured; empty for packages that have their own. */
export function baseUrlOf(name: string, kind: ProviderKind, provider: FileProvider): string | undefined {
  const host = knownHostNamed(name);
  const usual = (host?.kind === kind ? host.baseUrl : null) ?? KINDS[kind].baseUrl;
  const address = provider.base_url ?? usual ?? (kind === 'ai-sdk' ? '' : undefined);
  return address?.replace(/\/+$/, '');
}

/** `factory` creates the provider of a package; it is undefined for every other kind. */
export function assembleProvider(
  name: string,
  provider: FileProvider,
  factory?: ProviderFactory,
  network: Network = PLAIN_NETWORK,
): Provider {
  const kind = kindOf(name, provider);
  const baseUrl = kind === undefined ? undefined : baseUrlOf(name, kind, provider);
  if (kind === undefined || baseUrl === undefined) throw new Error(`provider ${name} is not complete`);
  const row = KINDS[kind];
  const known = knownHostOf(baseUrl);
  const host = known?.kind === kind ? known : undefined;
  return {
    name,
    kind,
    baseUrl,
    apiKeys: provider.api_keys ?? (provider.api_key === undefined ? [] : [provider.api_key]),
    formats: provider.formats ?? host?.formats ?? row.assumedFormats,
    timeouts: TIMEOUTS.read(provider.timeouts),
    network,
    headers: Object.fromEntries(
      Object.entries(provider.headers ?? {}).map(([header, value]) => [header.toLowerCase(), value]),
    ),
    chatLimitField: provider.chat_limit_field ?? host?.chatLimitField ?? row.chatLimitField,
    countsTokens: provider.count_tokens ?? host?.countsTokens ?? row.countsTokens,
    options: {
      ...(provider.api_version === undefined ? {} : { api_version: provider.api_version }),
      ...provider.options,
    },
    package: factory && { name: provider.package ?? name, create: factory, callOptions: provider.call_options },
    ...PROVIDER_SWITCHES.read(provider),
  };
}

interface ModelParts extends Pick<Model, 'id' | 'provider' | 'contextWindow' | 'maxOutputTokens' | 'sources'> {
  readonly targets: readonly Target[];
  readonly usd: UsdPricing;
  readonly usdPerCredit: number;
  /** By the name of the provider. */
  readonly modifiers?: Readonly<Record<string, UsdModifiers>> | undefined;
  readonly markup?: number | undefined;
  /** What the config file says of it. */
  readonly file?: Partial<FileModel>;
  readonly origin?: ModelOrigin | null;
  /** At which its prices count. */
  readonly nowMs?: number;
}

export function assembleModel(parts: ModelParts): Model {
  const { id, provider, contextWindow, maxOutputTokens, file = {}, origin = null, nowMs = Date.now() } = parts;
  const [firstTarget, ...rest] = parts.targets;
  if (firstTarget === undefined) throw new Error(`model ${id} has no target`);
  const base: PriceTerm = { usd: parts.usd, markup: parts.markup, changed: false };
  const dated = priceTerms(base, file.prices ?? []);
  const inForce = dated.findLast(({ fromMs }) => fromMs <= nowMs) ?? base;
  return {
    id,
    provider,
    contextWindow,
    maxOutputTokens,
    ...DESCRIPTION.read(file),
    ownedBy: file.owned_by ?? provider,
    capabilities: CAPABILITIES.read(file.capabilities),
    ...OUTPUT.read(file),
    visibleOutput: file.visible_output ?? (file.capabilities?.reasoning === false ? true : null),
    ...pricesOf(parts, inForce),
    priceChanges: dated
      .filter(({ fromMs }) => fromMs > nowMs)
      .map((term) => ({ atMs: term.fromMs, ...pricesOf(parts, term) })),
    targets: [firstTarget, ...rest],
    ...LISTING.read(file),
    defaults: file.defaults ?? null,
    origin,
  };
}

function pricesOf({ usdPerCredit, modifiers, sources }: ModelParts, { usd, markup, changed }: PriceTerm): ModelPrices {
  const providerPricing = pricingFromUsd(usd, usdPerCredit, 1, modifiers);
  return {
    pricing: markup === undefined ? providerPricing : pricingFromUsd(usd, usdPerCredit, markup, modifiers),
    providerPricing,
    publishedPricing: publishedUsd(usd, markup),
    sources: changed ? { ...sources, pricing: CONFIGURED } : sources,
  };
}
