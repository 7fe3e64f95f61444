/** What the gateway publishes and where it sends it. Built once from the configuration, then frozen. */
import type { Format } from './endpoints.ts';
import type { Pricing } from './money.ts';

export interface Capabilities {
  readonly tools: boolean;
  readonly images: boolean;
  readonly reasoning: boolean;
  readonly structured_output: boolean;
  readonly streaming: boolean;
}

/** One place where a model is served: a provider, the model's name there, and the format spoken to it. */
export interface Target {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly format: Format;
  readonly weight: number;
}

/**
 * Where a figure comes from: the operator's file, the provider's own model list, published data that the gateway ships
 * with, or a cautious default because nobody says.
 */
export interface Source {
  readonly kind: 'configured' | 'listed' | 'published' | 'assumed';
  /** For people: the file, the provider, or the package and its version. */
  readonly name: string;
  /** The day that the figure is from, as `YYYY-MM-DD`; null where it has none. */
  readonly date: string | null;
}

/** Where the figures of a model come from. */
export interface ModelSources {
  readonly pricing: Source;
  readonly contextWindow: Source;
  readonly maxOutputTokens: Source;
}

/** Parameters of requests that do not name them, by their names in the chat format. */
export interface ModelDefaults {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly frequency_penalty?: number;
  readonly presence_penalty?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly max_output_tokens?: number;
  readonly reasoning_effort?: string;
  readonly verbosity?: string;
  readonly service_tier?: string;
}

export interface ModelOrigin {
  readonly kind: 'alias' | 'pattern';
  readonly of: string;
}

export interface Model {
  readonly id: string;
  readonly createdS: number;
  readonly ownedBy: string;
  readonly displayName: string | undefined;
  readonly tagline: string | undefined;
  /** The provider that key scopes refer to. */
  readonly provider: string;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: Capabilities;
  /**
   * Whether all output that is billed can be seen in a stream: hidden reasoning could outrun an elastic hold. Null where
   * that depends on the request.
   */
  readonly visibleOutput: boolean | null;
  /** The most tokens of output per second, as the operator says; null where nobody does. */
  readonly outputSpeed: number | null;
  /** What the caller is charged. */
  readonly pricing: Pricing;
  /** What the provider asks of the operator; equal to `pricing` without a mark-up. */
  readonly providerPricing: Pricing;
  /** Shown in the catalog: USD per million tokens by class, as charged. */
  readonly publishedPricing: Readonly<Record<string, number>>;
  readonly sources: ModelSources;
  readonly targets: readonly [Target, ...Target[]];
  readonly public: boolean;
  /** Listed for nobody. */
  readonly hidden: boolean;
  readonly defaults: ModelDefaults | null;
  /** What the config file calls it, where that is not its id: the model that it is an alias of, or its pattern. */
  readonly origin: ModelOrigin | null;
}
