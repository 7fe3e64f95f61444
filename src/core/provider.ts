/** An upstream account, and the catalog: everything the configuration says about where requests can go. */
import { flag, seconds, section, type Values } from '../lib/setting-rows.ts';
import type { Format } from './endpoints.ts';
import type { Model } from './model.ts';

export type ProviderKind = 'openai' | 'azure' | 'anthropic' | 'ai-sdk';

export const TIMEOUTS = section({
  connect: seconds('connectMs', 'To open a connection.', 5, { maximum: 300 }),
  // Unstreamed answers of reasoning models arrive in one piece after minutes.
  first_byte: seconds('firstByteMs', 'From sending the request to the first byte of the answer.', 300),
  idle: seconds('idleMs', 'Between two bytes of an answer.', 120),
  // Streams have a limit of their own, `streams.total`.
  total: seconds('totalMs', 'A whole unstreamed exchange.', 600),
});
export type Timeouts = Values<typeof TIMEOUTS>;

export const PROVIDER_SWITCHES = section({
  store_responses: flag(
    'storesResponses',
    'Whether the provider may store what it is sent, as its own defaults and the client say.',
    false,
    ', it is asked not to.',
  ),
  forward_traceparent: flag(
    'forwardsTraceparent',
    'Whether it is sent the traceparent of the client, as for a server of your own.',
    false,
    '. Not for ai-sdk.',
  ),
  circuit_breaker: flag('circuitBreaker', 'Whether a target that keeps failing is skipped for a while.', true),
});

/** How connections to a provider are made. */
export interface Network {
  /** Its URL, with the credentials that it wants; null: connections go straight to the provider. */
  readonly proxy: string | null;
  /** The authorities, in PEM, that may have signed the provider's certificate; null: those that Node trusts. */
  readonly ca: string | null;
  /** In PEM, for providers that ask the gateway for a certificate; both or neither. */
  readonly clientCert: string | null;
  readonly clientKey: string | null;
  /** Whether HTTP/2 is offered. */
  readonly http2: boolean;
  /** Whether connections that go straight to it may go to hosts on the internet only, whatever its name leads to. */
  readonly publicOnly: boolean;
}

export const PLAIN_NETWORK: Network = {
  proxy: null,
  ca: null,
  clientCert: null,
  clientKey: null,
  http2: false,
  publicOnly: false,
};

/** A package of the AI SDK that speaks to the provider. */
interface ProviderPackage {
  readonly name: string;
  readonly create: ProviderFactory;
  /** Given with every call, by the name under which the package looks for it. */
  readonly callOptions?: Readonly<Record<string, unknown>> | undefined;
}

/** What a package exports to make a provider out of settings. */
export type ProviderFactory = (settings: Readonly<Record<string, unknown>>) => unknown;

export interface Provider extends Values<typeof PROVIDER_SWITCHES> {
  readonly name: string;
  readonly kind: ProviderKind;
  /** Without a trailing slash. `openai`: ends before `/chat/completions`; `anthropic`: ends before `/v1/messages`. */
  readonly baseUrl: string;
  /** A pool; empty for servers that need no credential. */
  readonly apiKeys: readonly string[];
  /** The formats that this provider speaks natively. */
  readonly formats: readonly Format[];
  readonly timeouts: Timeouts;
  readonly network: Network;
  /** Sent with every request, beside what the adapter sets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The chat field that carries the output limit where the client named none. */
  readonly chatLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Whether its API counts tokens (`/count_tokens` of messages, `/input_tokens` of responses). */
  readonly countsTokens: boolean;
  /** `azure`: the api-version. `ai-sdk`: what the package is given. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Only for `ai-sdk`. */
  readonly package?: ProviderPackage | undefined;
}

/** As it may be shown: a query can be secret. */
export function withoutQuery(baseUrl: string): string {
  return baseUrl.replace(/\?.*/s, '?…');
}

export interface Catalog {
  readonly models: ReadonlyMap<string, Model>;
  /** Those of `models` with default parameters; null where there are none, so that requests need not look. */
  readonly withDefaults: ReadonlyMap<string, Model> | null;
  readonly providers: ReadonlyMap<string, Provider>;
  /** From then on a model has another price, and `catalogAt` another catalog. */
  readonly pricesUntilMs: number;
}

/** With the prices that count at this time. */
export function catalogAt(entries: Pick<Catalog, 'models' | 'providers'>, nowMs: number): Catalog {
  const models = new Map([...entries.models].map(([id, model]) => [id, pricedAt(model, nowMs)]));
  const withDefaults = [...models].filter(([, { defaults }]) => defaults !== null);
  return {
    models,
    withDefaults: withDefaults.length === 0 ? null : new Map(withDefaults),
    providers: entries.providers,
    pricesUntilMs: Math.min(
      ...[...models.values()].map(({ priceChanges: [next] }) => next?.atMs ?? Infinity),
      Infinity,
    ),
  };
}

function pricedAt(model: Model, nowMs: number): Model {
  const due = model.priceChanges.findLast(({ atMs }) => atMs <= nowMs);
  if (due === undefined) return model;
  const { atMs: _atMs, ...prices } = due;
  return { ...model, ...prices, priceChanges: model.priceChanges.filter(({ atMs }) => atMs > nowMs) };
}
