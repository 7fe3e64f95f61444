import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pieces } from '../../../../src/transport/client/pieces.ts';

test('a body in pieces that is released is sent to its end by whoever has begun, and kept by nobody else', () => {
  const pieces = new Pieces([Buffer.from('a'), Buffer.from('bc')]);
  assert.equal(pieces.bytes, 3);
  assert.deepEqual(String(Buffer.concat([...pieces])), 'abc');
  const sending = pieces[Symbol.iterator]();
  assert.equal(String(sending.next().value), 'a');
  pieces.release();
  assert.equal(String(sending.next().value), 'bc');
  assert.equal(sending.next().done, true);
  assert.deepEqual([...pieces], []);
});
