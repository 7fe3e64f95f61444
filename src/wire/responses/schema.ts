/** Responses (Format A): the single source of the validator, the types and the OpenAPI document. */
import type { Static } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import { AnyObject, Metadata, ModelId, Stream, ToolName, whenType } from '../schema/parts.ts';

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
  metadata: Type.Optional(Metadata),
  // It costs nothing, and the answer repeats it.
  user: Type.Optional(Type.String({ maxLength: 1_024 })),
  background: Type.Optional(
    Type.Boolean({
      description: 'Answered at once, and made while nobody waits. Needs `store`, which is the default.',
    }),
  ),
});

export const ResponsesResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  model: Type.Optional(Type.String()),
  output: Type.Optional(Type.Array(AnyObject)),
  // Null before the end of a response that is made in the background.
  usage: Type.Optional(Type.Union([AnyObject, Type.Null()])),
});

const InputFields = {
  model: ModelId,
  // May be left out beside `previous_response_id`.
  input: ResponsesRequest.properties.input,
  instructions: Type.Optional(Type.String()),
  previous_response_id: Type.Optional(Type.String()),
};

export const InputTokensRequest = Type.Object({
  ...InputFields,
  tools: ResponsesRequest.properties.tools,
  tool_choice: ResponsesRequest.properties.tool_choice,
});

export const InputTokensResponse = Type.Object({
  object: Type.Literal('response.input_tokens'),
  input_tokens: Type.Integer({ minimum: 0 }),
});

export const CompactRequest = Type.Object(InputFields);

export const CompactResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer(),
  output: Type.Array(AnyObject),
  usage: AnyObject,
});

export const InputItemList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(AnyObject),
  first_id: Type.String(),
  last_id: Type.String(),
  has_more: Type.Boolean(),
});
export type InputItemList = Static<typeof InputItemList>;

export const DeletedResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  deleted: Type.Literal(true),
});
export type DeletedResponse = Static<typeof DeletedResponse>;
