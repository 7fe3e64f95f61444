import { Type } from '../../lib/schema-builder.ts';

export const ModelLists = Type.Object(
  {
    object: Type.Literal('model_lists'),
    document: Type.Union([Type.String(), Type.Null()], {
      description: 'The document in the store, as its text; null where nobody was asked yet.',
    }),
  },
  { title: 'ModelLists' },
);

export const ModelListsRefresh = Type.Object(
  {
    asked: Type.Array(Type.Object({ provider: Type.String(), models: Type.Integer() })),
    failed: Type.Array(Type.Object({ provider: Type.String(), reason: Type.String() })),
  },
  { title: 'ModelListsRefresh' },
);
