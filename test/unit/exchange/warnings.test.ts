import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summaryOf, warningsHeader } from '../../../src/exchange/warnings.ts';

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

test('[R81] the header of warnings has a code and a path for each, and at most 1 KB', () => {
  const lines = summaryOf([
    'messages[0].name: left out',
    'temperature: 1.5 is sent as 1, the most that the messages format takes',
    'a sentence without a path',
  ]);
  assert.equal(warningsHeader(lines), 'left_out;param=messages[0].name, changed;param=temperature');
  const many = Array.from({ length: 20 }, (_, index) => `${'deep.'.repeat(30)}x${index}: left out`);
  const header = warningsHeader(many);
  assert.ok(header.length <= 1_024);
  assert.match(header, /^(left_out;param=[\w.]+(, |$))+$/);
  assert.equal(warningsHeader(['x\r\ny: left out']), '');
});
