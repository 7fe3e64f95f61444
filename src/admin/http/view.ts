/** The TypeScript type of what a schema describes. Nothing that the API takes or gives is changed in place. */
import type { Static, TSchema } from 'typebox';

export type View<Schema extends TSchema> = Unchanging<Static<Schema>>;

type Unchanging<T> = T extends readonly (infer Item)[]
  ? readonly Unchanging<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Unchanging<T[Name]> }
    : T;
