import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AMOUNT_MAX } from '../../src/core/money.ts';
import type { KeyListQuery } from '../../src/ledger/port.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { Bench, newAccount, newKey, type OpenBooks } from './fixtures.ts';

export function keyContract(open: OpenBooks): void {
  test('keys that expire are found in the order in which they do, a page at a time, without revoked ones', async () => {
    const bench = await Bench.open(open);
    const now = bench.clock.nowMs();
    const create = async (id: string, inMs: number | null) =>
      (await bench.ledger.createKey(newKey({ id, expiresAtMs: inMs === null ? null : now + inMs }))).id;
    for (const [id, inMs] of [
      ['k3', 2_000],
      ['k1', 1_000],
      ['k2', 1_000],
      ['k4', 3_000],
      ['k5', null],
      ['k6', 1_500],
    ] as const) {
      await create(id, inMs);
    }
    await bench.ledger.changeKey('k6', { status: 'revoked' });
    const from = { atMs: now, keyId: '' };
    const first = await bench.ledger.expiringKeys(from, now + 2_000, 2);
    assert.deepEqual(first, [
      { atMs: now + 1_000, keyId: 'k1' },
      { atMs: now + 1_000, keyId: 'k2' },
    ]);
    assert.deepEqual(await bench.ledger.expiringKeys(first[0] ?? from, now + 2_000, 9), [
      { atMs: now + 1_000, keyId: 'k2' },
      { atMs: now + 2_000, keyId: 'k3' },
    ]);
    await bench.close();
  });

  test('a key is found by the digest of each of its secrets, and by no other', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const request = newKey({ credit: 5n, label: 'team', models: ['a', 'b'], rpmLimit: 7, providerScope: 'sandbox-a' });
    const created = await ledger.createKey(request);
    const { secret, credit, ...rest } = request;
    assert.equal(credit, 5n);
    assert.deepEqual(created, {
      ...rest,
      version: 1,
      inherited: [],
      captureDays: null,
      status: 'active',
      createdAtMs: bench.clock.nowMs(),
      prefix: secret.prefix,
    });
    assert.deepEqual(await ledger.findKey(secret.digest), created);
    assert.equal(await ledger.findKey('digest-of-nobody'), null);

    const added = await ledger.addSecret(created.id, 'second-digest', 'mg_c_0000002');
    assert.equal(added.kind, 'changed');
    const found = await ledger.findKey('second-digest');
    assert.equal(found?.prefix, 'mg_c_0000002');
    assert.equal(found?.version, 2);
    assert.deepEqual(await ledger.findKey(secret.digest), found);
    await bench.close();
  });

  test('a revoked secret finds nothing any more, and the last one cannot be revoked', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const request = newKey();
    await ledger.createKey(request);
    await ledger.addSecret(request.id, 'second-digest', 'mg_c_0000002');
    const revoked = await ledger.revokeSecret(request.id, request.secret.prefix);
    assert.equal(revoked.kind === 'changed' && revoked.key.version, 3);
    assert.equal(await ledger.findKey(request.secret.digest), null);
    assert.equal((await ledger.revokeSecret(request.id, 'mg_c_0000002')).kind, 'refused');
    assert.deepEqual((await ledger.getKey(request.id))?.secretPrefixes, ['mg_c_0000002']);
    assert.equal((await ledger.revokeSecret('nobody', 'mg_c_0000002')).kind, 'unknown_key');
    await bench.close();
  });

  test('creating a key again, or adding its secret again, changes nothing; another key under its id is an error', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const request = newKey({ credit: 5n });
    const created = await ledger.createKey(request);
    assert.deepEqual(await ledger.createKey(request), created);
    assert.equal((await bench.summary(request.id)).purchased, 5n);
    await assert.rejects(ledger.createKey({ ...request, secret: { digest: 'other', prefix: 'x' } }), StoreError);
    assert.deepEqual(await ledger.addSecret(request.id, request.secret.digest, request.secret.prefix), {
      kind: 'changed',
      key: created,
    });
    const other = newKey();
    await ledger.createKey(other);
    assert.equal((await ledger.addSecret(other.id, request.secret.digest, 'x')).kind, 'refused');
    await bench.close();
  });

  test('[R2] status moves between active, suspended and disabled; revoked is final', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1n);
    let version = 1;
    for (const status of ['suspended', 'disabled', 'active', 'disabled', 'suspended', 'active'] as const) {
      const outcome = await bench.ledger.changeKey(keyId, { status });
      version++;
      assert.equal(outcome.kind === 'changed' && outcome.key.status, status);
      assert.equal(outcome.kind === 'changed' && outcome.key.version, version);
    }
    assert.equal((await bench.ledger.changeKey(keyId, { expiresAtMs: 5 })).kind, 'changed');
    assert.equal((await bench.ledger.changeKey(keyId, { expiresAtMs: null })).kind, 'changed');
    for (const captureDays of [7, null]) {
      await bench.ledger.changeKey(keyId, { captureDays });
      assert.equal((await bench.ledger.getKey(keyId))?.key.captureDays, captureDays);
    }
    assert.equal((await bench.ledger.changeKey(keyId, { captureDays: 0 })).kind, 'refused');
    assert.equal((await bench.ledger.changeKey(keyId, { status: 'revoked' })).kind, 'changed');
    assert.equal((await bench.ledger.changeKey(keyId, { status: 'revoked' })).kind, 'changed');
    for (const status of ['suspended', 'disabled', 'active'] as const) {
      assert.equal((await bench.ledger.changeKey(keyId, { status })).kind, 'refused');
    }
    assert.equal((await bench.ledger.changeKey(keyId, { expiresAtMs: 5 })).kind, 'refused');
    assert.equal((await bench.ledger.addSecret(keyId, 'd', 'p')).kind, 'refused');
    assert.equal((await bench.ledger.changeKey('nobody', { label: 'x' })).kind, 'unknown_key');
    await bench.close();
  });

  test('a change that changes nothing leaves the version; a wrong one is refused', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1n, { label: 'a', models: ['m'] });
    const same = await bench.ledger.changeKey(keyId, { label: 'a', models: ['m'] });
    assert.equal(same.kind === 'changed' && same.key.version, 1);
    assert.equal((await bench.ledger.changeKey(keyId, { budget: 5n })).kind, 'refused');
    assert.equal((await bench.ledger.changeKey(keyId, { rpmLimit: 0 })).kind, 'refused');
    assert.equal((await bench.ledger.changeKey(keyId, { rpmLimit: 1.5 })).kind, 'refused');
    const budgetId = await bench.budgetKey(5n);
    assert.equal((await bench.ledger.changeKey(budgetId, { budget: -1n })).kind, 'refused');
    assert.equal((await bench.ledger.changeKey(budgetId, { budget: AMOUNT_MAX + 1n })).kind, 'refused');
    await bench.close();
  });

  test('[R56] a purchase is booked once under its id, and never beyond what 64 bits hold', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(5n);
    const added = await ledger.addCredit(keyId, 'order-1', 10n, 'top-up');
    assert.equal(added.kind === 'added' && added.balance, 15n);
    const again = await ledger.addCredit(keyId, 'order-1', 10n, 'top-up');
    assert.equal(again.kind === 'added' && again.balance, 15n);
    assert.equal((await ledger.addCredit(keyId, 'order-1', 11n, null)).kind, 'refused');
    assert.equal((await ledger.addCredit(keyId, 'order-2', 0n, null)).kind, 'refused');
    assert.equal((await ledger.addCredit(keyId, 'order-2', -1n, null)).kind, 'refused');
    assert.equal((await ledger.addCredit(keyId, 'order-2', AMOUNT_MAX - 14n, null)).kind, 'refused');
    const full = await ledger.addCredit(keyId, 'order-2', AMOUNT_MAX - 15n, null);
    assert.equal(full.kind === 'added' && full.balance, AMOUNT_MAX);
    assert.equal((await bench.summary(keyId)).purchased, AMOUNT_MAX);
    assert.equal((await ledger.addCredit('nobody', 'order-1', 1n, null)).kind, 'unknown_key');
    assert.equal((await ledger.addCredit(await bench.budgetKey(5n), 'order-1', 1n, null)).kind, 'refused');
    await bench.close();
  });

  test('keys are listed a page at a time, and by what is asked for', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const account = newAccount();
    await ledger.createAccount(account);
    const old = await bench.creditKey(5n, { label: 'Old Elan', expiresAtMs: clock.nowMs() + 1_000 });
    const budget = await bench.budgetKey(7n);
    const team = newKey({ accountId: account.id, label: 'team' });
    await ledger.createKey(team);
    clock.advance(1_000);
    const newest = await bench.creditKey(1n, { label: 'team' });
    const listed = async (query: KeyListQuery) => (await ledger.listKeys(query)).map(({ key }) => key.id);

    assert.deepEqual(await listed({}), [newest, team.id, budget, old]);
    assert.deepEqual(await listed({ limit: 2 }), [newest, team.id]);
    assert.deepEqual(await listed({ limit: 2, after: team.id }), [budget, old]);
    assert.deepEqual(await listed({ after: old }), []);
    assert.deepEqual(await listed({ after: 'key_unknown' }), []);
    assert.deepEqual(await listed({ status: 'expired' }), [old]);
    assert.deepEqual(await listed({ status: 'active', mode: 'credit' }), [newest, team.id]);
    assert.deepEqual(await listed({ label: 'team' }), [newest, team.id]);
    assert.deepEqual(await listed({ label: 'tea' }), []);
    assert.deepEqual(await listed({ accountId: account.id }), [team.id]);
    assert.deepEqual(await listed({ accountId: 'acc_other' }), []);
    assert.deepEqual(await listed({ accountId: null }), [newest, budget, old]);
    assert.deepEqual(await listed({ accountId: null, below: true, mode: 'credit', limit: 1 }), [newest]);
    assert.deepEqual(await listed({ accountId: null, label: 'team', after: newest }), []);
    assert.deepEqual(await listed({ search: 'OLD el' }), [old]);
    assert.deepEqual(await listed({ search: budget.toUpperCase() }), [budget]);
    assert.equal((await listed({ search: 'MG_C_0000001' })).length, 4);
    assert.deepEqual(await listed({ search: '%' }), []);
    assert.deepEqual(await ledger.keyIds(account.id), [team.id]);
    assert.deepEqual((await ledger.keyIds(null)).toSorted(), [newest, budget, old].toSorted());
    await bench.close();
  });

  test('[R1] keys are listed newest first with their status, expired by the clock alone', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const first = await bench.creditKey(5n, { expiresAtMs: clock.nowMs() + 1_000 });
    clock.advance(10);
    const second = await bench.budgetKey(7n);
    await bench.spend(second, 3n);
    await ledger.addSecret(second, 'second-digest', 'mg_t_0000002');
    const before = await ledger.listKeys();
    assert.deepEqual(
      before.map(({ key, status, secretPrefixes, periodUsed, purchased }) => [
        key.id,
        status,
        secretPrefixes,
        periodUsed,
        purchased,
      ]),
      [
        [second, 'active', ['mg_t_0000002', 'mg_c_0000001'], 3n, 0n],
        [first, 'active', ['mg_c_0000001'], 0n, 5n],
      ],
    );
    clock.advance(990);
    const expired = await ledger.getKey(first);
    assert.equal(expired?.status, 'expired');
    assert.equal(expired?.key.status, 'active');
    assert.equal(await ledger.getKey('nobody'), null);
    assert.equal(await ledger.summary('nobody'), null);
    await bench.close();
  });
}
