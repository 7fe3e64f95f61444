/** One row per kind of provider: where a format is asked for, and how the gateway identifies itself there. */
import type { Format } from '../core/endpoints.ts';
import type { Provider, ProviderKind } from '../core/provider.ts';
import type { HttpAddress, PackageAddress } from './upstream.ts';

/** What of the client's own headers may reach a provider. Built from an allow-list; everything else stays here. */
export interface ForwardedHeaders {
  /** `compat-version`, or the native version header; null: the provider's default. */
  readonly version: string | null;
  readonly betas: string | null;
}

interface Adapter {
  path(provider: Provider, format: Format, upstreamModel: string): string;
  headers(provider: Provider, apiKey: string | null, forwarded: ForwardedHeaders): Record<string, string>;
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

const ADAPTERS: Readonly<Record<Exclude<ProviderKind, 'ai-sdk'>, Adapter>> = {
  openai: {
    path: (_provider, format) => OPENAI_PATHS[format],
    headers: (_provider, apiKey) => bearer(apiKey),
  },
  azure: {
    path: (provider, format, upstreamModel) => {
      const version = encodeURIComponent(String(provider.options.api_version ?? '2024-10-21'));
      return format === 'responses'
        ? `/openai/v1/responses?api-version=${version}`
        : `/openai/deployments/${encodeURIComponent(upstreamModel)}/chat/completions?api-version=${version}`;
    },
    headers: (_provider, apiKey): Record<string, string> => (apiKey === null ? {} : { 'api-key': apiKey }),
  },
  anthropic: {
    path: () => '/v1/messages',
    headers: (_provider, apiKey, forwarded) => ({
      ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
      'anthropic-version': forwarded.version ?? ANTHROPIC_VERSION,
      ...(forwarded.betas === null ? {} : { 'anthropic-beta': forwarded.betas }),
    }),
  },
};

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
  const adapter = ADAPTERS[provider.kind];
  const base = baseOf(provider);
  return {
    via: 'http',
    origin: base.origin,
    path: base.path + adapter.path(provider, format, upstreamModel) + suffix,
    headers: {
      'content-type': 'application/json',
      // A compressed answer could be neither metered nor passed on frame by frame.
      'accept-encoding': 'identity',
      ...provider.headers,
      ...adapter.headers(provider, apiKey, forwarded),
    },
  };
}

interface Base {
  readonly origin: string;
  readonly path: string;
}

/** Parsed once per provider: a provider lives as long as its configuration, a request for milliseconds. */
const BASES = new WeakMap<Provider, Base>();

function baseOf(provider: Provider): Base {
  let base = BASES.get(provider);
  if (!base) {
    const { origin, pathname } = new URL(provider.baseUrl);
    base = { origin, path: pathname === '/' ? '' : pathname };
    BASES.set(provider, base);
  }
  return base;
}

const SECRET_OPTION = /key|secret|token|password|credential/i;

/** The gateway's own credentials at a provider, never to be repeated to a client. */
export function secretsOf({ apiKeys, options }: Provider): readonly string[] {
  const named = Object.entries(options).filter(([name]) => SECRET_OPTION.test(name));
  return [...apiKeys, ...named.flatMap(([, value]) => (typeof value === 'string' ? [value] : []))];
}
