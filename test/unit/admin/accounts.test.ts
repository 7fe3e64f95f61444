/** Accounts as an operator makes and changes them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eraseAccount } from '../../../src/admin/accounts/erase.ts';
import { AdminError } from '../../../src/admin/error.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { adminFixture } from '../../support/admin-fixture.ts';

function refusedWith(code: string, message: RegExp, field: string | null = null) {
  return (error: unknown): boolean =>
    error instanceof AdminError && error.code === code && message.test(error.message) && error.field === field;
}

describe('accounts', () => {
  test('are not erased with credit that was bought: the correction that is named then pays out all of it', async (t) => {
    const { service, adminService } = adminFixture(t);
    for (const [bought, promotional] of [
      ['0.2', '0.1'],
      ['0.000000001', '0.3'],
    ] as const) {
      const { id } = await service.accounts.create({ name: 'Acme' });
      await service.accounts.addCredit(id, { amount: bought });
      await service.accounts.addCredit(id, { amount: promotional, expires_at: '2026-02-01' });
      const erase = () => eraseAccount(adminService, id, { name: 'Acme' });
      await assert.rejects(
        erase,
        refusedWith('refused', new RegExp(`has ${bought} credits .* --by -${bought} --reason`)),
      );
      await adminService.money.correct(id, { amount: `-${bought}`, reason: 'paid out' });
      assert.equal((await erase()).accounts, 1);
    }
  });

  test('are made in a tree with caps, given credit, changed, moved and closed', async (t) => {
    const { accounts } = adminFixture(t).service;
    const org = await accounts.create({ name: 'Acme', external_id: 'crm-7', labels: { tier: 'gold' } });
    const team = await accounts.create({ name: 'team', parent: org.id, credit_cap: '50/month', token_cap: '9000/day' });
    const other = await accounts.create({ name: 'other', parent: org.id });
    assert.deepEqual([org.parent, org.root, org.external_id, org.labels], [null, org.id, 'crm-7', { tier: 'gold' }]);
    assert.deepEqual(team.credit_cap, { amount: 50, period: 'month' });
    assert.deepEqual(team.token_cap, { amount: 9_000, period: 'day' });
    assert.deepEqual([team.parent, team.root, team.credit, team.balance], [org.id, org.id, null, null]);
    const paid = await accounts.addCredit(org.id, { amount: '12.5', entry_id: 'invoice 1' });
    assert.equal((await accounts.addCredit(org.id, { amount: '12.5', entry_id: 'invoice 1' })).balance, 12.5);
    assert.equal(paid.credit, 12.5);
    assert.equal((await accounts.move(other.id, { parent: team.id })).parent, team.id);
    const changed = await accounts.change(team.id, { name: 'research', credit_cap: { amount: '0.5', period: 'none' } });
    assert.deepEqual([changed.name, changed.credit_cap], ['research', { amount: 0.5, period: 'none' }]);
    assert.equal((await accounts.change(team.id, { credit_cap: 'none' })).credit_cap, null);
    assert.equal((await accounts.change(other.id, { status: 'closed' })).status, 'closed');
    assert.deepEqual(
      (await accounts.list()).map(({ name }) => name),
      ['Acme', 'research', 'other'],
    );
  });

  test('keys are made for them, with a cap, or join them with their balance', async (t) => {
    const { service } = adminFixture(t);
    const { accounts } = service;
    const org = await accounts.create({ name: 'Acme' });
    const capped = await service.createKey({ mode: 'credit', account: org.id, cap: '2', period: 'week' });
    assert.ok(capped.mode === 'credit');
    assert.deepEqual(capped.cap, { amount: 2, period: 'week', used: 0 });
    assert.equal(capped.account, org.id);
    const raised = await service.changeKey(capped.id, { cap: '3', period: 'day' });
    assert.ok(raised.mode === 'credit' && raised.cap?.amount === 3);
    const lone = await service.createKey({ mode: 'credit', credit: '4' });
    assert.equal('account' in lone, false);
    assert.equal((await accounts.addKey(org.id, { key: lone.id })).balance, 4);
    assert.equal((await accounts.addKey(org.id, { key: lone.id })).balance, 4);
    assert.equal((await service.showKey(lone.id)).account, org.id);
    assert.equal((await service.audit()).ok, true);
  });

  test('bad input is refused by its field, and nothing changes', async (t) => {
    const { service } = adminFixture(t);
    const { accounts } = service;
    const org = await accounts.create({ name: 'Acme', external_id: 'crm-7' });
    const before = await accounts.list();
    const field = (name: string) => refusedWith('invalid_input', new RegExp(`^${name} `), name);
    await assert.rejects(accounts.create({}), field('name'));
    await assert.rejects(accounts.create({ name: 'two\nlines' }), field('name'));
    for (const cap of ['50', '-1/month', '5/year', '1/2/month', 'x/day', '', '5/']) {
      await assert.rejects(accounts.create({ name: 'x', credit_cap: cap }), field('credit_cap'), cap);
    }
    for (const cap of ['1.5/month', { amount: -1, period: 'day' }, { amount: 5 }, `${2n ** 64n}/day`]) {
      await assert.rejects(accounts.create({ name: 'x', token_cap: cap }), field('token_cap'), String(cap));
    }
    await assert.rejects(accounts.change(org.id, { rpm_limit: 0 }), field('rpm_limit'));
    await assert.rejects(accounts.change(org.id, {}), refusedWith('invalid_input', /nothing to change/));
    await assert.rejects(accounts.create({ name: 'x', parent: 'nobody' }), refusedWith('unknown_account', /"nobody"/));
    await assert.rejects(accounts.create({ name: 'x', external_id: 'crm-7' }), refusedWith('refused', /external id/));
    await assert.rejects(accounts.move(org.id, { parent: org.id }), refusedWith('refused', /root/));
    await assert.rejects(accounts.addCredit(org.id, { amount: '-5' }), field('amount'));
    await assert.rejects(
      accounts.addKey(org.id, { key: 'nobody' }),
      refusedWith('unknown_key', /does not exist/, 'key'),
    );
    await assert.rejects(service.createKey({ mode: 'credit', cap: '5' }), field('cap'));
    await assert.rejects(service.createKey({ mode: 'credit', account: org.id, credit: '5' }), field('credit'));
    await assert.rejects(
      service.createKey({ mode: 'credit', account: 'nobody' }),
      refusedWith('unknown_account', /nobody/),
    );
    assert.deepEqual(await accounts.list(), before);
  });

  test('the commands show a tree, and what is left', async (t) => {
    const { service } = adminFixture(t);
    const run = async (...line: string[]): Promise<string> => {
      const command = findCommand(COMMANDS, line);
      return (await command.run(service, readArguments(command, line))).text;
    };
    const created = await run('accounts', 'create', 'Acme');
    const id = /^(acct_\w+) \(Acme\) is active; 0 credits left/.exec(created)?.[1] ?? '';
    await run('accounts', 'create', 'team', '--parent', id, '--credit-cap', '2/day');
    assert.match(await run('accounts', 'credit', id, '5'), /5 credits left/);
    const table = await run('accounts', 'list');
    assert.match(table, /^NAME +ID +STATUS +AVAILABLE\nAcme +acct_\w+ +active +5 credits left/);
    assert.match(table, /\n {2}team +acct_\w+ +active +2 credits left of its cap/);
    const found = await run('accounts', 'list', '--parent', id);
    assert.match(found, /^NAME +ID +STATUS +AVAILABLE\nteam +acct_\w+ +active/, 'at the top, without its parent');
    assert.equal(await run('accounts', 'list', '--search', 'TEA', '--status', 'active'), found);
    assert.match(await run('accounts', 'list', '--parent', 'none'), /^NAME .*\nAcme .*\n$/);
    assert.equal(await run('accounts', 'list', '--status', 'closed'), 'No account matches.\n');
    assert.match(await run('accounts', 'show', id), /credit cap +none \(0 credits used\)/);
    assert.match(await run('accounts', 'suspend', id), /is suspended/);
    assert.match(await run('keys', 'create', '--mode', 'credit', '--account', id, '--cap', '1'), /paid for by acct_/);
    assert.match(await run('keys', 'list'), /by its account/);
  });
});
