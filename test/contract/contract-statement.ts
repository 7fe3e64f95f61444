import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Statement } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';

const [FEBRUARY, MARCH, APRIL, MAY] = ['02', '03', '04', '05'].map((month) =>
  Date.parse(`2026-${month}-01T00:00:00Z`),
) as [number, number, number, number];

async function charge(bench: Bench, keyId: string, id: string, amount: bigint, model: string): Promise<void> {
  assert.equal((await bench.ledger.admit(admitRequest(keyId, id, amount))).kind, 'admitted');
  await bench.ledger.settle(settleRequest(keyId, id, amount, { usage: usageRecord({ model, requestId: id }) }));
}

async function statementOf(bench: Bench, id: string, sinceMs: number, untilMs: number): Promise<Statement> {
  const outcome = await bench.ledger.statement(id, sinceMs, untilMs);
  assert.equal(outcome.kind, 'statement');
  return outcome as Statement;
}

/** What must be the same whenever it is asked for. */
function lasting({ nowMs: _, ...rest }: Statement): object {
  return rest;
}

function figures({ opening, closing, entries, usage }: Statement): unknown {
  return {
    opening,
    closing,
    entries: entries.map(({ kind, id, amount }) => `${kind} ${id} ${amount}`),
    usage: usage.map(({ model, charges, amount }) => `${model} ${charges} ${amount}`),
  };
}

export function statementContract(open: OpenBooks): void {
  test('a statement adds up, month after month, and is the same whenever it is asked for', async () => {
    const bench = await Bench.open(open, '2026-02-10T12:00:00Z');
    const keyId = await bench.creditKey(1_000n);
    await charge(bench, keyId, 'r1', 30n, 'one');
    bench.clock.set('2026-03-31T23:59:59.999Z');
    await bench.ledger.addCredit(keyId, 'invoice 2', 500n, 'paid', { actor: 'op_1' });
    await bench.ledger.addCredit(keyId, 'welcome', 50n, null, { expiresAtMs: APRIL + 1_000 });
    await charge(bench, keyId, 'r2', 20n, 'one');
    await charge(bench, keyId, 'r3', 7n, 'two');
    await charge(bench, keyId, 'r4', 3n, 'one');
    assert.equal((await statementOf(bench, keyId, MARCH, APRIL)).nowMs, APRIL - 1);
    bench.clock.set('2026-04-01T00:00:00Z');
    const february = await statementOf(bench, keyId, FEBRUARY, MARCH);
    assert.deepEqual(figures(february), {
      opening: 0n,
      closing: 970n,
      entries: ['purchase gateway:first 1000'],
      usage: ['one 1 30'],
    });
    const march = await statementOf(bench, keyId, MARCH, APRIL);
    assert.deepEqual(
      march.usage.map(({ model, recorded, tokens }) => [model, recorded, ...Object.values(tokens)]),
      [
        ['one', 2, 20n, 6n, 4n, 2n, 40n, 10n],
        ['two', 1, 10n, 3n, 2n, 1n, 20n, 5n],
      ],
    );
    assert.deepEqual(figures(march), {
      opening: 970n,
      closing: 1_490n,
      entries: ['promotion welcome 50', 'purchase invoice 2 500'],
      usage: ['one 2 23', 'two 1 7'],
    });
    assert.deepEqual(
      march.entries.map(({ note, actor, expiresAtMs }) => [note, actor, expiresAtMs]),
      [
        [null, null, APRIL + 1_000],
        ['paid', 'op_1', null],
      ],
    );
    bench.clock.advance(5_000);
    await bench.ledger.refund({ keyId, chargeId: 'r2', entryId: 'sorry', amountNanos: 5n, note: 'late' });
    await bench.ledger.correct({ payerId: keyId, entryId: 'typo', amountNanos: -100n, note: null });
    await charge(bench, keyId, 'r5', 1n, 'two');
    const april = await statementOf(bench, keyId, APRIL, MAY);
    assert.deepEqual(figures(april), {
      opening: 1_490n,
      closing: 1_374n,
      entries: ['correction typo -100', 'expired welcome 0 -20', 'refund sorry 5'],
      usage: ['two 1 1'],
    });
    assert.equal(april.entries.find(({ kind }) => kind === 'refund')?.chargeId, 'r2');
    const { purchased, used } = await bench.summary(keyId);
    assert.equal(april.closing, purchased - used);
    bench.clock.set('2026-06-01T00:00:00Z');
    assert.deepEqual(lasting(await statementOf(bench, keyId, MARCH, APRIL)), lasting(march));
    assert.deepEqual(lasting(await statementOf(bench, keyId, FEBRUARY, MARCH)), lasting(february));
    await bench.close();
  });

  test('what is booked in the first millisecond of a time belongs to it, and not to its opening balance or the time before', async () => {
    const bench = await Bench.open(open, '2026-02-28T23:59:59.999Z');
    const root = newAccount({ name: 'org' });
    await bench.ledger.createAccount(root);
    await bench.ledger.addAccountCredit(root.id, 'last', 100n, null);
    const { id: below } = await bench.ledger.createKey(newKey({ accountId: root.id }));
    const alone = await bench.creditKey(100n);
    await charge(bench, below, 'b1', 10n, 'one');
    await charge(bench, alone, 'a1', 10n, 'one');
    bench.clock.set('2026-03-01T00:00:00Z');
    await bench.ledger.addAccountCredit(root.id, 'first of March', 50n, null);
    await bench.ledger.addCredit(alone, 'first of March', 50n, null);
    await charge(bench, below, 'b2', 7n, 'one');
    await charge(bench, alone, 'a2', 7n, 'one');
    for (const [payer, before] of [
      [root.id, 'purchase last 100'],
      [alone, 'purchase gateway:first 100'],
    ] as const) {
      assert.deepEqual(figures(await statementOf(bench, payer, FEBRUARY, MARCH)), {
        opening: 0n,
        closing: 90n,
        entries: [before],
        usage: ['one 1 10'],
      });
      assert.deepEqual(figures(await statementOf(bench, payer, MARCH, APRIL)), {
        opening: 90n,
        closing: 133n,
        entries: ['purchase first of March 50'],
        usage: ['one 1 7'],
      });
      assert.equal((await statementOf(bench, payer, MARCH + 3_600_000, APRIL)).opening, 133n);
    }
    await bench.close();
  });

  test('a root has the balance, and an account below it what was spent through it', async () => {
    const bench = await Bench.open(open, '2026-02-10T12:00:00Z');
    const root = newAccount({ name: 'org' });
    await bench.ledger.createAccount(root);
    const team = newAccount({ name: 'team', parentId: root.id });
    await bench.ledger.createAccount(team);
    await bench.ledger.addAccountCredit(root.id, 'invoice', 100n, null);
    const { id: teamKey } = await bench.ledger.createKey(newKey({ id: 'k1', accountId: team.id }));
    const { id: rootKey } = await bench.ledger.createKey(newKey({ id: 'k2', accountId: root.id }));
    const { id: budgetKey } = await bench.ledger.createKey(
      newKey({ id: 'k3', accountId: team.id, mode: 'token_budget', budget: 1_000n }),
    );
    const loneKey = await bench.creditKey(40n, { id: 'k4' });
    await charge(bench, teamKey, 'r1', 10n, 'one');
    await charge(bench, rootKey, 'r2', 5n, 'one');
    await charge(bench, budgetKey, 'r3', 500n, 'one');
    await charge(bench, loneKey, 'r4', 15n, 'one');
    await bench.ledger.joinAccount(loneKey, root.id, 'join');
    const { version } = (await bench.summary(loneKey)).key;
    assert.equal((await bench.ledger.admit(admitRequest(loneKey, 'r5', 1n, { keyVersion: version }))).kind, 'admitted');
    await bench.ledger.settle(settleRequest(loneKey, 'r5', 1n));
    assert.deepEqual(figures(await statementOf(bench, root.id, FEBRUARY, MARCH)), {
      opening: 0n,
      closing: 109n,
      entries: ['purchase invoice 100', 'transfer_in join 25'],
      usage: ['one 1 10', 'one 1 5', 'null 1 1'],
    });
    const ofRoot = (await statementOf(bench, root.id, FEBRUARY, MARCH)).usage;
    // A cancelled call has no usage record.
    assert.deepEqual(
      ofRoot.map(({ recorded, tokens }) => [recorded, tokens.output]),
      [
        [1, 20n],
        [1, 20n],
        [0, 0n],
      ],
    );
    assert.deepEqual(figures(await statementOf(bench, team.id, FEBRUARY, MARCH)), {
      opening: null,
      closing: null,
      entries: [],
      usage: ['one 1 10'],
    });
    // What the key paid for itself, before it joined.
    assert.deepEqual(figures(await statementOf(bench, loneKey, FEBRUARY, MARCH)), {
      opening: 0n,
      closing: 0n,
      entries: ['purchase gateway:first 40', 'transfer_out join -25'],
      usage: ['one 1 15'],
    });
    assert.equal((await bench.ledger.statement(budgetKey, FEBRUARY, MARCH)).kind, 'refused');
    assert.deepEqual(await bench.ledger.statement('nobody', FEBRUARY, MARCH), { kind: 'unknown_payer' });
    await bench.close();
  });
}
