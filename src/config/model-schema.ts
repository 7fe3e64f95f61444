/** The part of the config file about models: what clients can ask for, and where it is served. */
import { CAPABILITIES, DESCRIPTION, DefaultsSchema, LISTING, OUTPUT } from '../core/model.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed, text } from '../lib/setting-rows.ts';
import { HostedTools, Markup, Multipliers, PriceChanges, PricingSchema } from './price-schema.ts';

export const ProviderName = text(
  '^[a-z0-9][a-z0-9._-]{0,63}$',
  'lower-case letters, digits, dots, dashes and underscores, at most 64, beginning with a letter or digit',
  'The name of a provider of this file.',
);
const ModelId = text(
  '^[!-~]{1,200}$',
  '1 to 200 printable ASCII characters without spaces',
  'The id that clients ask for.',
);
const UpstreamModel = text(
  '^[^\\s]{1,300}$',
  '1 to 300 characters without spaces',
  'The name of the model at the provider; for azure the deployment. Default: the id of the model.',
);
export const FormatName = Type.Enum(['chat', 'responses', 'messages'], {
  description: 'The wire format used with the provider.',
});

export const TargetSchema = Type.Object(
  {
    provider: ProviderName,
    model: Type.Optional(UpstreamModel),
    format: Type.Optional(FormatName),
    weight: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1_000_000,
        description: 'Its share where targets are weighted; 0: only after the others.',
      }),
    ),
  },
  { ...closed, description: 'Without a format: one target for each format of the provider.' },
);

export const ModelSchema = Type.Object(
  {
    id: ModelId,
    provider: Type.Optional(ProviderName),
    targets: Type.Optional(Type.Array(TargetSchema, { minItems: 1, maxItems: 50 })),
    ...DESCRIPTION.properties,
    context_window: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
    max_output_tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description:
          'The published output limit. Default: what the provider lists or is published of the upstream model, else 4096.',
      }),
    ),
    capabilities: CAPABILITIES.schema,
    ...OUTPUT.properties,
    pricing: Type.Optional(PricingSchema),
    markup: Type.Optional(Markup),
    prices: PriceChanges,
    hosted_tools: HostedTools,
    multipliers: Multipliers,
    defaults: Type.Optional(DefaultsSchema),
    ...LISTING.properties,
    aliases: Type.Optional(
      Type.Array(ModelId, {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description: 'Further ids of the model. Requests are recorded under the id that was asked for.',
      }),
    ),
  },
  { ...closed, description: 'A model that clients can ask for.' },
);
