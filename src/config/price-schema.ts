/** The part of the config file's shape that says what things cost. */
import { Type } from '../lib/schema-builder.ts';
import { closed, text } from '../lib/setting-rows.ts';

export const Markup = Type.Number({
  exclusiveMinimum: 0,
  maximum: 1000,
  description:
    'What the caller pays per unit of the provider price: 1.2 adds a fifth. A model’s own counts instead of its provider’s.',
});
const ValueName = text('^[!-~]{1,100}$', '1 to 100 printable ASCII characters without spaces', 'As requests write it.');

function multipliersOf(field: string) {
  return Type.Optional(
    Type.Record(
      ValueName,
      Type.Number({ exclusiveMinimum: 0, maximum: 1000, description: 'Times the token prices.' }),
      {
        ...closed,
        description: `By the value of \`${field}\`. Values not given are refused; an empty mapping refuses them all.`,
      },
    ),
  );
}

export const Multipliers = Type.Optional(
  Type.Object(
    {
      speed: multipliersOf('speed'),
      service_tier: multipliersOf('service_tier'),
      inference_geo: multipliersOf('inference_geo'),
    },
    {
      ...closed,
      description:
        'What fields of a request multiply its token prices by, e.g. { speed: { fast: 2 } }. A field not given has the published multipliers of the provider, where there are any.',
    },
  ),
);

const Usd = Type.Number({ minimum: 0, maximum: 1_000_000, description: 'USD per million tokens.' });

export const HostedTools = Type.Optional(
  Type.Record(
    text('^[A-Za-z0-9_.-]{1,100}$', 'letters, digits, dots, dashes and underscores', 'The type of the tool.'),
    Type.Object(
      {
        per_1000_calls: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 1_000_000,
            description: 'USD. Omitted: the published price of the provider, where there is one.',
          }),
        ),
        max_calls: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 1000,
            description: 'The most calls of one request, which its hold carries. Default 5.',
          }),
        ),
        tokens: Type.Optional(
          Type.Object(
            { input: Usd, output: Usd },
            {
              ...closed,
              description:
                'For tools whose own tokens the provider reports (image_generation at OpenAI): charged instead of the calls, up to what is held for these.',
            },
          ),
        ),
      },
      closed,
    ),
    {
      ...closed,
      typeErrorMessage:
        'must be a mapping with prices, e.g. hosted_tools: { web_search: { per_1000_calls: 10, max_calls: 5 } }',
      description: 'Tools that the provider runs itself, by type, with their prices. Others are refused.',
    },
  ),
);

const OtherRates = {
  cache_read: Type.Optional(Usd),
  cache_write: Type.Optional(Usd),
  cache_write_1h: Type.Optional(Usd),
  input_audio: Type.Optional(Usd),
  input_image: Type.Optional(Usd),
  output_audio: Type.Optional(Usd),
  output_image: Type.Optional(Usd),
};

const PRICE_FROM = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:\\d{2}))?$';

/** The classes of tokens that have prices, in the order in which they are shown. */
export const RATE_NAMES = ['input', 'output', ...(Object.keys(OtherRates) as (keyof typeof OtherRates)[])] as const;

export const PriceTierSchema = Type.Object(
  {
    from_input_tokens: Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'The tier counts when the whole input has at least this many tokens.',
    }),
    input: Type.Optional(Usd),
    output: Type.Optional(Usd),
    ...OtherRates,
  },
  { ...closed, minProperties: 2, description: 'What changes for long inputs; classes not given stay as they are.' },
);

export const PricingSchema = Type.Object(
  { input: Usd, output: Usd, ...OtherRates, tiers: Type.Optional(Type.Array(PriceTierSchema, { maxItems: 20 })) },
  {
    ...closed,
    description:
      'USD per million tokens. Cache classes not given cost what input costs, audio and images what text costs. Omitted: the published price of the upstream model.',
  },
);

export const PriceChanges = Type.Optional(
  Type.Array(
    Type.Object(
      {
        from: text(
          PRICE_FROM,
          'a day like 2027-01-01, which begins at 00:00 UTC, or a time with its zone like 2027-01-01T00:00:00+01:00',
          'When it takes effect.',
        ),
        pricing: Type.Optional(PricingSchema),
        markup: Type.Optional(Markup),
      },
      { ...closed, minProperties: 2, description: 'What changes then; what is not given stays as it was.' },
    ),
    {
      maxItems: 100,
      description: 'Prices that take effect at a time. A request has the price of the moment at which it arrives.',
    },
  ),
);
