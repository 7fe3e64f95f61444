/** Providers and models that operators define, in the shape that the config file has. */
import { Markup } from '../../config/price-schema.ts';
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';

const Text = Type.Union([Type.String(), Type.Null()]);

export const Definition = Type.Object(
  {
    kind: Type.Enum(['provider', 'model']),
    name: Type.String({ description: 'Of a model its id.' }),
    state: Type.Enum(['in_use', 'shadowed', 'refused'], {
      description:
        'shadowed: the config file defines the same name, and counts instead. refused: it cannot be used as it is.',
    }),
    problem: Type.Union([Type.String(), Type.Null()], { description: 'Why it is not in use.' }),
    definition: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'As the config file would have it. Of credentials, and of headers, only whether they are set, with a mark that changes with them.',
    }),
    version: Type.Integer({ description: 'Grows with every change; the ETag is made of it.' }),
    changed_at: Type.String(),
    changed_by: Type.String(),
  },
  { title: 'Definition' },
);
export type DefinitionView = View<typeof Definition>;

export const DefinitionList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Definition) },
  { title: 'DefinitionList' },
);

const FIELDS = 'docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean';

export const ProviderBody = Type.Object(
  { name: Type.String({ description: 'Lower-case letters, digits, dots, dashes and underscores.' }) },
  { title: 'NewProvider', additionalProperties: true, description: `And the fields of a provider: ${FIELDS}.` },
);

export const ModelBody = Type.Object(
  { id: Type.String({ description: 'The id that clients ask for.' }) },
  { title: 'NewModel', additionalProperties: true, description: `And the fields of a model: ${FIELDS}.` },
);

export const DefinitionChange = Type.Object(
  {},
  {
    title: 'DefinitionChange',
    additionalProperties: true,
    description: `The fields that change; null takes one out. ${FIELDS}.`,
  },
);

export const PriceBody = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        description: 'When it takes effect: a day, which begins at 00:00 UTC, or a time with its zone. Now by default.',
      }),
    ),
    pricing: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'As a model of the config file has it: input and output in USD per million tokens, other classes, tiers.',
      }),
    ),
    markup: Type.Optional(Markup),
  },
  { title: 'NewPrice', additionalProperties: false, description: 'What is not given stays as it is.' },
);

export const RemovedDefinition = Type.Object(
  { kind: Definition.properties.kind, name: Type.String(), removed: Type.Literal(true), now: Text },
  { title: 'RemovedDefinition', description: '`now`: who defines the name instead, where somebody does.' },
);
