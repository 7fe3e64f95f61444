/** What happens to those who have waited for others, or for the database itself: which time it is for them, and what they lock. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createLedger, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { startMaintenance } from '../../src/ledger/maintenance.ts';
import type { Operation } from '../../src/ledger/operations.ts';
import type { NewAccount } from '../../src/ledger/port.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { overlapping, untilWaitedFor } from '../support/overlap.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, replicas, server, template } from './postgres-books.ts';

const MONTH = [Date.parse('2026-03-01T00:00:00Z'), Date.parse('2026-04-01T00:00:00Z')] as const;

/** Does `work` while another transaction has these rows, until it waits for them; returns the database's time at their release. */
async function behind(database: string, rows: string, work: () => Promise<unknown>): Promise<number> {
  const other = await server.connect(database);
  try {
    await other.query(`BEGIN; SELECT FROM ${rows} FOR UPDATE`);
    const done = work();
    done.catch(() => undefined);
    await untilWaitedFor(other);
    const time = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms';
    const { rows: found } = await other.query<{ ms: number }>(time);
    await other.query('COMMIT');
    await done;
    return only(found).ms;
  } finally {
    await other.end();
  }
}

/** The runs of a key that nobody has locked. */
async function freeRuns(database: string): Promise<string[]> {
  const rows = await server.query(database, 'SELECT id FROM gateway.runs ORDER BY id FOR UPDATE SKIP LOCKED');
  return rows.map(({ id }) => String(id));
}

export function waits(): void {
  describe('those who have waited', () => {
    test('[R11] a request takes its place in a limit when its turn has come, not when its wait for it began', async () => {
      const { database, ledgers } = await replicas(2);
      const [operator, ledger] = ledgers as [OwnedLedger, OwnedLedger];
      const limits = { rpmLimit: 5, tpmLimit: 1_000 };
      const account = newAccount(limits);
      await operator.createAccount(account);
      await operator.addAccountCredit(account.id, 'credit', 10n, null);
      const alone = await operator.createKey(newKey({ credit: 10n, ...limits }));
      const below = await operator.createKey(newKey({ accountId: account.id }));
      const limited = [
        [alone.id, alone.id, 'accounts WHERE key_id'],
        [below.id, account.id, 'tree_accounts WHERE id'],
      ] as const;
      for (const [keyId, id, row] of limited) {
        const settled = settleRequest(keyId, 'h1', 1n, { usage: usageRecord() });
        // The gateway does not know yet that the account has limits.
        for (const [table, work] of [
          ['rates', () => ledger.admit(admitRequest(keyId, 'h1', 1n))],
          ['token_rates', () => ledger.settle(settled)],
        ] as const) {
          const releasedMs = await behind(database, `gateway.${row} = '${id}'`, work);
          const places = `SELECT at_ms::float8 AS ms FROM gateway.${table} WHERE key_id = '${id}'`;
          const { ms } = only(await server.query(database, places));
          assert.ok(Number(ms) >= releasedMs, `${table} of ${row}: ${String(ms)}, ${releasedMs}`);
        }
      }
      await closeAll(ledgers);
    });

    test('[R11] how long a key has to wait for tokens is exact in the first batch after another gateway has moved it', async () => {
      const clock = new ManualClock();
      const database = await server.createDatabase(template);
      const open = () => openPostgresStore({ url: server.url(database), clock });
      const store = await open();
      const other = createLedger(await open());
      const root = newAccount();
      const account = newAccount({ parentId: root.id, tpmLimit: 60 });
      for (const each of [root, account]) await other.createAccount(each);
      await other.addAccountCredit(root.id, 'credit', 1_000n, null);
      const [moved, beside] = [newKey({ accountId: root.id }), newKey({ accountId: account.id })];
      for (const key of [moved, beside]) await other.createKey(key);
      const admit = ({ id: keyId }: { id: string }, inputTokens: number, keyVersion = 1): Operation => {
        const hold = { id: randomUUID(), amount: 1n, amountMin: 1n, inputTokens, ttlMs: 3_600_000 };
        return { op: 'admit', owner: 'o', request: { ...admitRequest(keyId, hold.id, 1n), keyVersion, hold } };
      };
      const known: Operation = { op: 'admit', owner: 'o', request: admitRequest(moved.id, '', 1n, { hold: null }) };
      await store.apply([{ op: 'registerOwner', owner: 'o', leaseMs: 3_600_000 }, known]);
      for (const [tokens, afterMs] of [
        [8, 1_000],
        [13, 9_000],
        [33, 0],
      ] as const) {
        await store.apply([admit(beside, tokens)]);
        clock.advance(afterMs);
      }
      assert.equal((await other.moveKey(moved.id, account.id)).kind, 'changed');
      const outcomes = await store.apply([admit(beside, 1), admit(moved, 13, 2), admit(moved, 21, 2)]);
      const waits = outcomes.map((outcome) =>
        outcome !== null && 'retryAfterMs' in outcome ? outcome.retryAfterMs : null,
      );
      assert.deepEqual(waits, [null, 50_000, 51_000]);
      await store.close();
      await closeAll([other]);
    });

    test('a statement whose month ends while it is read is not called closed: charges may still be booked into it', async () => {
      const url = server.url(await server.createDatabase(template));
      const times = [MONTH[1] - 20, MONTH[1] + 10];
      const clock = { nowMs: () => (times.length > 1 ? times.shift() : times[0]) ?? 0 };
      const setUp = createLedger(await openPostgresStore({ url }));
      const { id } = await setUp.createKey(newKey({ credit: 10n }));
      await setUp.close();
      const ledger = createLedger(await openPostgresStore({ url, clock }));
      const statement = await ledger.statement(id, ...MONTH);
      assert.deepEqual(times, [MONTH[1] + 10]);
      assert.equal(statement.kind === 'statement' && statement.nowMs < MONTH[1], true);
      const later = await ledger.statement(id, ...MONTH);
      assert.equal(later.kind === 'statement' && later.nowMs >= MONTH[1], true);
      await closeAll([ledger]);
    });

    test('[F7] [F30] a gateway that starts ends no hold before the time of a lease: the database may have been away for all', async () => {
      const url = server.url(await server.createDatabase(template));
      // As after an outage that was longer than its lease.
      const serving = createLedger(await openPostgresStore({ url }), { leaseMs: 0 });
      const starting = createLedger(await openPostgresStore({ url }));
      const { id } = await serving.createKey(newKey({ credit: 10n }));
      await serving.admit(admitRequest(id, 'h1', 5n));
      serving.mark({ holdId: 'h1', keyId: id, charge: 2n, tokens: usageRecord().tokens });
      await serving.ping();
      let nowMs = 0;
      const maintenance = await startMaintenance(starting, { recoverIntervalMs: 1, nowMs: () => nowMs });
      nowMs = starting.leaseMs - 1;
      assert.deepEqual(await serving.settle(settleRequest(id, 'h1', 5n)), { kind: 'settled', charged: 5n });
      await maintenance.stop();
      await closeAll([serving, starting]);
    });

    test('an account that is made through two gateways at once is made once, and is there for both', async () => {
      const { database, ledgers } = await replicas(2);
      const kinds = async (accounts: readonly NewAccount[]): Promise<string[]> => {
        const outcomes = await overlapping(server, database, ['tree_accounts'], 2, () =>
          Promise.all(accounts.map((account, at) => (ledgers[at] as OwnedLedger).createAccount(account))),
        );
        return outcomes.map(({ kind }) => kind).sort();
      };
      // Which of its indexes finds the other one first is a matter of luck.
      for (let round = 0; round < 10; round++) {
        const account = newAccount();
        assert.deepEqual(await kinds([account, account]), ['account', 'account']);
        const externalId = `external ${round}`;
        assert.deepEqual(await kinds([newAccount({ externalId }), newAccount({ externalId })]), ['account', 'refused']);
      }
      await closeAll(ledgers);
    });

    test('[F53] runs that are written together are locked in one order, whoever writes them and in whichever order they came', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const { id: keyId } = await ledger.createKey(newKey({ credit: 100n }));
      const ids = ['run a', 'run b', 'run c'];
      for (const id of ids) await admitRun(ledger, keyId, id);
      const frames = Buffer.from('x');
      const append = () =>
        ledger.appendRuns(ids.toReversed().map((id) => ({ keyId, id, events: { first: 0, last: 0, frames } })));
      const end = () =>
        Promise.all(
          ids.toReversed().map((id) => {
            const run = { id, status: 'completed', events: [{ first: 1, last: 1, frames }] } as const;
            return ledger.settle(settleRequest(keyId, `hold of ${id}`, 1n, { run }));
          }),
        );
      for (const work of [append, end]) {
        let free: string[] = [];
        const other = await server.connect(database);
        try {
          await other.query(`BEGIN; SELECT FROM gateway.runs WHERE id = 'run a' FOR UPDATE`);
          const done = work();
          done.catch(() => undefined);
          await untilWaitedFor(other);
          free = await freeRuns(database);
          await other.query('COMMIT');
          await done;
        } finally {
          await other.end();
        }
        assert.deepEqual(free, ['run b', 'run c']);
      }
      await closeAll(ledgers);
    });
  });
}

async function admitRun(ledger: OwnedLedger, keyId: string, id: string): Promise<void> {
  const request = admitRequest(keyId, `hold of ${id}`, 2n);
  assert.ok(request.hold !== null);
  const run = { id, response: '{}', input: null, keepMs: 3_600_000, keyBytesMax: 1_000_000 };
  const outcome = await ledger.admit({ ...request, hold: { ...request.hold, run } });
  assert.equal(outcome.kind, 'admitted');
}
