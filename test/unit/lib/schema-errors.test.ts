import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv, type ErrorObject } from 'ajv';
import { Type } from '../../../src/lib/schema-builder.ts';
import { deepestErrors, describeErrors, errorPointer, readablePath } from '../../../src/lib/schema-errors.ts';

const schema = Type.Object(
  {
    kind: Type.Enum(['a', 'b']),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
    parts: Type.Optional(
      Type.Union([
        Type.String(),
        Type.Array(Type.Object({ text: Type.String(), 'odd name': Type.Optional(Type.Null()) })),
      ]),
    ),
    words: Type.Optional(
      Type.Union([Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true }), Type.Null()], {
        expected: 'a list of words, or null',
      }),
    ),
  },
  { additionalProperties: false },
);

function sentence(value: unknown, verbose: boolean): string {
  const check = new Ajv({ strict: false, verbose }).compile(schema);
  assert.equal(check(value), false);
  const errors: readonly ErrorObject[] = check.errors ?? [];
  const here = deepestErrors(errors);
  const pointer = here[0] === undefined ? '' : errorPointer(here[0]);
  return `${readablePath(pointer, value)} ${describeErrors(verbose ? errors : here)}`;
}

test('a refused value is described by the member that was meant and what it must be', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [5, ' must be an object'],
    [{}, 'kind is required'],
    [{ kind: 'a', other: 1 }, 'other is not a known field'],
    [{ kind: 'c' }, 'kind must be one of a, b'],
    [{ kind: 'a', parts: 5 }, 'parts must be a string or an array'],
    [{ kind: 'a', parts: [{ text: 'x' }, {}] }, 'parts[1].text is required'],
    [{ kind: 'a', parts: [{ text: 'x', 'odd name': 1 }] }, 'parts[0]["odd name"] must be null'],
    [{ kind: 'a', size: 10 }, 'size must be <= 9'],
  ];
  for (const [value, expected] of cases) assert.equal(sentence(value, false), expected);
});

test('a schema that is at hand adds its own words and its whole range', () => {
  assert.equal(sentence({ kind: 'a', size: 10 }, true), 'size must be an integer from 1 to 9');
  assert.equal(sentence({ kind: 'a', words: 'x' }, true), 'words must be a list of words, or null');
  assert.equal(sentence({ kind: 'a', words: ['x', ''] }, true), 'words[1] must be a list of words, or null');
});
