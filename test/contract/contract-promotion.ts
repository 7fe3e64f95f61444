import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest } from './fixtures.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A payer of either kind, with a key that spends: what it has, and how it is given promotional credit. */
interface Payer {
  readonly bench: Bench;
  readonly keyId: string;
  readonly payerId: string;
  /** Balance, and what of it is held. */
  balance(): Promise<readonly [balance: bigint, reserved: bigint]>;
  /** Credit that expires after so long; without it, purchased. */
  add(entryId: string, amount: bigint, afterMs?: number): Promise<string>;
  hold(id: string, amount: bigint): Promise<string>;
  settle(id: string, amount: bigint): Promise<void>;
}

async function loneKey(open: OpenBooks): Promise<Payer> {
  const bench = await Bench.open(open);
  const keyId = await bench.creditKey(0n);
  return {
    ...common(bench, keyId),
    payerId: keyId,
    balance: async () => {
      const { purchased, used, reserved } = await bench.summary(keyId);
      return [purchased - used, reserved];
    },
    add: async (entryId, amount, afterMs) => {
      const details = afterMs === undefined ? {} : { expiresAtMs: bench.clock.nowMs() + afterMs };
      const outcome = await bench.ledger.addCredit(keyId, entryId, amount, null, details);
      return outcome.kind === 'refused' ? outcome.reason : outcome.kind;
    },
  };
}

async function keyOfTree(open: OpenBooks): Promise<Payer> {
  const bench = await Bench.open(open);
  const root = newAccount({ name: 'org' });
  await bench.ledger.createAccount(root);
  const team = newAccount({ name: 'team', parentId: root.id });
  await bench.ledger.createAccount(team);
  const { id: keyId } = await bench.ledger.createKey(newKey({ accountId: team.id }));
  return {
    ...common(bench, keyId),
    payerId: root.id,
    balance: async () => {
      const { path } = await bench.summary(keyId);
      assert.ok(path);
      return [path.purchased - path.used, path.reserved];
    },
    add: async (entryId, amount, afterMs) => {
      const details = afterMs === undefined ? {} : { expiresAtMs: bench.clock.nowMs() + afterMs };
      const outcome = await bench.ledger.addAccountCredit(root.id, entryId, amount, null, details);
      return outcome.kind === 'refused' ? outcome.reason : outcome.kind;
    },
  };
}

function common(bench: Bench, keyId: string): Pick<Payer, 'bench' | 'keyId' | 'hold' | 'settle'> {
  return {
    bench,
    keyId,
    hold: async (id, amount) => (await bench.ledger.admit(admitRequest(keyId, id, amount))).kind,
    settle: async (id, amount) => {
      assert.equal((await bench.ledger.settle(settleRequest(keyId, id, amount))).kind, 'settled');
    },
  };
}

export function promotionContract(open: OpenBooks): void {
  for (const [whose, opened] of [
    ['a key that pays for itself', loneKey],
    ['the root of a key', keyOfTree],
  ] as const) {
    test(`[R73] ${whose}: promotional credit is spent first, what expires first before the rest`, async () => {
      const { bench, balance, add, hold, settle } = await opened(open);
      await add('bought', 100n);
      await add('late', 30n, 2 * HOUR_MS);
      await add('soon', 20n, HOUR_MS);
      assert.equal(await hold('h1', 25n), 'admitted');
      await settle('h1', 25n);
      assert.deepEqual(await balance(), [125n, 0n]);
      bench.clock.advance(HOUR_MS);
      // All 20 of the first were spent, and 5 of the other.
      assert.deepEqual(await balance(), [125n, 0n]);
      bench.clock.advance(HOUR_MS);
      assert.deepEqual(await balance(), [100n, 0n]);
      await bench.close();
    });

    test(`[R73] ${whose}: what is not spent is gone at its expiry, to the millisecond, whoever looks`, async () => {
      const { bench, keyId, balance, add, hold } = await opened(open);
      await add('bought', 10n);
      await add('promo', 90n, MINUTE_MS);
      bench.clock.advance(MINUTE_MS - 1);
      assert.deepEqual(await balance(), [100n, 0n]);
      bench.clock.advance(1);
      assert.equal(await hold('h1', 11n), 'insufficient');
      assert.deepEqual(await balance(), [10n, 0n]);
      assert.equal(await hold('h2', 10n), 'admitted');
      const listed = (await bench.ledger.listKeys()).find(({ key }) => key.id === keyId);
      assert.equal(listed?.reserved, 10n);
      await bench.close();
    });

    test(`[R73] ${whose}: what is held at the expiry stays spendable, and no balance becomes negative`, async () => {
      const { bench, payerId, balance, add, hold, settle } = await opened(open);
      await add('promo', 100n, MINUTE_MS);
      assert.equal(await hold('h1', 60n), 'admitted');
      bench.clock.advance(MINUTE_MS);
      assert.deepEqual(await balance(), [60n, 60n]);
      assert.equal(await hold('h2', 1n), 'temporarily_held');
      const [held] = (await bench.ledger.promotions(payerId)) ?? [];
      assert.deepEqual([held?.id, held?.amount, held?.left], ['promo', 100n, 60n]);
      await settle('h1', 45n);
      assert.deepEqual(await bench.ledger.promotions(payerId), []);
      assert.equal(await bench.ledger.promotions('nobody'), null);
      // What was held and not spent has expired meanwhile.
      assert.deepEqual(await balance(), [0n, 0n]);
      assert.equal(await hold('h3', 1n), 'insufficient');
      await bench.close();
    });

    test(`[R73] ${whose}: what was held keeps its promotional credit although there is purchased credit`, async () => {
      const { bench, balance, add, hold, settle } = await opened(open);
      await add('bought', 100n);
      await add('promo', 50n, MINUTE_MS);
      assert.equal(await hold('h1', 40n), 'admitted');
      bench.clock.advance(MINUTE_MS);
      assert.deepEqual(await balance(), [140n, 40n]);
      // A request of after the expiry has no part in it.
      assert.equal(await hold('h2', 40n), 'admitted');
      await settle('h2', 40n);
      assert.deepEqual(await balance(), [100n, 40n]);
      await settle('h1', 40n);
      assert.deepEqual(await balance(), [60n, 0n]);
      await bench.close();
    });

    test(`${whose}: promotional credit is booked once, and not with an expiry in the past`, async () => {
      const { bench, balance, add } = await opened(open);
      assert.match(await add('past', 5n, 0), /in the past/);
      assert.match(await add('past', 5n, -HOUR_MS), /in the past/);
      assert.match(await add('promo', 0n, HOUR_MS), /more than 0/);
      const booked = await add('promo', 5n, HOUR_MS);
      assert.doesNotMatch(booked, / /);
      assert.equal(await add('promo', 5n, HOUR_MS), booked);
      assert.match(await add('promo', 6n, HOUR_MS), /booked before/);
      assert.match(await add('promo', 5n, 2 * HOUR_MS), /booked before/);
      assert.match(await add('promo', 5n), /booked before/);
      assert.deepEqual(await balance(), [5n, 0n]);
      await bench.close();
    });

    test(`[R73] ${whose}: what nobody touches expires with the next recovery, and is shown without it`, async () => {
      const { bench, keyId, balance, add } = await opened(open);
      await add('promo', 70n, MINUTE_MS);
      bench.clock.advance(HOUR_MS);
      const other = await bench.another();
      assert.ok((await other.listAccounts()).every(({ purchased }) => purchased === 0n));
      assert.equal((await other.getKey(keyId))?.purchased, 0n);
      await bench.ledger.recover();
      assert.deepEqual(await balance(), [0n, 0n]);
      await bench.close();
    });

    test(`a correction of ${whose} never takes promotional credit`, async () => {
      const { bench, payerId, balance, add } = await opened(open);
      await add('bought', 10n);
      await add('promo', 50n, HOUR_MS);
      const correct = (amountNanos: bigint) =>
        bench.ledger.correct({ payerId, entryId: `c${amountNanos}`, amountNanos, note: null });
      assert.equal((await correct(-11n)).kind, 'refused');
      assert.deepEqual(await correct(-10n), { kind: 'corrected', balance: 50n });
      assert.deepEqual(await balance(), [50n, 0n]);
      await bench.close();
    });
  }

  test('promotional credit crosses with the balance of a key that joins an account, and keeps its expiry', async () => {
    const bench = await Bench.open(open);
    const root = newAccount();
    await bench.ledger.createAccount(root);
    const keyId = await bench.creditKey(10n);
    await bench.ledger.addCredit(keyId, 'promo', 50n, null, { expiresAtMs: bench.clock.nowMs() + HOUR_MS });
    await bench.ledger.joinAccount(keyId, root.id, 'join');
    assert.equal((await bench.ledger.getAccount(root.id))?.purchased, 60n);
    bench.clock.advance(HOUR_MS);
    assert.equal((await bench.ledger.getAccount(root.id))?.purchased, 10n);
    await bench.close();
  });

  test('[R73] many requests at once around an expiry spend no more than there is', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await bench.ledger.addCredit(keyId, 'promo', 100n, null, { expiresAtMs: bench.clock.nowMs() + MINUTE_MS });
    const ledgers = [bench.ledger, await bench.another()];
    const round = async (name: string): Promise<readonly string[]> => {
      const ids = Array.from({ length: 20 }, (_, index) => `${name}${index}`);
      const kinds = await Promise.all(
        ids.map(async (id, index) => {
          const outcome = await (ledgers[index % 2] ?? bench.ledger).admit(admitRequest(keyId, id, 15n));
          return outcome.kind === 'admitted' ? id : null;
        }),
      );
      return kinds.filter((id) => id !== null);
    };
    const before = await round('a');
    assert.equal(before.length, 13);
    bench.clock.advance(MINUTE_MS);
    await Promise.all(before.map((id) => bench.ledger.settle(settleRequest(keyId, id, 10n))));
    // 130 were charged: 100 of them promotional.
    const { purchased, used, reserved } = await bench.summary(keyId);
    assert.deepEqual([purchased - used, reserved], [70n, 0n]);
    assert.equal((await round('b')).length, 4);
    await bench.close();
  });
}
