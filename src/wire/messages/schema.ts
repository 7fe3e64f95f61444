/** Messages and token counts (Format B): the single source of the validator, the types and the OpenAPI document. */
import type { Static, TSchema } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import { AnyObject, ModelId, Stream, TokenCount, ToolName } from '../schema/parts.ts';

const TypedObject = Type.Object({ type: Type.String() });

const Content = Type.Union([Type.String(), Type.Array(TypedObject)]);

function inputMessage<Role extends TSchema>(role: Role) {
  return Type.Object({ role, content: Content });
}

const InputMessage = inputMessage(Type.Enum(['user', 'assistant']));

/** An input message as a native client that opts into extensions (`anthropic-beta`) may send it. */
const ExtendedInputMessage = inputMessage(Type.Enum(['user', 'assistant', 'system']));

/** A tool without a type, or of the type `custom`, is the client's own and must be complete. */
const Tool = Type.Object(
  { type: Type.Optional(Type.String()) },
  {
    if: { properties: { type: { const: 'custom' } } },
    // biome-ignore lint/suspicious/noThenProperty: `then` is the JSON Schema keyword, and no promise.
    then: Type.Object({ name: ToolName, input_schema: AnyObject }),
  },
);

function messageRequest<Message extends TSchema>(message: Message) {
  return Type.Object({
    model: ModelId,
    messages: Type.Array(message, { minItems: 1 }),
    system: Type.Optional(Content),
    max_tokens: Type.Optional(
      Type.Integer({ minimum: 1, default: 1024, description: "Capped at the model's published output limit." }),
    ),
    stream: Type.Optional(Stream),
    temperature: Type.Optional(Type.Number()),
    top_p: Type.Optional(Type.Number()),
    top_k: Type.Optional(Type.Integer()),
    stop_sequences: Type.Optional(Type.Array(Type.String())),
    tools: Type.Optional(Type.Array(Tool)),
    tool_choice: Type.Optional(AnyObject),
    metadata: Type.Optional(AnyObject),
  });
}

export const MessageRequest = messageRequest(InputMessage);
export type MessageRequest = Static<typeof MessageRequest>;
export const ExtendedMessageRequest = messageRequest(ExtendedInputMessage);

const MessageUsage = Type.Object({ input_tokens: TokenCount, output_tokens: TokenCount });

export const MessageResponse = Type.Object({
  id: Type.String(),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(),
  content: Type.Array(AnyObject),
  stop_reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  stop_sequence: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  usage: Type.Optional(MessageUsage),
});

function countRequest<Message extends TSchema>(message: Message) {
  return Type.Object({
    model: ModelId,
    messages: Type.Array(message, { minItems: 1 }),
    system: Type.Optional(Content),
    tools: Type.Optional(Type.Array(Tool)),
    tool_choice: Type.Optional(AnyObject),
  });
}

export const CountRequest = countRequest(InputMessage);
export type CountRequest = Static<typeof CountRequest>;
export const ExtendedCountRequest = countRequest(ExtendedInputMessage);

export const CountResponse = Type.Object({ input_tokens: TokenCount }, { additionalProperties: false });
