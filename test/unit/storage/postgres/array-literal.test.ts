import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayLiteral, rowLiteral } from '../../../../src/storage/postgres/array-literal.ts';

test('a row is written as PostgreSQL reads it: what is null is empty, and a text that could be something else is quoted', () => {
  assert.equal(rowLiteral(['key_1', null, 7n, undefined, false, 3]), '(key_1,,7,,false,3)');
  assert.equal(rowLiteral(['', 'a b', 'a,b', '(x)', 'null']), '("","a b","a,b","(x)",null)');
  assert.equal(
    rowLiteral(['say "no"', 'back\\slash', '{"a","b"}']),
    '("say \\"no\\"","back\\\\slash","{\\"a\\",\\"b\\"}")',
  );
});

test('rows in an array are quoted once more', () => {
  assert.equal(
    arrayLiteral([rowLiteral(['a', 1]), rowLiteral(['b "c"', 2])]),
    '{"(a,1)","(\\"b \\\\\\"c\\\\\\"\\",2)"}',
  );
});
