import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowsModel, matchesModel } from '../../../src/core/model-pattern.ts';

test('a pattern matches by its stars and stands for itself otherwise', () => {
  const cases: readonly (readonly [pattern: string, id: string, matches: boolean])[] = [
    ['openai/gpt-5', 'openai/gpt-5', true],
    ['openai/gpt-5', 'openai/gpt-5-mini', false],
    ['openai/*', 'openai/gpt-5', true],
    ['openai/*', 'openai/ft/gpt-5', true],
    ['openai/*', 'openai/', true],
    ['openai/*', 'azure/openai/gpt-5', false],
    ['openai/*', 'OpenAI/gpt-5', false],
    ['*', '', true],
    ['*', 'anything/at-all', true],
    ['**', 'anything', true],
    ['*-mini', 'openai/gpt-5-mini', true],
    ['*-mini', 'openai/gpt-5-mini-2', false],
    ['*/gpt-*-mini', 'openai/gpt-5-mini', true],
    ['*/gpt-*-mini', 'openai/gpt-mini', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'a-c-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['*ab*ab*', 'xab', false],
    ['*ab*ab*', 'abab', true],
    ['gpt.5', 'gpt-5', false],
    ['gpt-5?', 'gpt-55', false],
    ['', '', true],
    ['', 'a', false],
  ];
  for (const [pattern, id, matches] of cases) assert.equal(matchesModel(pattern, id), matches, `${pattern} on ${id}`);
});

test('a list allows what one of its entries matches, and an empty one nothing', () => {
  assert.equal(allowsModel(['a', 'b/*'], 'b/c'), true);
  assert.equal(allowsModel(['a', 'b/*'], 'c'), false);
  assert.equal(allowsModel([], 'c'), false);
});

test('many stars are no burden', () => {
  assert.equal(matchesModel(`${'*a'.repeat(100)}b`, 'a'.repeat(100_000)), false);
});
