/** Limits on tokens per minute and on parallel requests, of keys and of accounts. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import type { AdmitOutcome, AdmitRequest, NewAccount } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';

const TOKENS = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0, reasoning: 0 };

/** A request of so much input; says under which hold, and how it went. */
async function ask(
  bench: Bench,
  keyId: string,
  inputTokens: number,
  change: Partial<AdmitRequest> = {},
): Promise<[string, AdmitOutcome]> {
  const id = randomUUID();
  const hold = { id, amount: 1n, amountMin: 1n, ttlMs: 600_000, inputTokens };
  return [id, await bench.ledger.admit(admitRequest(keyId, id, 1n, { hold, ...change }))];
}

async function answer(bench: Bench, keyId: string, holdId: string, output: number): Promise<void> {
  const usage = usageRecord({ tokens: { ...TOKENS, output } });
  assert.equal((await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { usage }))).kind, 'settled');
}

const tokensLimited = (retryAfterMs: number, account = false, tooLarge = false) => ({
  kind: 'tokens_limited',
  rate: null,
  account,
  retryAfterMs,
  tooLarge,
});
const parallelLimited = (account: boolean) => ({
  kind: 'parallel_limited',
  rate: null,
  account,
  retryAfterMs: 1_000,
  tooLarge: false,
});

export function limitsContract(open: OpenBooks): void {
  test('[R72] tokens per minute: input counts at admission, output when it settles; the wait is exact', async () => {
    const bench = await Bench.open(open);
    const { clock } = bench;
    const keyId = await bench.creditKey(1_000n, { tpmLimit: 100 });
    const [first] = await ask(bench, keyId, 40);
    clock.advance(10_000);
    const [, second] = await ask(bench, keyId, 60);
    assert.equal(second.kind, 'admitted');
    assert.deepEqual((await ask(bench, keyId, 1))[1], tokensLimited(50_000));
    // For more input than the first request leaves, the second must be old too.
    assert.deepEqual((await ask(bench, keyId, 41))[1], tokensLimited(60_000));
    clock.advance(10_000);
    await answer(bench, keyId, first, 30);
    clock.advance(39_999);
    assert.deepEqual((await ask(bench, keyId, 10))[1], tokensLimited(1));
    clock.advance(1);
    assert.deepEqual((await ask(bench, keyId, 11))[1], tokensLimited(10_000));
    assert.equal((await ask(bench, keyId, 10))[1].kind, 'admitted');
    await bench.close();
  });

  test('[R72] whoever needs more tokens than the oldest request leaves waits for those in the middle', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n, { tpmLimit: 100 });
    for (const tokens of [40, 40, 20]) {
      assert.equal((await ask(bench, keyId, tokens))[1].kind, 'admitted');
      bench.clock.advance(10_000);
    }
    assert.deepEqual((await ask(bench, keyId, 60))[1], tokensLimited(40_000));
    await bench.close();
  });

  test('[R72] output may exceed the limit; what follows waits until it is old', async () => {
    const bench = await Bench.open(open);
    const { clock, ledger } = bench;
    const keyId = await bench.budgetKey(null, { tpmLimit: 50 });
    const [first] = await ask(bench, keyId, 10);
    await answer(bench, keyId, first, 500);
    // An end that is sent again counts once.
    await ledger.settle(
      settleRequest(keyId, first, 1n, { usage: usageRecord({ tokens: { ...TOKENS, output: 500 } }) }),
    );
    assert.deepEqual((await ask(bench, keyId, 1))[1], tokensLimited(60_000));
    clock.advance(60_000);
    // A cancelled call has no usage record, and one that was given up has no output.
    const [cancelled] = await ask(bench, keyId, 10);
    await ledger.settle(settleRequest(keyId, cancelled, 1n, { outputTokens: 15 }));
    const [given] = await ask(bench, keyId, 10);
    await ledger.void(given, keyId);
    assert.equal((await ask(bench, keyId, 15))[1].kind, 'admitted');
    assert.deepEqual((await ask(bench, keyId, 1))[1], tokensLimited(60_000));
    await bench.close();
  });

  test('[R72] input that is more than the whole limit is never admitted, and counts nothing', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n, { tpmLimit: 100 });
    assert.deepEqual((await ask(bench, keyId, 101))[1], tokensLimited(60_000, false, true));
    assert.equal((await ask(bench, keyId, 100))[1].kind, 'admitted');
    await bench.close();
  });

  test('[R72] parallel requests: as many holds may be live; ended, voided and recovered ones make room', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const keyId = await bench.creditKey(1_000n, { parallelLimit: 2 });
    const [first] = await ask(bench, keyId, 1);
    const [second] = await ask(bench, keyId, 1);
    assert.deepEqual((await ask(bench, keyId, 1))[1], parallelLimited(false));
    // An operation that holds nothing is no parallel request.
    assert.equal((await ask(bench, keyId, 1, { hold: null }))[1].kind, 'admitted');
    await ledger.void(first, keyId);
    const [third, again] = await ask(bench, keyId, 1);
    assert.equal(again.kind, 'admitted');
    assert.equal((await ask(bench, keyId, 1))[1].kind, 'parallel_limited');
    await answer(bench, keyId, second, 1);
    assert.equal((await ask(bench, keyId, 1))[1].kind, 'admitted');
    // Sent again, an admission finds itself: it does not stand in its own way.
    const repeat = admitRequest(keyId, third, 1n);
    assert.equal((await ledger.admit(repeat)).kind, 'admitted');
    clock.advance(600_001);
    await recoverAll(ledger);
    assert.equal((await ask(bench, keyId, 1))[1].kind, 'admitted');
    await bench.close();
  });

  test('[R72] a request that one limit refuses counts in no other', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n, { rpmLimit: 2, tpmLimit: 10, parallelLimit: 1 });
    const [first] = await ask(bench, keyId, 6);
    const remaining = ([, outcome]: [string, AdmitOutcome]) => 'rate' in outcome && outcome.rate?.remaining;
    const tooMany = await ask(bench, keyId, 5);
    assert.deepEqual([tooMany[1].kind, remaining(tooMany)], ['tokens_limited', 1]);
    const parallel = await ask(bench, keyId, 1);
    assert.deepEqual([parallel[1].kind, remaining(parallel)], ['parallel_limited', 1]);
    await bench.ledger.void(first, keyId);
    assert.equal((await ask(bench, keyId, 4))[1].kind, 'admitted');
    // Whoever is refused for another reason has not used tokens either.
    const poor = await bench.creditKey(0n, { tpmLimit: 10 });
    assert.equal((await ask(bench, poor, 10))[1].kind, 'insufficient');
    await bench.ledger.addCredit(poor, 'late', 5n, null);
    assert.equal((await ask(bench, poor, 10))[1].kind, 'admitted');
    await bench.close();
  });

  test('[R71] [R72] limits of accounts count every key below them; a refusal counts at no level', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const account = async (change: Partial<NewAccount>): Promise<string> => {
      const request = newAccount(change);
      assert.equal((await ledger.createAccount(request)).kind, 'account');
      return request.id;
    };
    const org = await account({ tpmLimit: 100 });
    await ledger.addAccountCredit(org, 'first', 1_000n, null);
    const team = await account({ parentId: org, parallelLimit: 2 });
    const key = async (accountId: string, tpmLimit: number | null = null) =>
      (await ledger.createKey(newKey({ accountId, tpmLimit }))).id;
    const [one, two, above] = [await key(team, 90), await key(team), await key(org)];
    const [running] = await ask(bench, one, 50);
    await ask(bench, two, 20);
    assert.deepEqual((await ask(bench, two, 1))[1], parallelLimited(true));
    assert.deepEqual((await ask(bench, above, 31))[1], tokensLimited(60_000, true));
    // What the team refused is not counted by the organisation, nor by the key.
    assert.equal((await ask(bench, above, 30))[1].kind, 'admitted');
    clock.advance(30_000);
    await answer(bench, one, running, 70);
    clock.advance(30_000);
    // The output of the first key counts for everybody below the organisation, and for the key itself.
    assert.deepEqual((await ask(bench, above, 31))[1], tokensLimited(30_000, true));
    assert.deepEqual((await ask(bench, one, 21))[1], tokensLimited(30_000));
    assert.equal((await ask(bench, above, 30))[1].kind, 'admitted');
    await bench.close();
  });

  test('[R72] the wait is exact for a key that was used before its account had the limit, beside one that was used since', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const org = newAccount();
    await ledger.createAccount(org);
    await ledger.addAccountCredit(org.id, 'first', 1_000n, null);
    const key = async () => (await ledger.createKey(newKey({ accountId: org.id }))).id;
    const [before, since] = [await key(), await key()];
    assert.equal((await ask(bench, before, 1))[1].kind, 'admitted');
    await ledger.changeAccount(org.id, { tpmLimit: 59 });
    for (const tokens of [18, 24, 11]) {
      assert.equal((await ask(bench, since, tokens, { keyVersion: 2 }))[1].kind, 'admitted');
      clock.advance(1_000);
    }
    const [[, admitted], [, refused]] = await Promise.all([
      ask(bench, since, 1, { keyVersion: 2 }),
      ask(bench, before, 27, { keyVersion: 2 }),
    ]);
    assert.equal(admitted.kind, 'admitted');
    // The second of the three must be old as well.
    assert.deepEqual(refused, tokensLimited(58_000, true));
    await bench.close();
  });

  test('[R72] limits that are set, changed and removed count from then on', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(1_000n);
    const asks = async (inputTokens: number, keyVersion: number) =>
      (await ask(bench, keyId, inputTokens, { keyVersion }))[1].kind;
    assert.equal(await asks(500, 1), 'admitted');
    assert.equal((await ledger.changeKey(keyId, { tpmLimit: 10, parallelLimit: 2 })).kind, 'changed');
    assert.equal(await asks(10, 2), 'admitted');
    assert.equal(await asks(1, 2), 'tokens_limited');
    assert.equal((await ledger.changeKey(keyId, { tpmLimit: null })).kind, 'changed');
    assert.equal(await asks(500, 3), 'parallel_limited');
    assert.equal((await ledger.changeKey(keyId, { parallelLimit: null })).kind, 'changed');
    assert.equal(await asks(500, 4), 'admitted');
    assert.equal((await ledger.changeKey(keyId, { tpmLimit: 0 })).kind, 'refused');
    assert.equal((await ledger.changeKey(keyId, { parallelLimit: 0.5 })).kind, 'refused');
    await assert.rejects(bench.creditKey(1n, { tpmLimit: -1 }), /tokens per minute/);
    await bench.close();
  });

  test('[R72] together, any number of processes admit no more than the limits', async () => {
    const bench = await Bench.open(open);
    const others = await Promise.all([bench.another(), bench.another()]);
    const keyId = await bench.creditKey(1_000n, { tpmLimit: 100, parallelLimit: 7 });
    const outcomes = await Promise.all(
      [bench.ledger, ...others].flatMap((ledger) =>
        Array.from({ length: 8 }, () => {
          const id = randomUUID();
          const hold = { id, amount: 1n, amountMin: 1n, ttlMs: 600_000, inputTokens: 20 };
          return ledger.admit(admitRequest(keyId, id, 1n, { hold }));
        }),
      ),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'admitted').length, 5);
    const small = await bench.creditKey(1_000n, { parallelLimit: 7 });
    const held = await Promise.all(
      [bench.ledger, ...others].flatMap((ledger) =>
        Array.from({ length: 8 }, () => ledger.admit(admitRequest(small, randomUUID(), 1n))),
      ),
    );
    assert.equal(held.filter(({ kind }) => kind === 'admitted').length, 7);
    await bench.close();
  });

  test('[R71] a key carries what its accounts allow; whoever decides by an old copy is told so', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const org = newAccount({ models: ['a/*'], addresses: ['10.0.0.0/8'] });
    const team = newAccount({ parentId: org.id });
    const other = newAccount({ parentId: org.id, outputLimit: 500 });
    for (const each of [org, team, other]) assert.equal((await ledger.createAccount(each)).kind, 'account');
    const made = await ledger.createKey(newKey({ accountId: team.id }));
    const ofOrg = { models: ['a/*'], outputLimit: null, addresses: ['10.0.0.0/8'], tpmLimited: false };
    const ofOther = { models: null, outputLimit: 500, addresses: null, tpmLimited: false };
    assert.deepEqual([made.inherited, made.version], [[ofOrg], 1]);
    await ledger.changeAccount(team.id, { name: 'renamed', rpmLimit: 5 });
    const keyNow = async () => (await ledger.getKey(made.id))?.key;
    assert.equal((await keyNow())?.version, 1);
    await ledger.changeAccount(org.id, { addresses: null });
    const changed = (await ask(bench, made.id, 1))[1];
    assert.ok(changed.kind === 'key_changed');
    assert.deepEqual([changed.key.inherited, changed.key.version], [[{ ...ofOrg, addresses: null }], 2]);
    await ledger.moveAccount(team.id, other.id);
    assert.deepEqual((await keyNow())?.inherited, [ofOther, { ...ofOrg, addresses: null }]);
    await ledger.moveKey(made.id, org.id);
    assert.deepEqual((await keyNow())?.inherited, [{ ...ofOrg, addresses: null }]);
    await ledger.changeAccount(org.id, { models: null, tpmLimit: 90 });
    const limited = { models: null, outputLimit: null, addresses: null, tpmLimited: true };
    assert.deepEqual([(await keyNow())?.inherited, (await keyNow())?.version], [[limited], 5]);
    await ledger.changeAccount(org.id, { tpmLimit: 80 });
    assert.equal((await keyNow())?.version, 5);
    await ledger.changeAccount(org.id, { models: ['a/*'], tpmLimit: null });
    const lone = await ledger.createKey(newKey({ credit: 5n, outputLimit: 7, addresses: ['::1'], models: ['b'] }));
    assert.deepEqual([lone.outputLimit, lone.addresses, lone.models, lone.inherited], [7, ['::1'], ['b'], []]);
    await ledger.joinAccount(lone.id, other.id, 'crossing');
    const joined = (await ledger.findKey(`digest-${lone.id}`)) ?? lone;
    assert.deepEqual(joined.inherited, [ofOther, { ...ofOrg, addresses: null }]);
    assert.deepEqual([joined.outputLimit, joined.addresses], [7, ['::1']]);
    await bench.close();
  });
}
