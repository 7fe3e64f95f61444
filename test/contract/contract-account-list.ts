import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountListQuery } from '../../src/ledger/port.ts';
import { openTree } from './account-tree.ts';
import type { OpenBooks } from './fixtures.ts';

export function accountListContract(open: OpenBooks): void {
  test('accounts are listed a page at a time, oldest first, and by what is asked for', async () => {
    const tree = await openTree(open, 500n, [{ name: 'Große Firma', externalId: 'CRM-0042' }]);
    const { bench, org, team, project, account } = tree;
    const { ledger } = bench;
    const other = await account({ name: 'other' });
    const late = await account({ name: 'late', parentId: org });
    await ledger.changeAccount(late, { status: 'suspended' });
    const listed = async (query: AccountListQuery) =>
      (await ledger.listAccounts(query)).map(({ account: { id } }) => id);

    assert.deepEqual(await listed({}), [org, team, project, other, late]);
    assert.deepEqual(await listed({ limit: 2 }), [org, team]);
    assert.deepEqual(await listed({ limit: 2, after: team }), [project, other]);
    assert.deepEqual(await listed({ after: late }), []);
    assert.deepEqual(await listed({ after: 'acct_unknown' }), []);
    assert.deepEqual(await listed({ status: 'suspended' }), [late]);
    assert.deepEqual(await listed({ status: 'closed' }), []);
    assert.deepEqual(await listed({ parentId: null }), [org, other]);
    assert.deepEqual(await listed({ parentId: null, limit: 1, after: org }), [other]);
    assert.deepEqual(await listed({ parentId: org }), [team, late]);
    assert.deepEqual(await listed({ parentId: org, after: team }), [late]);
    assert.deepEqual(await listed({ parentId: 'acct_unknown' }), []);
    assert.deepEqual(await listed({ belowId: org }), [team, project, late]);
    assert.deepEqual(await listed({ belowId: org, status: 'active', limit: 1, after: team }), [project]);
    assert.deepEqual(await listed({ belowId: project }), []);
    assert.deepEqual(await listed({ within: team }), [team, project]);
    assert.deepEqual(await listed({ within: 'acct_unknown' }), []);
    assert.deepEqual(await listed({ ids: [late, org, 'acct_unknown'] }), [org, late]);
    assert.deepEqual(await listed({ ids: [] }), []);
    assert.deepEqual(await listed({ externalIds: ['CRM-0042', org, 'crm-0042'] }), [org]);
    assert.deepEqual(await listed({ externalIds: ['crm-0042'] }), []);
    assert.deepEqual(await listed({ search: 'GROSSE' }), []);
    assert.deepEqual(await listed({ search: 'GROßE f' }), [org]);
    assert.deepEqual(await listed({ search: 'crm-00' }), [org]);
    assert.deepEqual(await listed({ search: project.toUpperCase() }), [project]);
    assert.deepEqual(await listed({ search: '%' }), []);
    assert.deepEqual(await listed({ search: 'o', within: team }), [project]);
    await bench.close();
  });

  test('a list of accounts has their sums, and says whose they are and which of them are parents', async () => {
    const { bench, org, team, project, key, admit } = await openTree(open, 500n);
    const { ledger } = bench;
    await admit(await key(project), 40n, { tokens: 30n });
    const one = async (id: string) => {
      const summary = await ledger.getAccount(id);
      assert.ok(summary);
      return summary;
    };
    const list = await ledger.listAccounts({ limit: 3 });
    assert.deepEqual(list, [await one(org), await one(team), await one(project)]);
    assert.deepEqual(
      list.map(({ purchased, reserved, rootName, isParent }) => [purchased, reserved, rootName, isParent]),
      [
        [500n, 40n, 'org', true],
        [0n, 40n, 'org', true],
        [0n, 40n, 'org', false],
      ],
    );
    await bench.close();
  });

  test('keys of an account are listed with those of the accounts below it, wherever these were moved to', async () => {
    const { bench, org, team, project, key, account } = await openTree(open, 500n);
    const { ledger } = bench;
    const side = await account({ parentId: org });
    const own = await key(team);
    const deep = await key(project);
    await key(await account({ name: 'stranger' }));
    await bench.creditKey(1n);
    const listed = async (accountId: string, below: boolean) => {
      const found = (await ledger.listKeys({ accountId, below })).map(({ key: { id } }) => id).toSorted();
      assert.deepEqual((await ledger.keyIds(accountId, below)).toSorted(), found);
      return found;
    };
    assert.deepEqual(await listed(team, true), [own, deep].toSorted());
    assert.deepEqual(await listed(team, false), [own]);
    assert.deepEqual(await listed(org, false), []);
    assert.deepEqual(await listed('acct_unknown', true), []);
    assert.equal((await ledger.moveAccount(project, side)).kind, 'account');
    assert.deepEqual(await listed(team, true), [own]);
    assert.deepEqual(await listed(side, true), [deep]);
    assert.deepEqual(await listed(org, true), [own, deep].toSorted());
    await bench.close();
  });
}
