import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowsModel, coversModels, matchesModel } from '../../../src/core/model-pattern.ts';

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

test('an entry covers what it matches, and the patterns that begin as it does where it ends in its only star', () => {
  const cases: readonly (readonly [entry: string, other: string, covers: boolean])[] = [
    ['sandbox/*', 'sandbox/alpha', true],
    ['sandbox/*', 'sandbox/al*', true],
    ['sandbox/*', 'sandbox/*-mini', true],
    ['sandbox/*', 'sandbox/*', true],
    ['*', '*-mini', true],
    ['a*b', 'a*b', true],
    ['sandbox/al*', 'sandbox/*', false],
    ['sandbox/*', 'sandbox*', false],
    ['sandbox/*', '*', false],
    ['sandbox/alpha', 'sandbox/al*', false],
    ['*-mini', 'a*-mini', false],
    ['a*b*', 'ab*', false],
    ['', '*', false],
  ];
  for (const [entry, other, covers] of cases) assert.equal(coversModels(entry, other), covers, `${entry} for ${other}`);
});

test('many stars are no burden', () => {
  assert.equal(matchesModel(`${'*a'.repeat(100)}b`, 'a'.repeat(100_000)), false);
});
