import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { BatchInsert } from '../../../../src/ledger/sqlite/batch-insert.ts';

for (const count of [0, 1, 7, 8, 9, 17]) {
  test(`${count} rows are written once, in their order, with the next write and not before`, () => {
    using database = new DatabaseSync(':memory:');
    database.exec('CREATE TABLE t (number INTEGER PRIMARY KEY, a INTEGER, b TEXT)');
    const insert = new BatchInsert(database, 'INTO t', ['a', 'b']);
    const read = (): unknown[] => database.prepare('SELECT a, b FROM t ORDER BY number').all();
    insert.add([-1, 'dropped']);
    insert.drop();
    const rows = Array.from({ length: count }, (_, a) => ({ a, b: `row ${a}` }));
    for (const { a, b } of rows) insert.add([a, b]);
    assert.equal(read().length, 0);
    insert.write();
    insert.write();
    assert.deepEqual(JSON.stringify(read()), JSON.stringify(rows));
  });
}

test('rows that wait can be found, and are given to the journal once', () => {
  using database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE t (a INTEGER)');
  const insert = new BatchInsert(database, 'INTO t', ['a']);
  insert.add([3]);
  insert.add([5]);
  assert.deepEqual(insert.forJournal(), [[3], [5]]);
  insert.add([7]);
  assert.deepEqual(insert.forJournal(), [[7]]);
  assert.deepEqual(insert.forJournal(), []);
  assert.deepEqual(
    insert.find(([a]) => a === 5),
    [5],
  );
  insert.write();
  assert.equal(
    insert.find(([a]) => a === 5),
    undefined,
  );
  insert.add([9]);
  assert.deepEqual(insert.forJournal(), [[9]]);
});
