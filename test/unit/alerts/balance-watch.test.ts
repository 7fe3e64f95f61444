/** From when on a balance is counted, and which levels of it are told. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admitRequest, newAccount, newKey, settleRequest } from '../../contract/fixtures.ts';
import { CREDIT, watchWorld } from './watch-world.ts';

describe('the watch of a balance', () => {
  test('tells each level of a balance once, and begins anew when credit is bought', async (t) => {
    const { ledger, spend, look, gateway } = watchWorld(t);
    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT, label: 'mine' }));
    await spend(id, 4n * CREDIT);
    assert.deepEqual(await look(), []);
    await spend(id, 1n * CREDIT);
    assert.deepEqual(await look(), [
      {
        type: 'usage.level',
        level: 50,
        key: id,
        name: 'mine',
        limit: 'balance',
        unit: 'credits',
        used: 5,
        amount: 10,
        period: 'none',
      },
    ]);
    await spend(id, 1n);
    assert.deepEqual(await look(), []);
    // Two levels at once are one alert; another gateway that looks has nothing to add.
    await spend(id, 5n * CREDIT - 1n);
    assert.deepEqual(
      (await look()).map(({ level }) => level),
      [100],
    );
    assert.deepEqual(await look(gateway()), []);
    await ledger.addCredit(id, 'more', 21n * CREDIT, null);
    await spend(id, 1n * CREDIT);
    assert.deepEqual(await look(), [], 'nothing of what was used before counts');
    await spend(id, 8n * CREDIT);
    assert.deepEqual(await look(), []);
    await spend(id, 2n * CREDIT);
    assert.deepEqual(
      (await look()).map(({ level, used, amount }) => [level, used, amount]),
      [[50, 10, 20]],
    );
  });

  test('counts a balance from the moment at which credit is bought', async (t) => {
    const { ledger, service, spend, look } = watchWorld(t);
    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT }));
    await spend(id, 9n * CREDIT);
    const told = async () => (await look()).map(({ level, used, amount }) => [level, used, amount]);
    assert.deepEqual(await told(), [[80, 9, 10]]);
    await service.addCredit(id, { amount: '9' });
    assert.deepEqual(await told(), []);
    await spend(id, 5n * CREDIT);
    assert.deepEqual(await told(), [[50, 5, 10]]);
  });

  test('goes on counting a balance where it changes without a purchase', async (t) => {
    const { ledger, clock, look } = watchWorld(t);
    const root = newAccount({ name: 'root' });
    await ledger.createAccount(root);
    await ledger.addAccountCredit(root.id, 'first', 1_540_000n, null);
    const { id } = await ledger.createKey(newKey({ accountId: root.id }));
    let number = 0;
    const call = async (amount: bigint): Promise<string> => {
      const holdId = `call-${number++}`;
      assert.equal((await ledger.admit(admitRequest(id, holdId, amount))).kind, 'admitted');
      assert.equal((await ledger.settle(settleRequest(id, holdId, amount))).kind, 'settled');
      return holdId;
    };
    const told = async () => (await look()).map(({ level }) => level);
    const levels: unknown[] = [];
    for (let count = 0; count < 19; count++) {
      const chargeId = await call(77_000n);
      const refund = { keyId: id, chargeId, entryId: chargeId, amountNanos: 1n, note: null };
      assert.equal((await ledger.refund(refund)).kind, 'refunded');
      levels.push(...(await told()));
    }
    assert.deepEqual(levels, [50, 80]);
    await call(1_000n);
    assert.deepEqual(await told(), [95]);
    // Promotional credit begins one; what of it expires does not.
    await ledger.addAccountCredit(root.id, 'gift', 463_000n, null, { expiresAtMs: clock.atMs + 60_000 });
    await call(1n);
    assert.deepEqual(await told(), []);
    await call(300_000n);
    assert.deepEqual(await told(), [50]);
    clock.atMs += 60_000;
    await call(1_000n);
    assert.deepEqual(await told(), [80], 'less is left of the same count');
    // A correction does not either, but whoever got more is told again of what is reached again.
    const correction = { payerId: root.id, entryId: 'c', amountNanos: 1_000_000n, note: null };
    assert.equal((await ledger.correct(correction)).kind, 'corrected');
    await call(100_000n);
    assert.deepEqual(await told(), []);
    await call(400_000n);
    assert.deepEqual(await told(), [50]);
  });

  test('goes on from where an earlier release has begun to count', async (t) => {
    const { ledger, store, spend, look } = watchWorld(t);
    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT }));
    await spend(id, 4n * CREDIT);
    await ledger.correct({ payerId: id, entryId: 'c', amountNanos: 4n * CREDIT, note: null });
    // 10 of 14 credits were left when it began, and 5 of these are used now.
    await store.putBase(`key ${id}`, { bought: 14n * CREDIT, used: 4n * CREDIT });
    await spend(id, 5n * CREDIT);
    assert.deepEqual(
      (await look()).map(({ level, used, amount }) => [level, used, amount]),
      [[50, 5, 10]],
    );
    await ledger.addCredit(id, 'more', 5n * CREDIT, null);
    await spend(id, 4n * CREDIT);
    assert.deepEqual(await look(), []);
  });
});
