/** Refunds, corrections and promotional credit as an operator books them. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AdminError, type AdminErrorCode } from '../../../src/admin/error.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import type { OwnedLedger } from '../../../src/ledger/ledger.ts';
import { appFixture } from '../../support/admin-app.ts';
import type { TestAdmin } from '../../support/admin-client.ts';
import { adminFixture } from '../../support/admin-fixture.ts';

function refusedWith(code: AdminErrorCode, message: RegExp) {
  return (error: unknown): boolean =>
    error instanceof AdminError && error.code === code && message.test(error.message) && !/\n/.test(error.message);
}

/** A request of the key that was charged so many nanos. */
async function charge(ledger: OwnedLedger, keyId: string, id: string, amount: bigint): Promise<void> {
  const summary = await ledger.getKey(keyId);
  const hold = { id, amount, amountMin: amount, ttlMs: 600_000 };
  const request = { keyId, keyVersion: summary?.key.version ?? 0, claim: null, hold };
  assert.equal((await ledger.admit(request)).kind, 'admitted');
  const settled = { keyId, holdId: id, charge: amount, usage: null, reply: null, flag: null };
  await ledger.settle({ ...settled, noReplyReason: 'charged_incomplete' });
}

async function run(service: TestAdmin, ...line: string[]): Promise<string> {
  const command = findCommand(COMMANDS, line);
  return (await command.run(service, readArguments(command, line))).text;
}

describe('refunds and corrections', () => {
  test('[R73] a request is refunded by its id, once for each entry id, and the trail says who did it', async (t) => {
    const { service, ledger, operators } = adminFixture(t);
    const key = await service.createKey({ mode: 'credit', credit: '1' });
    await charge(ledger, key.id, 'req_1', 250_000_000n);
    const input = { amount: '0.1', reason: 'a bad answer', entry_id: 'ticket 7' };
    const refund = await service.money.refund('req_1', input);
    assert.deepEqual(refund, {
      object: 'refund',
      entry_id: 'ticket 7',
      request_id: 'req_1',
      key: key.id,
      payer: key.id,
      amount: 0.1,
      refunded: 0.1,
      charged: 0.25,
      balance: 0.85,
    });
    assert.deepEqual(await service.money.refund('req_1', input), refund);
    assert.match(await run(service, 'refund', 'req_1', '--reason', 'the rest'), /^0\.15 credits refunded to key_/);
    await assert.rejects(
      service.money.refund('req_1', { reason: 'again' }),
      refusedWith('refused', /has been refunded before/),
    );
    const trail = await operators.auditTrail({ limit: 10 });
    assert.deepEqual(
      trail.filter(({ action }) => action === 'request.refund').map(({ outcome, target }) => [outcome, target]),
      [
        ['refused', 'req_1'],
        ['done', 'req_1'],
        ['done', 'req_1'],
        ['done', 'req_1'],
      ],
    );
    assert.equal((await service.audit()).ok, true);
  });

  test('[F49] no booking takes an id that only the gateway gives, and "first" is an id like any other', async (t) => {
    const { service, ledger, clock } = adminFixture(t);
    const key = await service.createKey({ mode: 'credit', credit: '1' });
    clock.atMs++;
    const account = await service.accounts.create({ name: 'org' });
    await charge(ledger, key.id, 'req_1', 250_000_000n);
    const entry_id = 'gateway:first';
    const reserved = refusedWith('invalid_input', /^entry_id is "gateway:first": .*does not begin with "gateway:"/);
    await assert.rejects(service.addCredit(key.id, { amount: '1', entry_id }), reserved);
    await assert.rejects(service.accounts.addCredit(account.id, { amount: '1', entry_id }), reserved);
    await assert.rejects(service.accounts.addKey(account.id, { key: key.id, entry_id }), reserved);
    await assert.rejects(service.money.refund('req_1', { reason: 'x', entry_id }), reserved);
    await assert.rejects(service.money.correct(key.id, { amount: '1', reason: 'x', entry_id }), reserved);
    const purchase = { amount: '1', entry_id: 'first' };
    await service.addCredit(key.id, purchase);
    assert.equal((await service.addCredit(key.id, purchase)).remaining, 1.75);
  });

  test('bad input is refused with what to do, and nothing changes', async (t) => {
    const { service, ledger } = adminFixture(t);
    const key = await service.createKey({ mode: 'credit', credit: '1' });
    await charge(ledger, key.id, 'req_1', 250_000_000n);
    const before = await service.showKey(key.id);
    const reason = 'x';
    for (const amount of ['-1', '0', 'much', '1e30', '0.0000000001', '99999999999999999999']) {
      await assert.rejects(
        service.money.refund('req_1', { amount, reason }),
        refusedWith('invalid_input', /^amount is /),
        amount,
      );
    }
    await assert.rejects(service.money.refund('req_1', { amount: '0.3', reason }), refusedWith('refused', /0\.25/));
    await assert.rejects(service.money.refund('req_1', {}), refusedWith('invalid_input', /^reason is missing/));
    await assert.rejects(service.money.refund('req_2', { reason }), refusedWith('not_found', /x-request-id/));
    for (const amount of ['0', '-0', '--1', '-', 'x', '-99999999999999999999']) {
      await assert.rejects(
        service.money.correct(key.id, { amount, reason }),
        refusedWith('invalid_input', /^amount is /),
        amount,
      );
    }
    await assert.rejects(service.money.correct(key.id, { amount: '-0.76', reason }), refusedWith('refused', /0\.75/));
    await assert.rejects(service.money.correct('nobody', { amount: '1', reason }), refusedWith('not_found', /nobody/));
    assert.deepEqual(await service.showKey(key.id), before);
  });

  test('a balance is corrected either way from the command line', async (t) => {
    const { service } = adminFixture(t);
    const { id } = await service.createKey({ mode: 'credit', credit: '1' });
    assert.match(
      await run(service, 'correct', id, '--by', '-0.4', '--reason', 'typo'),
      /has a balance of 0\.6 credits after -0\.4/,
    );
    assert.match(await run(service, 'correct', id, '--by', '2', '--reason', 'typo', '--id', 'c1'), /2\.6 credits/);
    assert.match(await run(service, 'correct', id, '--by', '2', '--reason', 'typo', '--id', 'c1'), /2\.6 credits/);
    const account = await service.accounts.create({ name: 'Acme' });
    assert.match(await run(service, 'correct', account.id, '--by', '3', '--reason', 'x'), /3 credits after 3/);
  });

  test('[R73] promotional credit is booked with an expiry to come, spent first, and gone then', async (t) => {
    const { service, ledger, clock } = adminFixture(t);
    const { id } = await service.createKey({ mode: 'credit', credit: '1' });
    const balance = async () => (await service.showKey(id)).mode === 'credit' && (await ledger.summary(id))?.purchased;
    assert.match(await run(service, 'credit', 'add', id, '2', '--expires', '2026-02-01'), /credits/);
    assert.equal(await balance(), 3_000_000_000n);
    await charge(ledger, id, 'req_1', 500_000_000n);
    assert.match(await run(service, 'promotions', id), /^1\.5 of 2 credits until 2026-02-01T00:00:00\.000Z \(credit_/);
    await service.addCredit(id, { amount: '0.25', expires_at: '2026-01-20' });
    assert.match(
      await run(service, 'keys', 'show', id),
      /\npromotional +1\.75 of these credits expire, the next 0\.25 at 2026-01-20T00:00:00\.000Z\n/,
    );
    assert.partialDeepStrictEqual(await service.showKey(id), {
      promotional: { left: 1.75, next_amount: 0.25, next_expires_at: '2026-01-20T00:00:00.000Z' },
    });
    clock.atMs = Date.UTC(2026, 1, 1);
    assert.match(await run(service, 'promotions', id), /has no promotional credit/);
    assert.equal(await balance(), 1_500_000_000n);
    assert.equal('promotional' in (await service.showKey(id)), false);
    const account = await service.accounts.create({ name: 'Acme' });
    await service.accounts.addCredit(account.id, { amount: 2, expires_at: '2026-03-01' });
    assert.match(
      await run(service, 'accounts', 'show', account.id),
      /\npromotional +2 of these credits expire, the next 2 at 2026-03-01T00:00:00\.000Z\n/,
    );
    for (const [payer, add] of [
      [id, (input: object) => service.addCredit(id, input)],
      [account.id, (input: object) => service.accounts.addCredit(account.id, input)],
    ] as const) {
      await assert.rejects(add({ amount: 1, expires_at: '2026-01-31' }), refusedWith('refused', /in the past/), payer);
      await assert.rejects(
        add({ amount: 1, expires_at: 'soon' }),
        refusedWith('invalid_input', /^expires_at is "soon": must be a time to come/),
        payer,
      );
    }
    assert.equal((await service.audit()).ok, true);
  });

  test('over HTTP, a refund is 201, and an unknown request 404', async (t) => {
    const { send, service, ledger } = await appFixture(t);
    const key = await service.createKey({ mode: 'credit', credit: '1' });
    await charge(ledger, key.id, 'req_1', 250_000_000n);
    const done = await send('POST', '/requests/req_1/refund', { body: { reason: 'a bad answer' } });
    assert.deepEqual([done.status, done.body.amount], [201, 0.25]);
    const unknown = await send('POST', '/requests/req_2/refund', { body: { reason: 'a bad answer' } });
    assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'not_found']);
    const corrected = await send('POST', `/keys/${key.id}/corrections`, { body: { amount: -1, reason: 'x' } });
    assert.deepEqual([corrected.status, corrected.body.balance], [201, 0]);
  });
});
