/** Changes of a tree of accounts: what moves, joins, is bought, and is refused. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { AMOUNT_MAX } from '../../src/core/money.ts';
import { openTree } from './account-tree.ts';
import { newAccount, newKey, type OpenBooks, settleRequest } from './fixtures.ts';

const byKey = (unit: 'credit' | 'tokens') => ({ level: { account: false, unit } });

export function accountChangeContract(open: OpenBooks): void {
  test('accounts and keys move below their root while nothing is held; what was charged stays where it was', async () => {
    const { bench, org, team, project, key, account, figures, admit } = await openTree(open, 500n);
    const { ledger } = bench;
    const other = await account({ parentId: org, name: 'other' });
    const elsewhere = await account({ name: 'another root' });
    const keyId = await key(project);
    const spend = async (amount: bigint, version: number) => {
      const id = randomUUID();
      assert.equal((await admit(keyId, amount, { id }, version)).kind, 'admitted');
      await ledger.settle(settleRequest(keyId, id, amount));
    };
    await spend(10n, 1);
    await admit(keyId, 5n, { id: 'h' });
    assert.equal((await ledger.moveAccount(project, other)).kind, 'refused');
    assert.equal((await ledger.moveKey(keyId, other)).kind, 'refused');
    await ledger.void('h', keyId);
    assert.equal((await ledger.moveAccount(project, elsewhere)).kind, 'refused');
    assert.equal((await ledger.moveKey(keyId, elsewhere)).kind, 'refused');
    assert.equal((await ledger.moveAccount(team, project)).kind, 'refused');
    assert.equal((await ledger.moveAccount(team, team)).kind, 'refused');
    assert.equal((await ledger.moveAccount(org, team)).kind, 'refused');
    for (let sent = 0; sent < 2; sent++) {
      const moved = await ledger.moveAccount(project, other);
      assert.ok(moved.kind === 'account' && moved.account.parentId === other && moved.account.version === 2);
    }
    await spend(20n, 1);
    for (let sent = 0; sent < 2; sent++) {
      const moved = await ledger.moveKey(keyId, org);
      assert.ok(moved.kind === 'changed' && moved.key.accountId === org && moved.key.version === 2);
    }
    await spend(40n, 2);
    assert.deepEqual(await figures(project, team, other, org), [
      [30n, 0n, 0n, 0n, 0],
      [10n, 0n, 0n, 0n, 0],
      [20n, 0n, 0n, 0n, 0],
      [70n, 0n, 0n, 0n, 0],
    ]);
    await bench.close();
  });

  test('a key that paid for itself joins an account with its balance, once, while it holds nothing', async () => {
    const { bench, org, team, project, figures, admit } = await openTree(open, 500n);
    const { ledger } = bench;
    const keyId = await bench.creditKey(100n);
    await bench.spend(keyId, 30n);
    const holdId = await bench.hold(keyId, 10n);
    assert.equal((await ledger.joinAccount(keyId, project, 'crossing')).kind, 'refused');
    await ledger.void(holdId, keyId);
    assert.equal((await ledger.joinAccount(keyId, 'nowhere', 'crossing')).kind, 'unknown_account');
    for (let sent = 0; sent < 2; sent++) {
      const joined = await ledger.joinAccount(keyId, project, 'crossing');
      assert.ok(joined.kind === 'changed' && joined.key.accountId === project && joined.key.version === 2);
    }
    assert.equal((await ledger.joinAccount(keyId, team, 'again')).kind, 'refused');
    const another = await bench.creditKey(5n);
    assert.equal((await ledger.joinAccount(another, team, 'crossing')).kind, 'refused');
    assert.equal((await ledger.addCredit(keyId, 'more', 5n, null)).kind, 'refused');
    assert.equal((await ledger.getAccount(org))?.purchased, 570n);
    assert.equal((await admit(keyId, 571n, {}, 2)).kind, 'insufficient');
    assert.equal((await admit(keyId, 570n, { id: 'all' }, 2)).kind, 'admitted');
    await ledger.settle(settleRequest(keyId, 'all', 200n));
    assert.deepEqual(await figures(project, org), Array(2).fill([200n, 0n, 0n, 0n, 0]));
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.periodUsed], [230n, 230n]);
    await bench.close();
  });

  test('a token-budget key joins with its budget, and nothing crosses', async () => {
    const { bench, org, project, admit } = await openTree(open, 500n);
    const keyId = await bench.budgetKey(1_000n);
    await bench.spend(keyId, 400n);
    assert.equal((await bench.ledger.joinAccount(keyId, project, 'crossing')).kind, 'changed');
    assert.equal((await bench.ledger.getAccount(org))?.purchased, 500n);
    assert.deepEqual(await admit(keyId, 601n, {}, 2), {
      kind: 'insufficient',
      rate: null,
      available: 600n,
      ...byKey('tokens'),
    });
    await bench.close();
  });

  test('credit is bought by the root, and sending a purchase again books it once', async () => {
    const { bench, org, team } = await openTree(open, 500n);
    const { ledger } = bench;
    const again = await ledger.addAccountCredit(org, 'first', 500n, null);
    assert.ok(again.kind === 'account_credited' && again.balance === 500n);
    const refusals = [
      await ledger.addAccountCredit(org, 'first', 501n, null),
      await ledger.addAccountCredit(team, 'second', 5n, null),
      await ledger.addAccountCredit(org, 'second', 0n, null),
      await ledger.addAccountCredit(org, 'second', -5n, null),
      await ledger.addAccountCredit(org, 'second', AMOUNT_MAX, null),
    ];
    assert.deepEqual(new Set(refusals.map(({ kind }) => kind)), new Set(['refused']));
    assert.equal((await ledger.addAccountCredit('nobody', 'second', 5n, null)).kind, 'unknown_account');
    assert.equal((await ledger.getAccount(org))?.purchased, 500n);
    await bench.close();
  });

  test('what makes no sense is refused with a reason, and nothing changes', async () => {
    const { bench, org, team, project, key, account, admit } = await openTree(open, 500n, [{ externalId: 'acme' }]);
    const { ledger } = bench;
    const deepest = await account({ parentId: project });
    const keyId = await key(project, { cap: 50n });
    await admit(keyId, 40n, { id: 'h', tokens: 30n });
    const before = await ledger.listAccounts();
    const refusals = [
      await ledger.createAccount(newAccount({ parentId: deepest })),
      await ledger.createAccount(newAccount({ externalId: 'acme' })),
      await ledger.createAccount(newAccount({ rpmLimit: 0 })),
      await ledger.createAccount(newAccount({ creditCap: { amount: -1n, period: 'day' } })),
      await ledger.createAccount(newAccount({ tokenCap: { amount: AMOUNT_MAX + 1n, period: 'day' } })),
      await ledger.createAccount(newAccount({ id: org, name: 'something else' })),
      await ledger.createAccount(newAccount({ id: keyId })),
      await ledger.changeAccount(team, { externalId: 'acme' }),
      await ledger.changeAccount(team, { creditCap: { amount: 39n, period: 'none' } }),
      await ledger.changeAccount(team, { tokenCap: { amount: 29n, period: 'none' } }),
      await ledger.changeAccount(deepest, { rpmLimit: -3 }),
      await ledger.changeAccount(project, { status: 'closed' }),
      await ledger.changeKey(await bench.creditKey(5n), { cap: 5n }),
      await ledger.changeKey(await key(team, { mode: 'token_budget', budget: 5n }), { cap: 5n }),
    ];
    for (const [index, outcome] of refusals.entries()) {
      assert.ok(outcome.kind === 'refused' && outcome.reason.length > 10, `${index}: ${outcome.kind}`);
    }
    assert.deepEqual(await ledger.listAccounts(), before);
    await assert.rejects(ledger.createKey(newKey({ accountId: 'nobody' })), /account/);
    await assert.rejects(ledger.createKey(newKey({ accountId: org, credit: 5n })), /purchase/);
    await ledger.void('h', keyId);
    await ledger.changeKey(keyId, { status: 'revoked' });
    const { version } = (await ledger.getAccount(team))?.account ?? { version: 0 };
    assert.deepEqual(await ledger.changeAccount(team, { name: 'late', ifVersion: version - 1 }), {
      kind: 'other_version',
      version,
    });
    assert.equal((await ledger.changeAccount(team, { name: 'in time', ifVersion: version })).kind, 'account');
    assert.deepEqual((await ledger.getAccount(team))?.account.version, version + 1);
    assert.equal((await ledger.changeAccount(deepest, { status: 'closed' })).kind, 'account');
    assert.equal((await ledger.changeAccount(project, { status: 'closed' })).kind, 'account');
    assert.equal((await ledger.changeAccount(project, { status: 'active' })).kind, 'refused');
    await assert.rejects(ledger.createKey(newKey({ accountId: project })), /closed/);
    await bench.close();
  });
}
