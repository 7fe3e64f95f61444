import { Type } from '../../lib/schema-builder.ts';

export const ErrorEnvelope = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'For programs: what kind of error this is.' }),
      message: Type.String({ description: 'For people: what is wrong, and what is expected.' }),
      field: Type.Union([Type.String(), Type.Null()], { description: 'The input field that is wrong.' }),
      request_id: Type.String(),
    }),
  },
  { title: 'Error' },
);
