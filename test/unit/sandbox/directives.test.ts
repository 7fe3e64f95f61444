import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseDirectives } from '../../../src/sandbox/directives.ts';

describe('sandbox directives', () => {
  test('are found anywhere and in any combination, and taken out of the text', () => {
    const found = parseDirectives(
      'a[[tokens=12]]b [[delay=3]][[wait=4]][[status=503]] [[fail-after=0]][[tool=2]][[thinking]][[usage=none]][[echo]][[headers]][[strict]]c',
    );
    assert.deepEqual(found, {
      tokens: 12,
      delayMs: 3,
      waitMs: 4,
      status: 503,
      failAfter: 0,
      tool: 2,
      thinking: true,
      usage: false,
      echo: true,
      headers: true,
      strict: true,
      rest: 'ab  c',
    });
  });

  test('numbers are bounded, and what is no directive stays text', () => {
    assert.equal(parseDirectives('[[tokens=99999999999999999]]').tokens, 1_000_000);
    assert.equal(parseDirectives('[[delay=700000]]').delayMs, 600_000);
    assert.equal(parseDirectives('[[tool=1000]]').tool, 64);
    for (const plain of [
      '[[tokens=-1]]',
      '[[tokens=]]',
      '[[tokens]]',
      '[[tokens=1',
      '[[ tokens=1]]',
      '[[x=1]]',
      '[[=1]]',
    ]) {
      const found = parseDirectives(plain);
      assert.equal(found.tokens, undefined, plain);
      assert.equal(found.rest, plain);
    }
    assert.equal(parseDirectives('[[[tokens=1]]]').tokens, 1);
  });

  test('a status that is no error is ignored', () => {
    for (const status of [0, 100, 200, 204, 299, 600, 999]) {
      assert.equal(parseDirectives(`[[status=${status}]]`).status, undefined);
    }
    assert.equal(parseDirectives('[[status=302]]').status, 302);
  });

  test('any text is read, and stays itself where it holds no directive', () => {
    const bracketed = fc
      .array(fc.constantFrom('[', ']', '=', 'tokens', 'tool', '1', ' '))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(bracketed, (text) => {
        const found = parseDirectives(text);
        if (found.tokens === undefined && found.tool === 0) assert.equal(found.rest, text);
      }),
    );
  });
});
