/** Responses (Format A): the single source of the validator, the types and the OpenAPI document. */
import type { Static } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import { AnyObject, ModelId, Stream, ToolName, whenType } from '../schema/parts.ts';

/** Tools that the client runs must be complete; tools of other types are passed on as they are. */
const Tool = Type.Object(
  { type: Type.Optional(Type.String()) },
  {
    allOf: [
      whenType('function', Type.Object({ name: ToolName })),
      whenType('custom', Type.Object({ name: ToolName })),
      whenType('namespace', Type.Object({ name: ToolName, tools: Type.Array(AnyObject) })),
    ],
  },
);

export const ResponsesRequest = Type.Object({
  model: ModelId,
  input: Type.Union([Type.String(), Type.Array(AnyObject)]),
  instructions: Type.Optional(Type.String()),
  stream: Type.Optional(Stream),
  max_output_tokens: Type.Optional(
    Type.Integer({ minimum: 1, description: "Must not exceed the model's published output limit." }),
  ),
  tools: Type.Optional(Type.Array(Tool)),
  tool_choice: Type.Optional(Type.Union([Type.String(), AnyObject])),
});

export const ResponsesResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  model: Type.Optional(Type.String()),
  output: Type.Optional(Type.Array(AnyObject)),
  usage: Type.Optional(AnyObject),
});

export const DeletedResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  deleted: Type.Literal(true),
});
export type DeletedResponse = Static<typeof DeletedResponse>;
