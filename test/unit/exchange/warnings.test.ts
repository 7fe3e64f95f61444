import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summaryOf } from '../../../src/exchange/warnings.ts';

test('what the translation left out is told in a few lines, however often it occurs', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `messages[${index}].name: left out`);
  assert.deepEqual(summaryOf([...names, 'top_k: left out']), [
    'messages[0].name: left out (and 19999 more like it)',
    'top_k: left out',
  ]);
  const kinds = Array.from({ length: 5_000 }, (_, index) => `documents.x${index}: left out`);
  const lines = summaryOf(kinds);
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), 'and 4980 more');
  assert.equal(summaryOf(['y'.repeat(10_000)])[0]?.length, 200);
});
