/** One row per kind of provider: where a format is asked for, and how the gateway identifies itself there. */
import type { Format } from '../core/endpoints.ts';
import type { Provider, ProviderKind } from '../core/provider.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import type { Destination } from '../transport/client.ts';
import type { HttpAddress, PackageAddress } from './upstream.ts';

/** The client's own headers that may reach a provider. Built from an allow-list; everything else stays here. */
export interface ForwardedHeaders {
  /** `compat-version`, or the native version header; null: the provider's default. */
  readonly version: string | null;
  readonly betas: string | null;
}

interface Adapter {
  path(provider: Provider, format: Format, upstreamModel: string): string;
  headers(provider: Provider, apiKey: string | null, forwarded: ForwardedHeaders): Record<string, string>;
  modelsPath(provider: Provider): string;
  /** Whether models are listed under the names that targets have. */
  readonly listsTargets: boolean;
}

const ANTHROPIC_VERSION = '2023-06-01';

const OPENAI_PATHS: Readonly<Record<Format, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

function bearer(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

function azureVersion({ options }: Provider): string {
  return encodeURIComponent(String(options.api_version ?? '2024-10-21'));
}

type HttpKind = Exclude<ProviderKind, 'ai-sdk'>;

const ADAPTERS: Readonly<Record<HttpKind, Adapter>> = {
  openai: {
    path: (_provider, format) => OPENAI_PATHS[format],
    headers: (_provider, apiKey) => bearer(apiKey),
    modelsPath: () => '/models',
    listsTargets: true,
  },
  azure: {
    path: (provider, format, upstreamModel) => {
      const version = azureVersion(provider);
      return format === 'responses'
        ? `/openai/v1/responses?api-version=${version}`
        : `/openai/deployments/${encodeURIComponent(upstreamModel)}/chat/completions?api-version=${version}`;
    },
    headers: (_provider, apiKey): Record<string, string> => (apiKey === null ? {} : { 'api-key': apiKey }),
    modelsPath: (provider) => `/openai/models?api-version=${azureVersion(provider)}`,
    // Targets are deployments, which have names of their own.
    listsTargets: false,
  },
  anthropic: {
    path: () => '/v1/messages',
    headers: (_provider, apiKey, forwarded) => ({
      ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
      'anthropic-version': forwarded.version ?? ANTHROPIC_VERSION,
      ...(forwarded.betas === null ? {} : { 'anthropic-beta': forwarded.betas }),
    }),
    modelsPath: () => '/v1/models?limit=1000',
    listsTargets: true,
  },
};

interface Base {
  readonly origin: string;
  readonly path: string;
}

interface Known extends ForwardedHeaders {
  readonly format: Format;
  readonly upstreamModel: string;
  readonly apiKey: string | null;
  readonly suffix: string;
  readonly address: HttpAddress;
}

/** Parsed once per provider: a provider lives as long as its configuration, a request for milliseconds. */
const BASES = new WeakMap<Provider, Base>();

/**
 * The newest addresses at each provider: most calls repeat one of them, and the transport keeps what it derives from the
 * destination. Saves 1.0 of 109 us here and 0.9 in the transport (measured apart, 27258a1; W1 does not resolve so little);
 * without it: a new address for each call.
 */
const KNOWN = new WeakMap<Provider, Known[]>();
const KNOWN_MAX = 32;

function baseOf(provider: Provider): Base {
  return getOrInsert(BASES, provider, () => {
    const { origin, pathname } = new URL(provider.baseUrl);
    return { origin, path: pathname === '/' ? '' : pathname };
  });
}

/** The full address of a generation call. `suffix` is for calls beside it over HTTP, such as `/count_tokens`. */
export function addressOf(
  provider: Provider,
  format: Format,
  upstreamModel: string,
  apiKey: string | null,
  forwarded: ForwardedHeaders,
  suffix = '',
): HttpAddress | PackageAddress {
  if (provider.kind === 'ai-sdk') return { via: 'package', provider, upstreamModel, apiKey };
  const addresses = getOrInsert(KNOWN, provider, () => []);
  const { version, betas } = forwarded;
  for (const known of addresses) {
    if (
      known.format === format &&
      known.upstreamModel === upstreamModel &&
      known.apiKey === apiKey &&
      known.version === version &&
      known.betas === betas &&
      known.suffix === suffix
    )
      return known.address;
  }
  const adapter = ADAPTERS[provider.kind];
  const [route = '', query] = adapter.path(provider, format, upstreamModel).split('?');
  const path = `${route}${suffix}${query === undefined ? '' : `?${query}`}`;
  const headers = adapter.headers(provider, apiKey, forwarded);
  const destination = destinationOf(provider, path, { 'content-type': 'application/json' }, headers);
  const address: HttpAddress = { via: 'http', destination };
  if (addresses.length >= KNOWN_MAX) addresses.shift();
  addresses.push({ format, upstreamModel, apiKey, version, betas, suffix, address });
  return address;
}

/** The operator's own headers replace `usual` ones, and those of the adapter replace both. */
function destinationOf(
  provider: Provider,
  path: string,
  usual: Readonly<Record<string, string>>,
  adapted: Readonly<Record<string, string>>,
): Destination {
  const base = baseOf(provider);
  // Decoding a compressed answer costs more than the bytes that it saves; one that comes all the same is decoded.
  const headers = { ...usual, 'accept-encoding': 'identity', ...provider.headers, ...adapted };
  return { origin: base.origin, path: base.path + path, headers, network: provider.network };
}

/** The same address, with the trace that the client's request belongs to; a package cannot be given one. */
export function traced(address: HttpAddress | PackageAddress, traceparent: string): HttpAddress | PackageAddress {
  if (address.via !== 'http') return address;
  const { destination } = address;
  return { via: 'http', destination: { ...destination, headers: { ...destination.headers, traceparent } } };
}

export interface ModelList {
  readonly destination: Destination;
  /** Whether it has the names of targets. */
  readonly listsTargets: boolean;
}

/** The address at which the provider lists its models, for a GET; null where it is called through a package. */
export function modelListOf(provider: Provider, apiKey: string | null): ModelList | null {
  if (provider.kind === 'ai-sdk') return null;
  const adapter = ADAPTERS[provider.kind];
  const headers = adapter.headers(provider, apiKey, { version: null, betas: null });
  const destination = destinationOf(provider, adapter.modelsPath(provider), { accept: 'application/json' }, headers);
  return { destination, listsTargets: adapter.listsTargets };
}
