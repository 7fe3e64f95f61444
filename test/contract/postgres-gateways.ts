/** Gateways that share one database: what they do at the same time. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createLedger, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { overlapping, untilWaitedFor } from '../support/overlap.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, replicas, server, template } from './postgres-books.ts';

/** A root with this much credit, three accounts below it, and eight keys at all levels. The root is the first account. */
async function tree(ledger: OwnedLedger, credit: bigint): Promise<{ keys: string[]; accounts: string[] }> {
  const root = newAccount({ name: 'root' });
  const left = newAccount({ name: 'left', parentId: root.id });
  const right = newAccount({ name: 'right', parentId: root.id });
  const low = newAccount({ name: 'low', parentId: left.id });
  const accounts = [root, left, right, low];
  for (const account of accounts) assert.equal((await ledger.createAccount(account)).kind, 'account');
  await ledger.addAccountCredit(root.id, 'first', credit, null);
  const keys: string[] = [];
  for (let i = 0; i < 8; i++) {
    keys.push((await ledger.createKey(newKey({ accountId: accounts[i % 4]?.id ?? null }))).id);
  }
  return { keys, accounts: accounts.map(({ id }) => id) };
}

async function deadlocks(database: string): Promise<number> {
  const rows = await server.query('postgres', `SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`);
  return Number(only(rows).deadlocks);
}

export function severalGateways(): void {
  describe('several gateways on one database', () => {
    test('[F27] [R11] the requests per minute at the boundary over four gateways are never above the limit', async () => {
      const clock = new ManualClock();
      const { database, ledgers } = await replicas(4, clock);
      const key = await (ledgers[0] as OwnedLedger).createKey(newKey({ credit: 10n, rpmLimit: 7 }));
      const burst = async (): Promise<number> => {
        const outcomes = await Promise.all(
          Array.from({ length: 40 }, (_, i) =>
            ledgers[i % 4]?.admit(admitRequest(key.id, randomUUID(), 1n, { hold: null })),
          ),
        );
        return outcomes.filter((outcome) => outcome?.kind === 'admitted').length;
      };
      // The batches of all four have read the account before one of them has written anything.
      const overlap = (): Promise<number> => overlapping(server, database, ['accounts', 'rates'], 4, burst);
      assert.equal(await overlap(), 7);
      clock.advance(59_999);
      assert.equal(await burst(), 0);
      clock.advance(1);
      assert.equal(await overlap(), 7);
      assert.equal(await burst(), 0);
      await closeAll(ledgers);
    });

    test('[F12] 64 parallel requests over four gateways with balance for one: exactly one is admitted', async () => {
      const { database, ledgers } = await replicas(4);
      for (let round = 0; round < 5; round++) {
        const key = await (ledgers[0] as OwnedLedger).createKey(newKey({ credit: 10n }));
        const outcomes = await overlapping(server, database, ['accounts', 'holds'], 4, () =>
          Promise.all(
            Array.from({ length: 64 }, (_, i) => ledgers[i % 4]?.admit(admitRequest(key.id, randomUUID(), 10n))),
          ),
        );
        const kinds = outcomes.map((outcome) => outcome?.kind).sort();
        assert.deepEqual(kinds, ['admitted', ...Array<string>(63).fill('temporarily_held')]);
      }
      await closeAll(ledgers);
    });

    test('[F12] settlements, extensions and purchases over four gateways that meet: none of them is lost', async () => {
      const { database, ledgers } = await replicas(4);
      const [first] = ledgers as [OwnedLedger];
      const key = await first.createKey(newKey({ credit: 1_000n }));
      const holds = await Promise.all(
        ledgers.map(async (ledger) => {
          const id = randomUUID();
          assert.equal((await ledger.admit(admitRequest(key.id, id, 100n))).kind, 'admitted');
          return id;
        }),
      );
      const [one = '', two = '', three = ''] = holds;
      // Three of them at the hot connections, one purchase at an operator's.
      await overlapping(server, database, ['accounts', 'holds', 'entries'], 4, () =>
        Promise.all([
          ledgers[0]?.settle(settleRequest(key.id, one, 10n)),
          ledgers[1]?.settle(settleRequest(key.id, two, 20n)),
          ledgers[2]?.extend({ holdId: three, keyId: key.id, amount: 300n }),
          ledgers[3]?.addCredit(key.id, randomUUID(), 500n, null),
        ]),
      );
      const summary = await first.summary(key.id);
      assert.deepEqual([summary?.used, summary?.reserved, summary?.purchased], [30n, 400n, 1_500n]);
      await closeAll(ledgers);
    });

    test('[F12] [F37] 64 parallel requests below one root over three gateways with credit for one: exactly one is admitted', async () => {
      const { database, ledgers } = await replicas(3);
      const [first] = ledgers as [OwnedLedger];
      for (let round = 0; round < 3; round++) {
        const { keys, accounts } = await tree(first, 10n);
        const outcomes = await overlapping(server, database, ['accounts', 'tree_accounts', 'holds'], 3, () =>
          Promise.all(
            Array.from({ length: 64 }, (_, i) =>
              ledgers[i % 3]?.admit(admitRequest(keys[i % keys.length] ?? '', randomUUID(), 10n)),
            ),
          ),
        );
        const kinds = outcomes.map((outcome) => outcome?.kind).sort();
        assert.deepEqual(kinds, ['admitted', ...Array<string>(63).fill('temporarily_held')]);
        assert.equal((await first.getAccount(accounts[0] ?? ''))?.reserved, 10n);
      }
      await closeAll(ledgers);
    });

    test('[F37] settlements, extensions and purchases below one root that meet: none of them is lost', async () => {
      const { database, ledgers } = await replicas(4);
      const [first] = ledgers as [OwnedLedger];
      const { keys, accounts } = await tree(first, 1_000n);
      const holds = await Promise.all(
        ledgers.map(async (ledger, i) => {
          const id = randomUUID();
          assert.equal((await ledger.admit(admitRequest(keys[i] ?? '', id, 100n))).kind, 'admitted');
          return id;
        }),
      );
      const [one = '', two = '', three = ''] = holds;
      const [root = ''] = accounts;
      await overlapping(server, database, ['accounts', 'tree_accounts', 'holds', 'entries'], 4, () =>
        Promise.all([
          ledgers[0]?.settle(settleRequest(keys[0] ?? '', one, 10n)),
          ledgers[1]?.settle(settleRequest(keys[1] ?? '', two, 20n)),
          ledgers[2]?.extend({ holdId: three, keyId: keys[2] ?? '', amount: 300n }),
          ledgers[3]?.addAccountCredit(root, randomUUID(), 500n, null),
        ]),
      );
      const summary = await first.getAccount(root);
      assert.deepEqual([summary?.used, summary?.reserved, summary?.purchased], [30n, 400n, 1_500n]);
      await closeAll(ledgers);
    });

    test('[F37] 64 spenders below one root over three gateways, while caps, states and places change: no level is overspent', async () => {
      const { database, ledgers } = await replicas(3);
      const [first] = ledgers as [OwnedLedger];
      const { keys, accounts } = await tree(first, 6_000n);
      const [root = '', ...below] = accounts;
      const caps = new Map(below.map((id) => [id, 900n]));
      for (const [id, amount] of caps) await first.changeAccount(id, { creditCap: { amount, period: 'none' } });
      let over = false;
      const spend = async (spender: number): Promise<void> => {
        const ledger = ledgers[spender % 3] as OwnedLedger;
        const keyId = keys[spender % keys.length] ?? '';
        for (let round = 0; round < 12; round++) {
          const { key } = (await ledger.getKey(keyId)) ?? {};
          const id = randomUUID();
          const outcome = await ledger.admit(admitRequest(keyId, id, 20n, { keyVersion: key?.version ?? 0 }));
          if (outcome.kind !== 'admitted') continue;
          if (round % 3 === 0) await ledger.extend({ holdId: id, keyId, amount: 30n });
          if (round % 4 === 3) await ledger.void(id, keyId);
          else await ledger.settle(settleRequest(keyId, id, BigInt(5 + (spender % 16))));
        }
      };
      const change = async (): Promise<void> => {
        for (let turn = 0; !over; turn++) {
          const ledger = ledgers[turn % 3] as OwnedLedger;
          const id = below[turn % below.length] ?? '';
          await ledger.moveAccount(id, turn % 2 === 0 ? root : (below[(turn + 1) % below.length] ?? ''));
          await ledger.moveKey(keys[turn % keys.length] ?? '', below[turn % below.length] ?? '');
          await ledger.changeAccount(id, { status: turn % 5 === 0 ? 'suspended' : 'active' });
          await ledger.changeAccount(id, { status: 'active', rpmLimit: turn % 2 === 0 ? null : 10_000 });
        }
      };
      const changing = change();
      await Promise.all(Array.from({ length: 64 }, (_, spender) => spend(spender)));
      over = true;
      await changing;
      const summaries = await first.listAccounts();
      for (const { account, used, purchased, liveHolds, reserved } of summaries) {
        const most = account.parentId === null ? purchased : (caps.get(account.id) ?? 0n);
        assert.ok(used <= most, `${account.name} has used ${used} of ${most}`);
        assert.deepEqual([liveHolds, reserved], [0, 0n]);
      }
      const spent = await Promise.all(keys.map(async (keyId) => (await first.summary(keyId))?.used ?? 0n));
      assert.equal(
        summaries.find(({ account }) => account.id === root)?.used,
        spent.reduce((sum, used) => sum + used, 0n),
      );
      assert.equal(await deadlocks(database), 0);
      await closeAll(ledgers);
    });

    test('[F37] keys join a tree through one gateway while others serve them and the tree: nothing is lost or locked out', async () => {
      const { database, ledgers } = await replicas(3);
      const [first, second, third] = ledgers as [OwnedLedger, OwnedLedger, OwnedLedger];
      const { keys, accounts } = await tree(first, 1_000n);
      const lone = await Promise.all(Array.from({ length: 8 }, () => first.createKey(newKey({ credit: 100n }))));
      const ids = [...keys, ...lone.map(({ id }) => id)];
      const spend = async (ledger: OwnedLedger): Promise<void> => {
        for (let round = 0; round < 10; round++) {
          await Promise.all(
            ids.map(async (keyId) => {
              const version = (await ledger.getKey(keyId))?.key.version ?? 0;
              const id = randomUUID();
              const outcome = await ledger.admit(admitRequest(keyId, id, 2n, { keyVersion: version }));
              if (outcome.kind === 'admitted') await ledger.settle(settleRequest(keyId, id, 1n));
            }),
          );
        }
      };
      const join = async (): Promise<void> => {
        for (const { id } of lone) {
          while ((await first.joinAccount(id, accounts[1] ?? '', `join ${id}`)).kind !== 'changed');
        }
      };
      await Promise.all([spend(second), spend(third), join()]);
      const root = await first.getAccount(accounts[0] ?? '');
      const spent = await Promise.all(ids.map(async (keyId) => (await first.summary(keyId))?.used ?? 0n));
      const total = spent.reduce((sum, used) => sum + used, 0n);
      assert.equal((root?.purchased ?? 0n) - (root?.used ?? 0n), 1_800n - total);
      assert.equal(await deadlocks(database), 0);
      await closeAll(ledgers);
    });

    test('[F37] a batch that waits for a key does not keep it locked when it joins a tree meanwhile', async () => {
      const { database, ledgers } = await replicas(1);
      const [ledger] = ledgers as [OwnedLedger];
      const { accounts } = await tree(ledger, 1_000n);
      const created = await Promise.all([
        ledger.createKey(newKey({ credit: 0n })),
        ledger.createKey(newKey({ credit: 0n })),
      ]);
      const [lower, higher] = created.map(({ id }) => id).sort() as [string, string];
      const [joining, writing] = await Promise.all([server.connect(database), server.connect(database)]);
      await joining.query('BEGIN');
      await joining.query('UPDATE gateway.accounts SET account_id = $2, root_id = $2 WHERE key_id = $1', [
        lower,
        accounts[0],
      ]);
      // In one batch, which waits for the lower one first.
      const outcomes = [lower, higher].map((keyId) => ledger.admit(admitRequest(keyId, randomUUID(), 0n)));
      await untilWaitedFor(joining);
      // As a batch of another gateway, for the same keys and after the join.
      await writing.query(`SET deadlock_timeout = '1ms'`);
      await writing.query('BEGIN');
      await writing.query('SELECT 1 FROM gateway.accounts WHERE key_id = $1 FOR UPDATE', [higher]);
      await writing.query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE', [accounts[0]]);
      await joining.query('COMMIT');
      await untilWaitedFor(writing);
      await writing.query('UPDATE gateway.accounts SET requests = requests WHERE key_id = $1', [lower]);
      await writing.query('COMMIT');
      assert.deepEqual(
        (await Promise.all(outcomes)).map(({ kind }) => kind),
        ['admitted', 'admitted'],
      );
      await Promise.all([joining.end(), writing.end()]);
      await closeAll(ledgers);
    });

    test('[F37] keys that are created together below several roots lock these in the order of every batch', async () => {
      const { database, ledgers } = await replicas(1);
      const [ledger] = ledgers as [OwnedLedger];
      const roots = [newAccount(), newAccount()].sort((one, other) => (one.id < other.id ? -1 : 1));
      for (const root of roots) assert.equal((await ledger.createAccount(root)).kind, 'account');
      const writing = await server.connect(database);
      await writing.query(`SET deadlock_timeout = '1ms'`);
      await writing.query('BEGIN');
      await writing.query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE', [roots[0]?.id]);
      const created = ledger.createKeys(roots.toReversed().map(({ id }) => newKey({ accountId: id })));
      await untilWaitedFor(writing);
      await writing.query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE', [roots[1]?.id]);
      await writing.query('COMMIT');
      assert.equal((await created).length, 2);
      await writing.end();
      await closeAll(ledgers);
    });

    test('[F27] [R11] a settlement that meets admissions of other gateways takes no slot of the rate limit back', async () => {
      const { database, ledgers } = await replicas(4, new ManualClock());
      const [first] = ledgers as [OwnedLedger];
      const key = await first.createKey(newKey({ credit: 1_000n, rpmLimit: 7 }));
      const hold = randomUUID();
      const take = (index: number) =>
        ledgers[index % 4]?.admit(admitRequest(key.id, randomUUID(), 1n, { hold: null })).then(({ kind }) => kind);
      assert.equal((await first.admit(admitRequest(key.id, hold, 10n))).kind, 'admitted');
      const [settled, ...met] = await overlapping(server, database, ['accounts', 'rates', 'holds'], 4, () =>
        Promise.all([
          first.settle(settleRequest(key.id, hold, 4n)).then(({ kind }) => kind),
          take(1),
          take(2),
          take(3),
        ]),
      );
      assert.deepEqual([settled, ...met], ['settled', 'admitted', 'admitted', 'admitted']);
      const rest = await Promise.all(Array.from({ length: 12 }, (_, index) => take(index)));
      assert.equal(rest.filter((kind) => kind === 'admitted').length, 3);
      assert.equal((await first.summary(key.id))?.used, 4n);
      await closeAll(ledgers);
    });

    test('[F26] changes of a key through two gateways that meet: both count, and a purchase sent through both is booked once', async () => {
      const { database, ledgers } = await replicas(2);
      const [one, two] = ledgers as [OwnedLedger, OwnedLedger];
      const key = await one.createKey(newKey({ credit: 10n }));
      const changes = await overlapping(server, database, ['accounts'], 2, () =>
        Promise.all([one.changeKey(key.id, { rpmLimit: 5 }), two.changeKey(key.id, { models: ['m'] })]),
      );
      assert.deepEqual([...new Set(changes.map(({ kind }) => kind))], ['changed']);
      const summary = await one.getKey(key.id);
      assert.deepEqual([summary?.key.rpmLimit, summary?.key.models, summary?.key.version], [5, ['m'], 3]);
      const entryId = randomUUID();
      const purchases = await overlapping(server, database, ['accounts'], 2, () =>
        Promise.all([one.addCredit(key.id, entryId, 5n, null), two.addCredit(key.id, entryId, 5n, null)]),
      );
      assert.deepEqual([...new Set(purchases.map(({ kind }) => kind))], ['added']);
      assert.equal((await one.summary(key.id))?.purchased, 15n);
      await closeAll(ledgers);
    });

    test('batches that name their keys in any order never lock each other out, and every operation is done once', async () => {
      const { database, ledgers } = await replicas(3);
      const keys = await Promise.all(
        Array.from({ length: 12 }, () => ledgers[0]?.createKey(newKey({ credit: 1_000_000n, rpmLimit: 1_000_000 }))),
      );
      await Promise.all(
        ledgers.map(async (ledger, seed) => {
          for (let round = 0; round < 25; round++) {
            // All of a round go in one batch: each gateway begins with another key.
            const order = keys.map((_, i) => keys[(i * 5 + seed * 3 + round) % keys.length]?.id ?? '');
            const holds = order.map((keyId) => [keyId, randomUUID()] as const);
            const admitted = await Promise.all(holds.map(([keyId, id]) => ledger.admit(admitRequest(keyId, id, 2n))));
            assert.ok(admitted.every(({ kind }) => kind === 'admitted'));
            for (const [keyId, holdId] of holds)
              ledger.mark({ keyId, holdId, charge: 1n, tokens: usageRecord().tokens });
            const settled = await Promise.all([
              ledger.recover().then(() => ({ kind: 'settled' })),
              ...holds
                .reverse()
                .map(([keyId, id]) => ledger.settle(settleRequest(keyId, id, 1n, { usage: usageRecord() }))),
            ]);
            assert.ok(settled.every(({ kind }) => kind === 'settled'));
          }
        }),
      );
      for (const key of keys) assert.equal((await ledgers[1]?.summary(key?.id ?? ''))?.used, 75n);
      assert.equal(await deadlocks(database), 0);
      await closeAll(ledgers);
    });

    test('[F26] a key changed through one gateway is changed for all at once', async () => {
      const { ledgers } = await replicas(2);
      const [one, two] = ledgers as [OwnedLedger, OwnedLedger];
      const key = await one.createKey(newKey({ credit: 10n }));
      assert.equal((await two.admit(admitRequest(key.id, 'h1', 1n))).kind, 'admitted');
      await one.changeKey(key.id, { status: 'suspended' });
      assert.deepEqual(await two.admit(admitRequest(key.id, 'h2', 1n)), { kind: 'key_refused', status: 'suspended' });
      await one.changeKey(key.id, { status: 'active', rpmLimit: 1 });
      assert.equal((await two.admit(admitRequest(key.id, 'h3', 1n))).kind, 'key_changed');
      await closeAll(ledgers);
    });

    test('[F10] a gateway whose lease is over by the database’s clock is fenced; another one ends its holds', async () => {
      const database = await server.createDatabase(template);
      const url = server.url(database);
      const frozen = createLedger(await openPostgresStore({ url }), { leaseMs: 0 });
      const living = createLedger(await openPostgresStore({ url }));
      const key = await living.createKey(newKey({ credit: 10n }));
      await frozen.admit(admitRequest(key.id, 'h1', 5n));
      frozen.mark({ holdId: 'h1', keyId: key.id, charge: 2n, tokens: usageRecord().tokens });
      await frozen.ping();
      await recoverAll(living);
      assert.deepEqual(await frozen.settle(settleRequest(key.id, 'h1', 5n)), { kind: 'already_settled', charged: 2n });
      assert.equal((await living.summary(key.id))?.used, 2n);
      await closeAll([living, frozen]);
    });
  });
}
