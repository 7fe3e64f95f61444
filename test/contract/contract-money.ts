import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AMOUNT_MAX } from '../../src/core/money.ts';
import type { Correction, Refund, RefundOutcome } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest } from './fixtures.ts';

/** A root with credit, a team of it with a cap, and a key of that. */
async function openTree(open: OpenBooks, credit: bigint) {
  const bench = await Bench.open(open);
  const root = newAccount({ name: 'org' });
  await bench.ledger.createAccount(root);
  if (credit > 0n) await bench.ledger.addAccountCredit(root.id, 'first', credit, null);
  const team = newAccount({ name: 'team', parentId: root.id, creditCap: { amount: 500n, period: 'none' } });
  await bench.ledger.createAccount(team);
  const { id: keyId } = await bench.ledger.createKey(newKey({ accountId: team.id, cap: 400n }));
  const account = async (id: string) => {
    const summary = await bench.ledger.getAccount(id);
    assert.ok(summary);
    return summary;
  };
  return { bench, rootId: root.id, teamId: team.id, keyId, account };
}

async function charged(bench: Bench, keyId: string, id: string, amount: bigint): Promise<void> {
  assert.equal((await bench.ledger.admit(admitRequest(keyId, id, amount))).kind, 'admitted');
  assert.equal((await bench.ledger.settle(settleRequest(keyId, id, amount))).kind, 'settled');
}

function refundOf(keyId: string, chargeId: string, change: Partial<Refund> = {}): Refund {
  return { keyId, chargeId, entryId: `refund of ${chargeId}`, amountNanos: null, note: 'a bad answer', ...change };
}

function correctionOf(payerId: string, amountNanos: bigint, change: Partial<Correction> = {}): Correction {
  return { payerId, entryId: `correction ${amountNanos}`, amountNanos, note: 'a wrong invoice', ...change };
}

function reason(outcome: { readonly kind: string; readonly reason?: string }): string {
  assert.equal(outcome.kind, 'refused');
  return outcome.reason ?? '';
}

export function moneyContract(open: OpenBooks): void {
  test('[R73] a refund raises what was purchased; used, the spend of the day and the newest charge stay', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    const before = await bench.summary(keyId);
    assert.deepEqual(await bench.ledger.refund(refundOf(keyId, 'r1', { actor: 'op_1' })), {
      kind: 'refunded',
      payerId: keyId,
      amount: 30n,
      refunded: 30n,
      charged: 30n,
      balance: 100n,
    } satisfies RefundOutcome);
    assert.deepEqual(await bench.summary(keyId), { ...before, purchased: 130n });
    await bench.close();
  });

  test('the largest amounts come and go as often as one likes, and the audit adds them up', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(0n);
    for (const round of ['a', 'b', 'c']) {
      assert.equal((await bench.ledger.addCredit(keyId, `bought ${round}`, AMOUNT_MAX, null)).kind, 'added');
      if (round === 'c') break;
      const correction = correctionOf(keyId, -AMOUNT_MAX, { entryId: `back ${round}` });
      assert.equal((await bench.ledger.correct(correction)).kind, 'corrected');
    }
    assert.equal((await bench.summary(keyId)).purchased, AMOUNT_MAX);
    assert.deepEqual((await bench.ledger.audit()).findings, []);
    await bench.close();
  });

  test('what a payer was given is known by its kind: bought, or otherwise; refunds and what was taken away are neither', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const root = newAccount({ name: 'org' });
    await ledger.createAccount(root);
    assert.deepEqual(await ledger.credited(root.id), { bought: 0n, otherwise: 0n });
    await ledger.addAccountCredit(root.id, 'invoice', 100n, null);
    await ledger.addAccountCredit(root.id, 'welcome', 20n, null, { expiresAtMs: bench.clock.nowMs() + 60_000 });
    await ledger.correct(correctionOf(root.id, 7n));
    await ledger.correct(correctionOf(root.id, -5n));
    const lone = await bench.creditKey(30n);
    await charged(bench, lone, 'r1', 10n);
    await ledger.refund(refundOf(lone, 'r1', { amountNanos: 4n }));
    assert.deepEqual(await ledger.credited(lone), { bought: 30n, otherwise: 0n });
    assert.equal((await ledger.joinAccount(lone, root.id, 'crossing')).kind, 'changed');
    await ledger.refund(refundOf(lone, 'r1'));
    assert.deepEqual(await ledger.credited(root.id), { bought: 120n, otherwise: 7n + 24n });
    // In all, it may be more than anybody can have.
    const rich = await bench.creditKey(0n);
    for (const round of ['a', 'b', 'c']) {
      await ledger.addCredit(rich, `bought ${round}`, AMOUNT_MAX, null);
      await ledger.correct(correctionOf(rich, -AMOUNT_MAX, { entryId: `back ${round}` }));
    }
    assert.deepEqual(await ledger.credited(rich), { bought: 3n * AMOUNT_MAX, otherwise: 0n });
    await bench.close();
  });

  test('[R73] all refunds of a request together never exceed its charge', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    const refund = (entryId: string, amountNanos: bigint | null) =>
      bench.ledger.refund(refundOf(keyId, 'r1', { entryId, amountNanos }));
    assert.match(reason(await refund('a', 31n)), /can still be refunded/);
    assert.match(reason(await refund('a', 0n)), /more than 0/);
    assert.match(reason(await refund('a', -5n)), /more than 0/);
    assert.equal((await refund('a', 20n)).kind, 'refunded');
    assert.match(reason(await refund('b', 11n)), /can still be refunded/);
    const rest = await refund('b', null);
    assert.deepEqual(rest.kind === 'refunded' && [rest.amount, rest.refunded, rest.balance], [10n, 30n, 100n]);
    assert.match(reason(await refund('c', null)), /refunded before/);
    await bench.close();
  });

  test('a refund that is sent again is booked once; with another amount or request it is refused', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    await charged(bench, keyId, 'r2', 30n);
    const request = refundOf(keyId, 'r1', { entryId: 'a' });
    const first = await bench.ledger.refund(request);
    assert.equal(first.kind, 'refunded');
    assert.deepEqual(await bench.ledger.refund(request), first);
    assert.deepEqual(await bench.ledger.refund({ ...request, amountNanos: 30n }), first);
    assert.equal((await bench.ledger.refund({ ...request, amountNanos: 5n })).kind, 'refused');
    assert.equal((await bench.ledger.refund({ ...request, chargeId: 'r2' })).kind, 'refused');
    await bench.close();
  });

  test('many refunds of one request at once give back what it was charged, once', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    const other = await bench.another();
    const ledgers = [bench.ledger, other];
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        (ledgers[index % 2] ?? bench.ledger).refund(
          refundOf(keyId, 'r1', { entryId: `refund ${index}`, amountNanos: 5n }),
        ),
      ),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'refunded').length, 6);
    assert.equal((await bench.summary(keyId)).purchased, 130n);
    await bench.close();
  });

  test('an unknown request, one without a charge, and one of a token budget are not refunded', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    const budgetId = await bench.budgetKey(100n);
    await charged(bench, keyId, 'free', 0n);
    await charged(bench, budgetId, 'tokens', 10n);
    assert.deepEqual(await bench.ledger.refund(refundOf(keyId, 'nothing')), { kind: 'unknown_charge' });
    assert.deepEqual(await bench.ledger.refund(refundOf('nobody', 'free')), { kind: 'unknown_charge' });
    assert.match(reason(await bench.ledger.refund(refundOf(keyId, 'free'))), /charged nothing/);
    assert.match(reason(await bench.ledger.refund(refundOf(budgetId, 'tokens'))), /token budget/);
    await bench.close();
  });

  test('[R73] a refund of a key of an account goes to the root that paid; caps stay as they were', async () => {
    const { bench, rootId, teamId, keyId, account } = await openTree(open, 1_000n);
    await charged(bench, keyId, 'r1', 300n);
    const team = await account(teamId);
    const outcome = await bench.ledger.refund(refundOf(keyId, 'r1'));
    assert.deepEqual(outcome.kind === 'refunded' && [outcome.payerId, outcome.balance], [rootId, 1_000n]);
    const root = await account(rootId);
    assert.deepEqual([root.purchased, root.used, root.creditUsed], [1_300n, 300n, 300n]);
    assert.deepEqual(await account(teamId), team);
    // The cap of the key is used up as before.
    assert.equal((await bench.admit(keyId, 101n))[1].kind, 'insufficient');
    await bench.close();
  });

  test('a refund of what a key paid before it joined an account goes where its balance went', async () => {
    const { bench, rootId, teamId, account } = await openTree(open, 0n);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 40n);
    await bench.ledger.joinAccount(keyId, teamId, 'join');
    const outcome = await bench.ledger.refund(refundOf(keyId, 'r1'));
    assert.deepEqual(outcome.kind === 'refunded' && [outcome.payerId, outcome.balance], [rootId, 100n]);
    assert.equal((await account(rootId)).purchased, 100n);
    await bench.close();
  });

  test('the charge of a request is found by its id alone', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    const atMs = bench.clock.nowMs();
    const found = { keyId, chargeId: 'r1', charged: 30n, refunded: 0n, atMs, recovered: false };
    assert.deepEqual(await bench.ledger.findCharge('r1'), found);
    await bench.ledger.refund(refundOf(keyId, 'r1', { amountNanos: 10n }));
    assert.deepEqual(await bench.ledger.findCharge('r1'), { ...found, refunded: 10n });
    assert.equal(await bench.ledger.findCharge('r2'), null);
    await bench.close();
  });

  test('a correction adds or takes away, once, and never what is used or held', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 30n);
    const holdId = await bench.hold(keyId, 50n);
    assert.match(reason(await bench.ledger.correct(correctionOf(keyId, -21n))), /free/);
    assert.match(reason(await bench.ledger.correct(correctionOf(keyId, 0n))), /not be 0/);
    assert.match(reason(await bench.ledger.correct(correctionOf(keyId, AMOUNT_MAX))), /too large/);
    const less = correctionOf(keyId, -20n, { actor: 'op_1' });
    assert.deepEqual(await bench.ledger.correct(less), { kind: 'corrected', balance: 50n });
    assert.deepEqual(await bench.ledger.correct(less), { kind: 'corrected', balance: 50n });
    assert.equal((await bench.ledger.correct({ ...less, amountNanos: -1n })).kind, 'refused');
    await bench.ledger.settle(settleRequest(keyId, holdId, 50n));
    assert.deepEqual(await bench.ledger.correct(correctionOf(keyId, 7n)), { kind: 'corrected', balance: 7n });
    await bench.close();
  });

  test('a correction is for whoever pays: a root, not an account below it, nor a key of an account', async () => {
    const { bench, rootId, teamId, keyId } = await openTree(open, 100n);
    const budgetId = await bench.budgetKey(10n);
    assert.deepEqual(await bench.ledger.correct(correctionOf(rootId, -60n)), { kind: 'corrected', balance: 40n });
    assert.match(reason(await bench.ledger.correct(correctionOf(teamId, 5n))), /root/);
    assert.match(reason(await bench.ledger.correct(correctionOf(keyId, 5n))), /account of the key/);
    assert.match(reason(await bench.ledger.correct(correctionOf(budgetId, 5n))), /token-budget/);
    assert.deepEqual(await bench.ledger.correct(correctionOf('nobody', 5n)), { kind: 'unknown_payer' });
    await bench.close();
  });

  test('[F49] a refund that is sent again after the key joined an account, moved and was rotated is booked once', async () => {
    const { bench, rootId, teamId, account } = await openTree(open, 0n);
    const keyId = await bench.creditKey(100n);
    await charged(bench, keyId, 'r1', 40n);
    await charged(bench, keyId, 'r2', 10n);
    const part = refundOf(keyId, 'r1', { entryId: 'ticket 7', amountNanos: 15n });
    assert.equal((await bench.ledger.refund(part)).kind, 'refunded');
    await bench.ledger.addSecret(keyId, 'digest of another secret', 'mg_c_0000002');
    await bench.ledger.joinAccount(keyId, teamId, 'join');
    const repeated = { kind: 'refunded', payerId: rootId, amount: 15n, refunded: 15n, charged: 40n, balance: 65n };
    assert.deepEqual(await bench.ledger.refund(part), repeated);
    await bench.ledger.moveKey(keyId, rootId);
    assert.deepEqual(await bench.ledger.refund({ ...part, amountNanos: null }), repeated);
    assert.equal((await account(rootId)).purchased, 65n);
    // The id stays that of its request, whoever pays by now.
    assert.match(reason(await bench.ledger.refund({ ...part, amountNanos: 20n })), /booked before/);
    assert.match(reason(await bench.ledger.refund({ ...part, chargeId: 'r2', amountNanos: 5n })), /booked before/);
    await bench.close();
  });

  test('[F49] a purchase, promotional credit and a correction of a key are booked once, also after it joined an account', async () => {
    const { bench, rootId, teamId, account } = await openTree(open, 0n);
    const keyId = await bench.creditKey(100n);
    const expiresAtMs = bench.clock.nowMs() + 86_400_000;
    const book = async () => [
      (await bench.ledger.addCredit(keyId, 'invoice', 30n, null)).kind,
      (await bench.ledger.addCredit(keyId, 'welcome', 20n, null, { expiresAtMs })).kind,
      (await bench.ledger.correct(correctionOf(keyId, -5n))).kind,
    ];
    const booked = ['added', 'added', 'corrected'];
    assert.deepEqual(await book(), booked);
    await bench.ledger.joinAccount(keyId, teamId, 'join');
    assert.deepEqual(await book(), booked);
    assert.equal((await account(rootId)).purchased, 145n);
    await bench.close();
  });

  test('[F49] the id of an operator’s purchase is never that of an entry that the gateway made', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    bench.clock.advance(1);
    assert.equal((await bench.ledger.addCredit(keyId, 'first', 100n, null)).kind, 'added');
    assert.equal((await bench.ledger.addCredit(keyId, 'first', 100n, null)).kind, 'added');
    assert.equal((await bench.summary(keyId)).purchased, 200n);
    // What a key brings along, beside promotional credit whose id an operator chose.
    const root = newAccount({ name: 'org' });
    await bench.ledger.createAccount(root);
    const expiresAtMs = bench.clock.nowMs() + 86_400_000;
    await bench.ledger.addCredit(keyId, 'welcome', 5n, null, { expiresAtMs });
    const credited = await bench.ledger.addAccountCredit(root.id, 'join welcome', 7n, null, { expiresAtMs });
    assert.equal(credited.kind, 'account_credited');
    assert.equal((await bench.ledger.joinAccount(keyId, root.id, 'join')).kind, 'changed');
    assert.equal((await bench.ledger.getAccount(root.id))?.purchased, 212n);
    await bench.close();
  });
}
