/** What the gateway publishes and where it sends it. Built once from the configuration, then frozen. */
import type { Static } from 'typebox';
import { Type } from '../lib/schema-builder.ts';
import { closed, flag, section, setting, text, type Values } from '../lib/setting-rows.ts';
import type { Format } from './endpoints.ts';
import type { Pricing } from './money.ts';

function capability<Name extends string>(name: Name) {
  return setting(name, Type.Boolean(), true, (given) => given);
}

/** They are not published for every model: what is not denied here is left to the provider to refuse. */
export const CAPABILITIES = section(
  {
    tools: capability('tools'),
    images: capability('images'),
    reasoning: capability('reasoning'),
    structured_output: capability('structured_output'),
    streaming: capability('streaming'),
  },
  {
    description: 'Default: true. Requests that need what is false are refused here; the rest is left to the provider.',
  },
);
export type Capabilities = Values<typeof CAPABILITIES>;

const Label = Type.String({ minLength: 1, maxLength: 200 });

/** What the catalog says of a model. */
export const DESCRIPTION = section({
  display_name: setting('displayName', Label, undefined, (given) => given),
  tagline: setting('tagline', Label, undefined, (given) => given),
  owned_by: setting('ownedBy', Label, undefined, (given) => given),
  created: setting(
    'createdS',
    Type.Integer({ minimum: 0, maximum: 9_999_999_999, description: 'Seconds since 1970.' }),
    0,
    (given) => given,
  ),
});

/** What elastic holds depend on. */
export const OUTPUT = section({
  visible_output: setting(
    'visibleOutput',
    Type.Boolean({
      description:
        'Whether all output that is billed can be seen in a stream, so that its holds may be elastic. Default: decided by each request.',
    }),
    null,
    (given) => given,
  ),
  output_speed: setting(
    'outputSpeed',
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1_000_000,
      description:
        'The most tokens of output per second that the model produces, which bounds reasoning that is not shown, so that its holds may be elastic. Default: twice the fastest of its last 1,000 streams, once there were 50.',
    }),
    null,
    (given) => given,
  ),
});

export const LISTING = section({
  public: flag('public', 'Listed without a credential.', false),
  hidden: flag('hidden', 'Listed for nobody, and served to whoever asks for it by its id.', false),
});

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
interface ModelSources {
  readonly pricing: Source;
  readonly contextWindow: Source;
  readonly maxOutputTokens: Source;
}

const StopSequence = Type.String({ minLength: 1, maxLength: 200 });

export const DefaultsSchema = Type.Object(
  {
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    frequency_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    presence_penalty: Type.Optional(Type.Number({ minimum: -2, maximum: 2 })),
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    stop: Type.Optional(Type.Array(StopSequence, { minItems: 1, maxItems: 4 })),
    max_output_tokens: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'The output limit of a request without one.' }),
    ),
    reasoning_effort: Type.Optional(Type.Enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])),
    verbosity: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
    service_tier: Type.Optional(
      text('^[a-z_]{1,32}$', 'a name of lower-case letters', 'Needs a price where it is not the plain service.'),
    ),
  },
  {
    ...closed,
    description: 'Parameters of requests that do not name them, by their names in the chat format.',
  },
);

export type ModelDefaults = Readonly<Static<typeof DefaultsSchema>>;

export interface ModelOrigin {
  readonly kind: 'alias' | 'pattern';
  readonly of: string;
}

/** What a model costs. */
export interface ModelPrices {
  /** What the caller is charged. */
  readonly pricing: Pricing;
  /** What the provider asks of the operator; equal to `pricing` without a mark-up. */
  readonly providerPricing: Pricing;
  /** Shown in the catalog: USD per million tokens by class, as charged. */
  readonly publishedPricing: Readonly<Record<string, number>>;
  readonly sources: ModelSources;
}

/** What a model costs from a time on. */
interface PriceChange extends ModelPrices {
  readonly atMs: number;
}

export interface Model extends ModelPrices, Values<typeof DESCRIPTION>, Values<typeof OUTPUT>, Values<typeof LISTING> {
  readonly id: string;
  readonly ownedBy: string;
  /** The provider that key scopes refer to. */
  readonly provider: string;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: Capabilities;
  /** In the order of time; those that are over are not among them. */
  readonly priceChanges: readonly PriceChange[];
  readonly targets: readonly [Target, ...Target[]];
  readonly defaults: ModelDefaults | null;
  /** What the config file calls it, where that is not its id: the model that it is an alias of, or its pattern. */
  readonly origin: ModelOrigin | null;
}
