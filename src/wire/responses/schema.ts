/** Responses (Format A): the single source of the validator, the types and the OpenAPI document. */
import type { Static } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import { AnyObject, ModelId, Stream } from '../schema/parts.ts';

export const ResponsesRequest = Type.Object({
  model: ModelId,
  input: Type.Union([Type.String(), Type.Array(AnyObject)]),
  instructions: Type.Optional(Type.String()),
  stream: Type.Optional(Stream),
  max_output_tokens: Type.Optional(
    Type.Integer({ minimum: 1, description: "Must not exceed the model's published output limit." }),
  ),
  tools: Type.Optional(Type.Array(AnyObject)),
  tool_choice: Type.Optional(Type.Union([Type.String(), AnyObject])),
});
export type ResponsesRequest = Static<typeof ResponsesRequest>;

export const ResponsesResponse = Type.Object({
  id: Type.String(),
  object: Type.String(),
  model: Type.Optional(Type.String()),
  output: Type.Optional(Type.Array(AnyObject)),
  usage: Type.Optional(AnyObject),
});
export type ResponsesResponse = Static<typeof ResponsesResponse>;
