import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveHolds } from '../../../../src/ledger/sqlite/live-holds.ts';

/** The number of an id is made of its last eight characters, so that these all share one. */
const ids = ['1', '2', '3'].map((start) => `${start}-abcdefgh`);

test('holds whose ids share a number are told apart, in the order in which they came', () => {
  const [first, second, third] = ids.map((id) => ({ id }));
  assert.ok(first && second && third);
  const holds = new LiveHolds([first]);
  holds.add(second);
  const other = { id: 'short' };
  holds.add(other);
  holds.add(third);
  assert.equal(holds.size, 4);
  assert.deepEqual([...holds.values()], [first, second, third, other]);
  for (const hold of [first, second, third, other]) assert.equal(holds.get(hold.id), hold);
  assert.equal(holds.get('4-abcdefgh'), undefined);

  assert.throws(() => holds.add({ id: second.id }), /live already/);
  assert.throws(() => holds.add({ id: 'short' }), /live already/);

  holds.delete(second);
  holds.delete(second);
  assert.equal(holds.get(second.id), undefined);
  assert.equal(holds.get(third.id), third);
  assert.equal(holds.size, 3);
  holds.delete(first);
  holds.delete(third);
  assert.deepEqual([...holds.values()], [other]);
  // Another hold of an id that is there is none of these.
  holds.delete({ id: 'short' });
  assert.equal(holds.get('short'), other);
  holds.add(first);
  assert.deepEqual([...holds.values()], [other, first]);
});
