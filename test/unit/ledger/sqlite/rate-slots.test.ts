/** Slots of rate limits: those that are taken together share one append of the journal, and are there together or not at all. */
import assert from 'node:assert/strict';
import fs, { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { createLedger, type OwnedLedger } from '../../../../src/ledger/ledger.ts';
import { openDatabase } from '../../../../src/ledger/sqlite/database.ts';
import { openEngine } from '../../../../src/ledger/sqlite/engine.ts';
import { openInProcessStore } from '../../../../src/ledger/sqlite/in-process-store.ts';
import { StoreError } from '../../../../src/storage/errors.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest } from '../../../contract/fixtures.ts';
import { aroundCommits } from '../../../support/commits.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-rates');
const clock = new ManualClock();
let files = 0;
const newFile = () => join(folder, `ledger-${files++}.db`);

async function openLedger(file: string): Promise<OwnedLedger> {
  const ledger = createLedger(openInProcessStore({ file, clock }));
  await ledger.register();
  return ledger;
}

/** Runs the work with every append of slots counted, or failing. */
async function watchingAppends(work: () => Promise<void>, failure: Error | null = null): Promise<number> {
  let appends = 0;
  const { writeSync } = fs;
  const write = mock.method(fs, 'writeSync', (file: number, ...what: [string | Uint8Array, number, number, number]) => {
    // Charges are bytes.
    if (typeof what[0] === 'string') {
      appends++;
      if (failure !== null) throw failure;
    }
    return Reflect.apply(writeSync, fs, [file, ...what]);
  });
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    write.mock.restore();
    syncBuiltinESMExports();
  }
  return appends;
}

function slotsIn(file: string): number {
  return readFileSync(`${file}-rates`, 'utf8').split('\n').filter(Boolean).length;
}

/** A key with a limit on requests and on tokens, below an account with a limit on requests. */
async function limitedKey(ledger: OwnedLedger): Promise<{ readonly orgId: string; readonly keyId: string }> {
  const org = newAccount({ rpmLimit: 4 });
  await ledger.createAccount(org);
  await ledger.addAccountCredit(org.id, 'first', 100n, null);
  const key = await ledger.createKey(newKey({ accountId: org.id, rpmLimit: 4, tpmLimit: 20 }));
  return { orgId: org.id, keyId: key.id };
}

function holding(keyId: string, id: string, amount: bigint) {
  return admitRequest(keyId, id, amount, { hold: { id, amount, amountMin: amount, ttlMs: 1_000, inputTokens: 10 } });
}

test('[R11] all that an admission takes is one append, and is there when it is told', async () => {
  const file = newFile();
  const ledger = await openLedger(file);
  const { keyId } = await limitedKey(ledger);
  const appends = await watchingAppends(async () => {
    const outcome = ledger.admitNow(holding(keyId, 'a', 1n));
    assert.equal(slotsIn(file), 3);
    assert.equal(outcome?.kind, 'admitted');
  });
  assert.equal(appends, 1);
  await ledger.close();
});

test('[R11] all that a batch takes is one append', async () => {
  const file = newFile();
  const ledger = await openLedger(file);
  const { keyId } = await limitedKey(ledger);
  for (const id of ['a', 'b']) assert.equal(ledger.admitNow(holding(keyId, id, 1n))?.kind, 'admitted');
  const appends = await watchingAppends(async () => {
    const settled = ['a', 'b'].map((id) => ledger.settle(settleRequest(keyId, id, 1n, { outputTokens: 5 })));
    await Promise.all(settled);
  });
  assert.equal(appends, 1);
  await ledger.close();
});

test('[R11] [F8] where the journal cannot be written nothing is admitted, and nothing stays taken at any level', async () => {
  const file = newFile();
  const ledger = await openLedger(file);
  const { orgId, keyId } = await limitedKey(ledger);
  const full = new Error('ENOSPC: no space left on device');
  await watchingAppends(async () => {
    // Memory cannot decide, and its batch gives the reason.
    assert.equal(ledger.admitNow(holding(keyId, 'a', 60n)), null);
    await assert.rejects(ledger.admit(holding(keyId, 'b', 60n)), StoreError);
    await assert.rejects(ledger.admit(admitRequest(keyId, '', 1n, { hold: null })), StoreError);
  }, full);
  assert.equal(slotsIn(file), 0);
  const summary = await ledger.summary(keyId);
  assert.deepEqual([summary?.reserved, summary?.used, summary?.liveHolds], [0n, 0n, 0]);
  assert.equal((await ledger.getAccount(orgId))?.reserved, 0n);
  // The whole credit, all of the tokens, and all places of the key and of the account.
  assert.equal((await ledger.admit(holding(keyId, 'c', 60n))).kind, 'admitted');
  assert.equal((await ledger.admit(holding(keyId, 'd', 40n))).kind, 'admitted');
  for (const left of [1, 0]) {
    const outcome = await ledger.admit(admitRequest(keyId, '', 1n, { hold: null }));
    assert.equal(outcome.kind === 'admitted' && outcome.rate?.remaining, left);
  }
  assert.deepEqual((await ledger.audit()).findings, []);
  await ledger.close();
});

test('[R11] [F8] a batch that fails takes nothing out of the journal but what it took itself', async (t) => {
  const file = newFile();
  const database = openDatabase(file);
  let fails = false;
  aroundCommits(database, (commit) => {
    if (fails) throw new Error('the disk is gone for a moment');
    commit();
  });
  const engine = openEngine(database, file, clock);
  t.after(() => engine.close());
  const key = newKey({ credit: 100n, rpmLimit: 3 });
  engine.apply([
    { op: 'registerOwner', owner: 'o', leaseMs: 60_000 },
    { op: 'createKey', request: key },
  ]);
  const claim = { name: 'c', fingerprint: 'f' };
  const claiming = { op: 'admit', owner: 'o', request: admitRequest(key.id, 'b', 1n, { claim }) } as const;
  assert.ok(engine.now({ op: 'admit', owner: 'o', request: admitRequest(key.id, 'a', 1n) }));
  fails = true;
  assert.throws(() => engine.apply([claiming]));
  fails = false;
  assert.equal(slotsIn(file), 1);
  const [again] = engine.apply([claiming]);
  assert.ok(again && 'kind' in again && again.kind === 'admitted');
  assert.equal(again.rate?.remaining, 1);
});
