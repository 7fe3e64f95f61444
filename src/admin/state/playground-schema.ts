/** The console's playground: requests of operators, through the public listener, on a key of the playground's own. */
import { Type } from '../../lib/schema-builder.ts';

export const PlaygroundState = Type.Object(
  {
    key_id: Type.Union([Type.String(), Type.Null()], { description: 'Null until it is first used.' }),
    daily_credit: Type.Number({ description: 'What its own key may spend in a day (UTC).' }),
    left_today: Type.Number(),
    base_url: Type.String({ description: 'For clients of the OpenAI API.' }),
    origin: Type.String({ description: 'For clients of the Anthropic API.' }),
  },
  { title: 'PlaygroundState' },
);

export const PlaygroundBody = Type.Object(
  {
    format: Type.Enum(['chat', 'responses', 'messages']),
    body: Type.Record(Type.String(), Type.Unknown(), { description: 'The request, as a client would send it.' }),
    key: Type.Optional(
      Type.String({
        pattern: '^[!-~]{1,200}$',
        patternErrorMessage: 'must be an API key',
        description: "Another key than the playground's own; it is used for this request and not kept.",
      }),
    ),
  },
  { title: 'PlaygroundRequest', additionalProperties: false },
);

const answer = 'What the public listener answered; its own document, /openapi.json, describes it for each format.';

export const PlaygroundAnswer = Type.Record(Type.String(), Type.Unknown(), {
  title: 'PlaygroundAnswer',
  description: answer,
});

export const PlaygroundStream = Type.String({
  title: 'PlaygroundStream',
  description: `${answer} Server-sent events, for a request with \`stream: true\`.`,
});
