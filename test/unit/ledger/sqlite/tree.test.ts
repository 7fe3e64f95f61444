/** Trees of accounts in memory, when the file does not take what memory has decided. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Operation, Result } from '../../../../src/ledger/operations.ts';
import { openDatabase } from '../../../../src/ledger/sqlite/database.ts';
import { openEngine } from '../../../../src/ledger/sqlite/engine.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest } from '../../../contract/fixtures.ts';
import { aroundCommits } from '../../../support/commits.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

function kindOf(result: Result | undefined): unknown {
  return result != null && 'kind' in result ? result.kind : result;
}

test('[F8] [F37] after a failed commit an account still knows what all of its keys hold, in memory and in the file', (t) => {
  const folder = temporaryFolder('gateway-tree');
  const file = join(folder, 'ledger.db');
  const database = openDatabase(file);
  let fails = false;
  aroundCommits(database, (commit) => {
    if (fails) throw new Error('the disk is gone for a moment');
    commit();
  });
  const engine = openEngine(database, file, new ManualClock());
  t.after(() => engine.close());
  const org = newAccount();
  const [one, other] = [newKey({ accountId: org.id }), newKey({ accountId: org.id })];
  const admit = (keyId: string, holdId: string): Operation => ({
    op: 'admit',
    owner: 'o',
    request: admitRequest(keyId, holdId, 60n),
  });
  engine.apply([
    { op: 'registerOwner', owner: 'o', leaseMs: 60_000 },
    { op: 'createAccount', request: org },
    { op: 'addAccountCredit', accountId: org.id, entryId: 'first', amountNanos: 100n, note: null },
    { op: 'createKey', request: one },
    { op: 'createKey', request: other },
  ]);
  assert.equal(kindOf(engine.now(admit(one.id, 'h1'))), 'admitted');
  fails = true;
  assert.throws(() => engine.apply([admit(other.id, 'h2')]));
  fails = false;
  assert.equal(kindOf(engine.apply([admit(other.id, 'h3')])[0]), 'temporarily_held');
  const [summary, report] = engine.apply([{ op: 'getAccount', accountId: org.id }, { op: 'audit' }]);
  assert.ok(summary && 'reserved' in summary && summary.reserved === 60n);
  assert.ok(report && 'findings' in report);
  assert.deepEqual(report.findings, []);
});

test('a new cap of an account counts the charges of its own batch', (t) => {
  const folder = temporaryFolder('gateway-tree');
  const file = join(folder, 'ledger.db');
  const engine = openEngine(openDatabase(file), file, new ManualClock());
  t.after(() => engine.close());
  const org = newAccount();
  const key = newKey({ accountId: org.id });
  engine.apply([
    { op: 'registerOwner', owner: 'o', leaseMs: 60_000 },
    { op: 'createAccount', request: org },
    { op: 'addAccountCredit', accountId: org.id, entryId: 'first', amountNanos: 100n, note: null },
    { op: 'createKey', request: key },
    { op: 'admit', owner: 'o', request: admitRequest(key.id, 'h1', 60n) },
  ]);
  const results = engine.apply([
    { op: 'settle', request: settleRequest(key.id, 'h1', 60n) },
    { op: 'changeAccount', accountId: org.id, change: { creditCap: { amount: 70n, period: 'day' } } },
    { op: 'admit', owner: 'o', request: admitRequest(key.id, 'h2', 20n) },
  ]);
  assert.deepEqual(results.map(kindOf), ['settled', 'account', 'insufficient']);
});

test('accounts that a damaged file puts below each other are an error, not a path without an end', (t) => {
  const folder = temporaryFolder('gateway-tree');
  const file = join(folder, 'ledger.db');
  const org = newAccount();
  const team = newAccount({ parentId: org.id });
  const project = newAccount({ parentId: team.id });
  const engine = openEngine(openDatabase(file), file, new ManualClock());
  engine.apply([org, team, project].map((request) => ({ op: 'createAccount', request })));
  engine.close();

  const database = openDatabase(file);
  database.prepare('UPDATE tree_accounts SET parent_id = ? WHERE id = ?').run(project.id, team.id);
  const damaged = openEngine(database, file, new ManualClock());
  t.after(() => damaged.close());
  const [created] = damaged.apply([{ op: 'createKey', request: newKey({ accountId: team.id }) }]);
  assert.deepEqual(created, { kind: 'operation_failed', message: `account ${team.id} is below itself` });
});
