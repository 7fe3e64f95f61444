/** The ledger that an account-admin gets refuses by itself, whatever a route has looked up before. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Subtree } from '../../../src/admin/accounts/subtree.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { LedgerAdmin, NewAccount, NewKey } from '../../../src/ledger/port.ts';
import { openSyncStore } from '../../../src/ledger/sqlite/engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const account = (id: string): NewAccount => ({
  ...{ id, parentId: null, name: id, externalId: null, labels: {}, creditCap: null, tokenCap: null },
  ...{ rpmLimit: null, models: null },
});
const key = (id: string, accountId: string): NewKey => ({
  ...{ id, mode: 'credit', label: null, providerScope: 'all', expiresAtMs: null, budget: null, period: 'none' },
  ...{ rpmLimit: null, models: null, accountId, credit: 0n },
  secret: { digest: `digest of ${id}`, prefix: id },
});

describe('the ledger of an account-admin', () => {
  test('knows no key and no payer outside of its account, whichever operation names them', async (t) => {
    const ledger = createLedger(openSyncStore({ file: join(temporaryFolder(), 'ledger.sqlite') }));
    t.after(() => ledger.close());
    for (const id of ['own', 'other']) {
      await ledger.createAccount(account(id));
      await ledger.createKey(key(`key of ${id}`, id));
    }
    const { ledger: reached } = new Subtree(ledger, 'own', { requireKept: async () => {}, binds: async () => false });
    const outcomes = async (id: string, all: LedgerAdmin) => [
      (await all.addSecret(`key of ${id}`, `another of ${id}`, 'mg_c_another')).kind,
      (await all.revokeSecret(`key of ${id}`, 'mg_c_another')).kind,
      await all.promotions(`key of ${id}`),
      await all.promotions(id),
      (await all.statement(`key of ${id}`, 0, 1)).kind,
      (await all.statement(id, 0, 1)).kind,
    ];
    assert.deepEqual(await outcomes('own', reached), await outcomes('other', ledger));
    const unknown = ['unknown_key', 'unknown_key', null, null, 'unknown_payer', 'unknown_payer'];
    assert.deepEqual(await outcomes('other', reached), unknown);
  });
});
