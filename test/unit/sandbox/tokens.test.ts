import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { countTokens, tokenize } from '../../../src/sandbox/tokens.ts';
import { anyCharacter } from '../../support/fuzz.ts';

const text = fc.string({ unit: anyCharacter, maxLength: 300 });

describe('sandbox tokens', () => {
  test('pieces joined are the text, are counted right and are never more than its bytes', () => {
    fc.assert(
      fc.property(text, (value) => {
        const pieces = tokenize(value);
        assert.equal(pieces.join(''), value);
        assert.equal(countTokens(value), pieces.length);
        assert.ok(pieces.length <= Buffer.byteLength(value));
        for (const piece of pieces) assert.ok(Buffer.byteLength(piece) <= 4);
      }),
    );
  });

  test('the pieces of a beginning are the beginning of the pieces', () => {
    fc.assert(
      fc.property(text, fc.nat(20), (value, max) => {
        assert.deepEqual(tokenize(value, max), tokenize(value).slice(0, max));
        assert.equal(countTokens(tokenize(value, max).join('')), Math.min(max, countTokens(value)));
      }),
    );
  });

  test('a word with its leading space adds its own tokens only', () => {
    fc.assert(fc.property(text, (value) => assert.equal(countTokens(`${value} and`), countTokens(value) + 1)));
  });
});
