import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextCountCache } from '../../../src/counting/text-count-cache.ts';

test('[R13] of a growing conversation only what is new is encoded again', () => {
  const encoded: string[] = [];
  const counter = new TextCountCache().counter('o200k_base', (text) => {
    encoded.push(text);
    return { least: text.length, most: text.length, cuts: 0 };
  });
  const turns = ['a'.repeat(20_000), 'b'.repeat(300), 'c'.repeat(400)];
  for (let turn = 1; turn <= turns.length; turn++) {
    const counts = turns.slice(0, turn).map((text) => counter(text).most);
    assert.deepEqual(
      counts,
      turns.slice(0, turn).map((text) => text.length),
    );
  }
  assert.deepEqual(encoded, turns);
});

test('counts of two tokenizers are kept apart', () => {
  const cache = new TextCountCache();
  const text = 'x'.repeat(100);
  const of = (name: string, most: number) => cache.counter(name, () => ({ least: most, most, cuts: 0 }))(text).most;
  assert.deepEqual([of('o200k_base', 10), of('cl100k_base', 20), of('o200k_base', 99)], [10, 20, 10]);
});
