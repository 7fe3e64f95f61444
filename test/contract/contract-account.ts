/** What accounts in a tree promise for every request of the keys below them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { openTree } from './account-tree.ts';
import { admitRequest, type OpenBooks, settleRequest } from './fixtures.ts';

const byAccount = (unit: 'credit' | 'tokens') => ({ level: { account: true, unit } });
const byKey = (unit: 'credit' | 'tokens') => ({ level: { account: false, unit } });

export function accountContract(open: OpenBooks): void {
  test('[F37] a hold is reserved at every level, and its charge is booked at every level, once', async () => {
    const { bench, org, team, project, key, figures, admit } = await openTree(open, 1_000n);
    const keyId = await key(project);
    assert.deepEqual(await admit(keyId, 100n, { id: 'h', tokens: 40n }), {
      kind: 'admitted',
      rate: null,
      held: 100n,
      heldTokens: 40n,
    });
    assert.deepEqual(await figures(project, team, org), Array(3).fill([0n, 100n, 0n, 40n, 1]));
    const request = settleRequest(keyId, 'h', 60n, { chargeTokens: 25n });
    assert.deepEqual(await bench.ledger.settle(request), { kind: 'settled', charged: 60n });
    assert.deepEqual(await bench.ledger.settle(request), { kind: 'already_settled', charged: 60n });
    assert.deepEqual(await figures(project, team, org), Array(3).fill([60n, 0n, 25n, 0n, 0]));
    await admit(keyId, 100n, { id: 'v', tokens: 40n });
    await bench.ledger.void('v', keyId);
    assert.deepEqual(await figures(project, team, org), Array(3).fill([60n, 0n, 25n, 0n, 0]));
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.todaySpend, summary.lastCost], [60n, 60n, 60n]);
    await bench.close();
  });

  test('[F37] [R71] the first level that refuses decides, from the key upwards, and nothing is reserved anywhere', async () => {
    const { bench, org, team, project, key, figures, admit } = await openTree(open, 500n, [
      {},
      { creditCap: { amount: 300n, period: 'none' } },
      { tokenCap: { amount: 1_000n, period: 'none' } },
    ]);
    const keyId = await key(project, { cap: 100n });
    const free = await key(project);
    const refused = (rest: object) => ({ rate: null, ...rest });
    assert.deepEqual(
      await admit(keyId, 101n, { tokens: 9_000n }),
      refused({ kind: 'insufficient', available: 100n, ...byKey('credit') }),
    );
    assert.deepEqual(
      await admit(free, 301n, { tokens: 1_001n }),
      refused({ kind: 'insufficient', available: 1_000n, ...byAccount('tokens') }),
    );
    assert.deepEqual(
      await admit(free, 301n, { tokens: 1n }),
      refused({ kind: 'insufficient', available: 300n, ...byAccount('credit') }),
    );
    const above = await key(org);
    assert.deepEqual(
      await admit(above, 501n, { tokens: 1n }),
      refused({ kind: 'insufficient', available: 500n, ...byAccount('credit') }),
    );
    assert.deepEqual(await figures(project, team, org), Array(3).fill([0n, 0n, 0n, 0n, 0]));
    // What others hold at any level is in the way for a while only.
    assert.equal((await admit(above, 400n)).kind, 'admitted');
    const held = await admit(free, 200n);
    assert.ok(held.kind === 'temporarily_held' && held.level?.account === true && held.retryAfterMs >= 1_000);
    assert.deepEqual(await figures(project, team, org), [
      [0n, 0n, 0n, 0n, 0],
      [0n, 0n, 0n, 0n, 0],
      [0n, 400n, 0n, 0n, 1],
    ]);
    await bench.close();
  });

  test('[R14] a hold shrinks to what the poorest level carries, not under its minimum', async () => {
    const { bench, project, key, admit } = await openTree(open, 500n, [
      {},
      { creditCap: { amount: 300n, period: 'none' } },
      { tokenCap: { amount: 700n, period: 'none' } },
    ]);
    const keyId = await key(project);
    const wanted = { amountMin: 100n, tokens: 2_000n, tokensMin: 500n };
    assert.deepEqual(await admit(keyId, 1_000n, { id: 'h', ...wanted }), {
      kind: 'admitted',
      rate: null,
      held: 300n,
      heldTokens: 700n,
    });
    // Sent again, it finds its first outcome; also after its end.
    const again = await admit(keyId, 1_000n, { id: 'h', ...wanted });
    assert.ok(again.kind === 'admitted' && again.held === 300n && again.heldTokens === 700n);
    await bench.ledger.settle(settleRequest(keyId, 'h', 50n, { chargeTokens: 900n }));
    const late = await admit(keyId, 1_000n, { id: 'h', ...wanted });
    assert.ok(late.kind === 'admitted' && late.held === 300n && late.heldTokens === 700n);
    await bench.close();
  });

  test('[F37] token-budget keys never spend credit, and token caps of accounts count the keys of both modes', async () => {
    const { bench, org, team, key, figures, admit } = await openTree(open, 500n, [
      {},
      { tokenCap: { amount: 1_000n, period: 'none' } },
    ]);
    const tokens = await key(team, { mode: 'token_budget', budget: 5_000n });
    const credit = await key(team);
    assert.deepEqual(await admit(tokens, 600n, { id: 't' }), {
      kind: 'admitted',
      rate: null,
      held: 600n,
      heldTokens: 600n,
    });
    assert.equal((await admit(credit, 10n, { tokens: 401n })).kind, 'temporarily_held');
    assert.equal((await admit(credit, 10n, { id: 'c', tokens: 400n })).kind, 'admitted');
    await bench.ledger.settle(settleRequest(tokens, 't', 600n));
    await bench.ledger.settle(settleRequest(credit, 'c', 10n, { chargeTokens: 400n }));
    assert.deepEqual(await figures(team, org), Array(2).fill([10n, 0n, 1_000n, 0n, 0]));
    for (const keyId of [tokens, credit]) {
      assert.deepEqual(await admit(keyId, 1n, { tokens: 1n }), {
        kind: 'limit_reached',
        rate: null,
        available: 0n,
        retryAfterMs: 86_400_000,
        ...byAccount('tokens'),
      });
    }
    await bench.close();
  });

  test('[R11] the rate limit of an account counts every key below it; one refusal counts at no level', async () => {
    const { bench, org, project, key, admit } = await openTree(open, 500n, [{ rpmLimit: 3 }, {}, { rpmLimit: 2 }]);
    const { clock } = bench;
    const low = await key(project, { rpmLimit: 9 });
    const high = await key(org);
    assert.equal((await admit(low, 1n)).kind, 'admitted');
    clock.advance(10_000);
    assert.equal((await admit(low, 1n)).kind, 'admitted');
    // The project refuses: neither the key nor the organisation has counted it.
    const refused = await admit(low, 1n);
    assert.ok(refused.kind === 'account_rate_limited' && refused.rate?.remaining === 7);
    assert.equal(refused.retryAfterMs, 50_000);
    assert.equal((await admit(high, 1n)).kind, 'admitted');
    assert.deepEqual(await admit(high, 1n), { kind: 'account_rate_limited', rate: null, retryAfterMs: 50_000 });
    clock.advance(50_000);
    assert.equal((await admit(low, 1n)).kind, 'admitted');
    // The organisation refuses: the project, which would not, has not counted it.
    clock.advance(60_000);
    for (let taken = 0; taken < 3; taken++) assert.equal((await admit(high, 1n)).kind, 'admitted');
    clock.advance(30_000);
    assert.equal((await admit(low, 1n)).kind, 'account_rate_limited');
    clock.advance(30_000);
    assert.equal((await admit(low, 1n)).kind, 'admitted');
    assert.equal((await admit(low, 1n)).kind, 'admitted');
    await bench.close();
  });

  test('[R11] requests that come at once take exactly the places that the limits of their key and its accounts have', async () => {
    const { bench, project, key, admit } = await openTree(open, 500n, [{ rpmLimit: 5 }, {}, { rpmLimit: 4 }]);
    const [one, other] = [await key(project, { rpmLimit: 3 }), await key(project)];
    const burst = async (keyId: string): Promise<readonly string[]> => {
      const outcomes = await Promise.all(Array.from({ length: 6 }, () => admit(keyId, 1n)));
      return outcomes.map(({ kind }) => kind).sort();
    };
    const limited = 'rate_limited';
    assert.deepEqual(await burst(one), ['admitted', 'admitted', 'admitted', limited, limited, limited]);
    assert.deepEqual(await burst(other), [...Array.from({ length: 5 }, () => 'account_rate_limited'), 'admitted']);
    const refused = await admit(other, 1n);
    assert.ok(refused.kind === 'account_rate_limited' && refused.retryAfterMs === 60_000);
    bench.clock.advance(60_000);
    assert.deepEqual(await burst(one), ['admitted', 'admitted', 'admitted', limited, limited, limited]);
    await bench.close();
  });

  test('whether all holds of an account wait is decided with what ended and began at the same moment', async () => {
    const { bench, project, key, admit } = await openTree(open, 14n);
    const { ledger } = bench;
    const keyId = await key(project);
    await admit(keyId, 4n, { id: 'a' });
    await admit(keyId, 4n, { id: 'b' });
    await admit(keyId, 4n, { id: 'c' });
    assert.deepEqual(await ledger.extend({ holdId: 'a', keyId, amount: 11n }), { kind: 'temporarily_held' });
    // The one that begins does not wait.
    const [, began, waits] = await Promise.all([
      ledger.void('c', keyId),
      admit(keyId, 2n, { id: 'd' }),
      ledger.extend({ holdId: 'b', keyId, amount: 11n }),
    ]);
    assert.deepEqual([began.kind, waits.kind], ['admitted', 'temporarily_held']);
    assert.deepEqual(await ledger.extend({ holdId: 'a', keyId, amount: 11n }), { kind: 'temporarily_held' });
    // The one that ended is waited for no longer: of the two that are left, the younger one gives way.
    const [, gives] = await Promise.all([ledger.void('d', keyId), ledger.extend({ holdId: 'b', keyId, amount: 11n })]);
    assert.deepEqual(gives, { kind: 'insufficient' });
    await bench.close();
  });

  test('[R71] a suspended account refuses every key below it, at once; what runs is settled', async () => {
    const { bench, team, project, key, admit } = await openTree(open, 500n);
    const { ledger } = bench;
    const keyId = await key(project);
    await admit(keyId, 10n, { id: 'h' });
    assert.equal((await ledger.changeAccount(team, { status: 'suspended' })).kind, 'account');
    assert.deepEqual(await admit(keyId, 1n), { kind: 'account_refused', status: 'suspended' });
    assert.deepEqual(await ledger.settle(settleRequest(keyId, 'h', 7n)), { kind: 'settled', charged: 7n });
    await ledger.changeAccount(team, { status: 'active' });
    assert.equal((await admit(keyId, 1n)).kind, 'admitted');
    await bench.close();
  });

  test('[R17] caps renew themselves with their period; another period counts what was charged in it', async () => {
    const day = { creditCap: { amount: 100n, period: 'day' }, tokenCap: { amount: 1_000n, period: 'day' } } as const;
    const { bench, team, project, key, figures, admit } = await openTree(open, 5_000n, [{}, day]);
    const { ledger, clock } = bench;
    const keyId = await key(project, { cap: 150n, period: 'month' });
    const spend = async (amount: bigint) => {
      const id = randomUUID();
      assert.equal((await admit(keyId, amount, { id, tokens: 300n })).kind, 'admitted');
      await ledger.settle(settleRequest(keyId, id, amount, { chargeTokens: 300n }));
    };
    await spend(90n);
    assert.deepEqual(await admit(keyId, 20n), {
      kind: 'insufficient',
      rate: null,
      available: 10n,
      ...byAccount('credit'),
    });
    await spend(10n);
    const reached = await admit(keyId, 0n);
    assert.ok(reached.kind === 'limit_reached' && reached.retryAfterMs === 12 * 3_600_000);
    clock.set('2026-03-11T00:00:00Z');
    await spend(40n);
    assert.deepEqual(await admit(keyId, 11n), { kind: 'insufficient', rate: null, available: 10n, ...byKey('credit') });
    const creditUsed = async () => (await ledger.getAccount(team))?.creditUsed;
    assert.equal(await creditUsed(), 40n);
    await ledger.changeAccount(team, { creditCap: { amount: 200n, period: 'week' } });
    assert.equal(await creditUsed(), 140n);
    assert.deepEqual(await figures(team), [[140n, 0n, 300n, 0n, 0]]);
    await ledger.changeAccount(team, { tokenCap: null });
    assert.equal((await ledger.getAccount(team))?.tokensUsed, 900n);
    await bench.close();
  });

  test('[F37] an extension is reserved at every level or at none', async () => {
    const { bench, org, team, project, key, figures, admit } = await openTree(open, 500n, [
      {},
      { tokenCap: { amount: 1_000n, period: 'none' } },
    ]);
    const { ledger } = bench;
    const keyId = await key(project);
    await admit(keyId, 100n, { id: 'h', tokens: 300n });
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 200n, tokens: 600n }), {
      kind: 'extended',
      held: 200n,
      heldTokens: 600n,
    });
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 150n, tokens: 100n }), {
      kind: 'extended',
      held: 200n,
      heldTokens: 600n,
    });
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 501n, tokens: 600n }), { kind: 'insufficient' });
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 300n, tokens: 1_001n }), {
      kind: 'insufficient',
    });
    assert.deepEqual(await figures(project, team, org), Array(3).fill([0n, 200n, 0n, 600n, 1]));
    const other = await key(org);
    await admit(other, 300n, { id: 'o' });
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 201n, tokens: 600n }), {
      kind: 'temporarily_held',
    });
    await ledger.void('o', other);
    assert.deepEqual(await ledger.extend({ holdId: 'h', keyId, amount: 500n, tokens: 1_000n }), {
      kind: 'extended',
      held: 500n,
      heldTokens: 1_000n,
    });
    await bench.close();
  });

  test('[R13] [F47] an extension that will do with less gets what every level leaves, in its unit', async () => {
    const { bench, org, team, project, key, figures, admit } = await openTree(open, 500n, [
      {},
      { tokenCap: { amount: 1_000n, period: 'none' } },
    ]);
    const { ledger } = bench;
    const keyId = await key(project);
    const other = await key(org);
    await admit(keyId, 100n, { id: 'h', tokens: 300n });
    await admit(other, 300n, { id: 'o' });
    const all = { holdId: 'h', keyId, amount: 400n, tokens: 5_000n };
    assert.deepEqual(await ledger.extend({ ...all, amountMin: 201n, tokensMin: 0n }), { kind: 'temporarily_held' });
    assert.deepEqual(await ledger.extend({ ...all, amountMin: 0n, tokensMin: 1_001n }), { kind: 'insufficient' });
    const taken = { kind: 'extended', held: 200n, heldTokens: 1_000n };
    assert.deepEqual(await ledger.extend({ ...all, amountMin: 150n, tokensMin: 1_000n }), taken);
    assert.deepEqual(await ledger.extend({ ...all, amountMin: 0n, tokensMin: 0n }), taken);
    assert.deepEqual(await figures(project, team), Array(2).fill([0n, 200n, 0n, 1_000n, 1]));
    await ledger.void('o', other);
    await ledger.settle({ ...settleRequest(keyId, 'h', 150n), chargeTokens: 900n });

    const budgeted = await key(project, { mode: 'token_budget', budget: 90n });
    await admit(budgeted, 20n, { id: 'b' });
    const most = { holdId: 'b', keyId: budgeted, amount: 95n };
    assert.deepEqual(await ledger.extend({ ...most, amountMin: 91n }), { kind: 'insufficient' });
    assert.deepEqual(await ledger.extend({ ...most, amountMin: 0n }), { kind: 'extended', held: 90n, heldTokens: 90n });
    await bench.close();
  });

  test('[R13] room for others of its size is asked for at every level', async () => {
    const tokenCap = { amount: 1_000n, period: 'none' } as const;
    const { bench, project, key, admit } = await openTree(open, 500n, [{}, { tokenCap }]);
    const keyId = await key(project);
    assert.equal((await admit(keyId, 130n, { tokens: 10n, room: 3 })).kind, 'temporarily_held');
    assert.equal((await admit(keyId, 10n, { tokens: 260n, room: 3 })).kind, 'temporarily_held');
    assert.equal((await admit(keyId, 120n, { tokens: 250n, room: 3 })).kind, 'admitted');
    await bench.close();
  });

  test('where all holds below an account wait for each other, the youngest gives way, whatever key it is of', async () => {
    const { bench, org, project, key, admit } = await openTree(open, 100n);
    const { ledger, clock } = bench;
    const [low, high] = [await key(project), await key(org)];
    await admit(low, 40n, { id: 'older' });
    clock.advance(1);
    await admit(high, 40n, { id: 'younger' });
    assert.deepEqual(await ledger.extend({ holdId: 'older', keyId: low, amount: 90n }), { kind: 'temporarily_held' });
    assert.deepEqual(await ledger.extend({ holdId: 'younger', keyId: high, amount: 90n }), { kind: 'insufficient' });
    await ledger.void('younger', high);
    assert.deepEqual(await ledger.extend({ holdId: 'older', keyId: low, amount: 90n }), {
      kind: 'extended',
      held: 90n,
      heldTokens: 0n,
    });
    await bench.close();
  });

  test('[F2] [F37] what a dead process marked is charged at every level, the rest released', async () => {
    const { bench, org, team, project, key, figures } = await openTree(open, 500n);
    const keyId = await key(project);
    const dying = await bench.another({ leaseMs: 10_000 });
    const hold = (id: string) => ({ id, amount: 100n, amountMin: 100n, tokens: 50n, ttlMs: 600_000 });
    await dying.admit(admitRequest(keyId, 'marked', 100n, { hold: hold('marked') }));
    await dying.admit(admitRequest(keyId, 'unmarked', 100n, { hold: hold('unmarked') }));
    const tokens = { input: 10, cacheRead: 1, cacheWrite: 1, cacheWrite1h: 1, output: 7, reasoning: 3 };
    dying.mark({ holdId: 'marked', keyId, charge: 30n, tokens });
    await dying.ping();
    bench.clock.advance(10_000);
    await recoverAll(bench.ledger);
    assert.deepEqual(await figures(project, team, org), Array(3).fill([30n, 0n, 20n, 0n, 0]));
    await bench.close();
  });
}
