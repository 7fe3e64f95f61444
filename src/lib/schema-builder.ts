/**
 * Builds JSON schemas with the types of TypeBox. Only its types: its own builder is 373 modules, a third of all that a
 * start would load, for a dozen functions of one line each. A test holds the two against each other.
 */
import type { Type as TypeBox } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;
type Options = Schema;

/** A property that may be absent is marked where no serializer and no validator looks. */
const OPTIONAL = Symbol('optional');

const builders = {
  String: (options: Options = {}): Schema => ({ type: 'string', ...options }),
  Number: (options: Options = {}): Schema => ({ type: 'number', ...options }),
  Integer: (options: Options = {}): Schema => ({ type: 'integer', ...options }),
  Boolean: (options: Options = {}): Schema => ({ type: 'boolean', ...options }),
  Null: (options: Options = {}): Schema => ({ type: 'null', ...options }),
  Unknown: (options: Options = {}): Schema => ({ ...options }),
  Literal: (value: string | number | boolean, options: Options = {}): Schema => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Enum: (values: readonly string[], options: Options = {}): Schema => ({ enum: [...values], ...options }),
  Union: (branches: readonly Schema[], options: Options = {}): Schema => ({ anyOf: [...branches], ...options }),
  Array: (items: Schema, options: Options = {}): Schema => ({ type: 'array', items, ...options }),
  Record: (key: Schema, value: Schema, options: Options = {}): Schema => ({
    type: 'object',
    patternProperties: { [typeof key.pattern === 'string' ? key.pattern : '^.*$']: value },
    ...options,
  }),
  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  Object: (properties: Readonly<Record<string, Schema>>, options: Options = {}): Schema => {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name]));
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties: { ...properties }, ...options };
  },
};

function isOptional(schema: Schema | undefined): boolean {
  return schema !== undefined && OPTIONAL in schema;
}

export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
