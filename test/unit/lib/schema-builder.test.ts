import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../../src/lib/schema-builder.ts';

/** Each builder, with and without options, bare and inside of the others. */
function schemas(type: typeof Type): unknown[] {
  const text = type.String({ minLength: 1, pattern: '^a' });
  const small = type.Object({ one: type.Integer({ minimum: 0 }), two: type.Optional(text) });
  return [
    type.String(),
    text,
    type.Number({ maximum: 2 }),
    type.Integer(),
    type.Boolean({ description: 'yes or no' }),
    type.Null(),
    type.Unknown(),
    type.Unknown({ description: 'anything' }),
    type.Literal('a'),
    type.Literal(7, { description: 'seven' }),
    type.Literal(true),
    type.Enum(['a', 'b'], { description: 'one of them' }),
    type.Union([type.String(), type.Null()]),
    type.Union([small, type.Array(small)], { description: 'one or many' }),
    type.Array(type.String(), { minItems: 1, maxItems: 4 }),
    type.Record(type.String(), type.Unknown()),
    type.Record(text, small, { description: 'by name' }),
    small,
    type.Object({ all: type.Optional(type.Null()) }, { additionalProperties: false }),
    type.Object({}),
    type.Object({ nested: type.Optional(type.Object({ small, text })) }, { additionalProperties: true }),
    // A marked schema that is used again on its own, and one that is made from another's properties.
    type.Array(type.Optional(text)),
    type.Object({ ...small.properties, three: type.Boolean() }),
  ];
}

test('a schema is the one that TypeBox would build', () => {
  const ours = schemas(Type).map((schema) => JSON.stringify(schema));
  const theirs = schemas(TypeBox).map((schema) => JSON.stringify(schema));
  assert.deepEqual(ours, theirs);
});
