/** Chat completions (Format A): the single source of the validator, the types and the OpenAPI document. */
import { Type } from '../../lib/schema-builder.ts';
import { AnyObject, Metadata, ModelId, Stream, TokenCount, ToolName, whenType } from '../schema/parts.ts';

/** A function call, which one without a type is too, must be complete; calls of other types are passed on as they are. */
const ToolCall = Type.Object(
  { type: Type.Optional(Type.String()) },
  {
    if: { properties: { type: { const: 'function' } } },
    // biome-ignore lint/suspicious/noThenProperty: `then` is the JSON Schema keyword, and no promise.
    then: Type.Object({
      id: Type.String(),
      function: Type.Object({ name: Type.String(), arguments: Type.String() }),
    }),
  },
);

/** Tools that the client runs must be complete; tools of other types are passed on as they are. */
const Tool = Type.Object(
  { type: Type.Optional(Type.String()) },
  {
    allOf: [
      whenType('function', Type.Object({ function: Type.Object({ name: ToolName }) })),
      whenType('custom', Type.Object({ custom: Type.Object({ name: ToolName }) })),
    ],
  },
);

const ChatMessage = Type.Object({
  role: Type.Enum(['developer', 'system', 'user', 'assistant', 'tool']),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(AnyObject), Type.Null()])),
  name: Type.Optional(Type.String()),
  tool_call_id: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(ToolCall)),
});

export const ChatRequest = Type.Object({
  model: ModelId,
  messages: Type.Array(ChatMessage, { minItems: 1 }),
  stream: Type.Optional(Stream),
  max_tokens: Type.Optional(
    Type.Integer({ minimum: 1, description: "Must not exceed the model's published output limit." }),
  ),
  max_completion_tokens: Type.Optional(
    Type.Integer({ minimum: 1, description: 'An alias of max_tokens; where both are given they must be equal.' }),
  ),
  n: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 128, description: 'How many answers; multiplies the output bound.' }),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  tools: Type.Optional(Type.Array(Tool)),
  tool_choice: Type.Optional(Type.Union([Type.String(), AnyObject])),
  user: Type.Optional(Type.String()),
  metadata: Type.Optional(Metadata),
});

const ChatUsage = Type.Object({
  prompt_tokens: TokenCount,
  completion_tokens: TokenCount,
  total_tokens: TokenCount,
});

export const ChatResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  created: Type.Optional(Type.Integer()),
  model: Type.String(),
  choices: Type.Array(AnyObject),
  usage: Type.Optional(ChatUsage),
});
