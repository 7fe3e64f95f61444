import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRateJournal } from '../../../../src/ledger/sqlite/rate-journal.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-journal');
let files = 0;
const newFile = () => join(folder, `${files++}.db`);
const slot = (number: number) => ({ keyId: 'a "key" with ünusual text\n', number, atMs: 1_000 + number });

test('what one process appended the next one reads, in its order', () => {
  const file = newFile();
  const first = openRateJournal(file);
  assert.deepEqual(first.read(), []);
  for (const number of [0, 1, 2]) first.append(slot(number));
  assert.deepEqual(first.read(), []);
  first.write();
  const second = openRateJournal(file);
  assert.deepEqual(second.read(), [slot(0), slot(1), slot(2)]);
  assert.equal(second.position, first.position);
  for (const journal of [first, second]) journal.close();
});

test('what was appended after a position is forgotten, and the next slot follows what is left', () => {
  const journal = openRateJournal(newFile());
  journal.append(slot(0));
  journal.write();
  const { position } = journal;
  journal.append(slot(1));
  journal.write();
  journal.append(slot(2));
  journal.truncate(position);
  journal.append(slot(3));
  journal.write();
  assert.deepEqual(journal.read(), [slot(0), slot(3)]);
  journal.truncate(0);
  assert.deepEqual(journal.read(), []);
  journal.append(slot(4));
  journal.write();
  assert.deepEqual(journal.read(), [slot(4)]);
  journal.close();
});

test('a slot that was cut short spoils no other', () => {
  const file = newFile();
  const first = openRateJournal(file);
  first.append(slot(0));
  first.write();
  const whole = readFileSync(`${file}-rates`);
  first.close();
  appendFileSync(`${file}-rates`, whole.subarray(0, whole.length - 3));
  const second = openRateJournal(file);
  second.append(slot(1));
  second.write();
  assert.deepEqual(second.read(), [slot(0), slot(1)]);
  second.close();
});
