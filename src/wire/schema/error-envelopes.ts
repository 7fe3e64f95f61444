/** The two error envelopes; both allow extra fields. */
import type { Static } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';

export const ErrorA = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    code: Type.String(),
    param: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    request_id: Type.Optional(Type.String()),
  }),
});
export type ErrorA = Static<typeof ErrorA>;

export const ErrorB = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({
    type: Type.String(),
    message: Type.String(),
    request_id: Type.Optional(Type.String()),
  }),
  request_id: Type.Optional(Type.String()),
});
export type ErrorB = Static<typeof ErrorB>;
