import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTraceparent } from '../../../src/core/traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a traceparent is read, also one of a later version', () => {
  const read = { traceId: TRACE, spanId: SPAN, sampled: true };
  assert.deepEqual(readTraceparent(`00-${TRACE}-${SPAN}-01`), read);
  assert.deepEqual(readTraceparent(`00-${TRACE}-${SPAN}-00`), { ...read, sampled: false });
  assert.deepEqual(readTraceparent(`cc-${TRACE}-${SPAN}-09`), read);
  assert.deepEqual(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`), read);
});

test('what the standard calls invalid is as good as none', () => {
  const invalid = [
    null,
    '',
    'nonsense',
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.`,
    `cc-${TRACE}-${SPAN}-01.what`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
  ];
  for (const text of invalid) assert.equal(readTraceparent(text), null, String(text));
});
