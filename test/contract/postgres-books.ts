/** The PostgreSQL of the ledger's contract: one server for all of its tests, and a database of its own for each. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { GroupCommit } from '../../src/ledger/group-commit/group-commit.ts';
import { createLedger, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { startPostgres } from '../support/postgres.ts';
import type { OpenedLedger } from './fixtures.ts';

export const server = await startPostgres();
after(() => server.stop());
export const template = await server.createDatabase();
await (await openPostgresStore({ url: server.url(template) })).close();

/** Nobody gives up on a busy machine; transactions of several gateways meet, see `overlapping`. */
export const PATIENT = { timeoutMs: 120_000, lockTimeoutMs: 120_000 };
/** Nobody renews a lease here: by the database's own time none is over while its test runs. */
const LEASE_MS = 3_600_000;

export async function openLedger(clock: Clock): Promise<OpenedLedger> {
  const url = server.url(await server.createDatabase(template));
  return {
    connect: async () => new GroupCommit(await openPostgresStore({ url, clock, ...PATIENT })),
    close: async () => undefined,
  };
}

/** Fresh books, and the ledgers of several gateways on them. */
export async function replicas(count: number, clock?: Clock): Promise<{ database: string; ledgers: OwnedLedger[] }> {
  const database = await server.createDatabase(template);
  const options = clock === undefined ? {} : { clock };
  const lease = clock === undefined ? { leaseMs: LEASE_MS } : {};
  const ledgers = await Promise.all(
    Array.from({ length: count }, async () =>
      createLedger(await openPostgresStore({ url: server.url(database), ...PATIENT, ...options }), lease),
    ),
  );
  return { database, ledgers };
}

export async function closeAll(ledgers: readonly OwnedLedger[]): Promise<void> {
  const [first] = ledgers;
  assert.deepEqual((await first?.audit())?.findings, []);
  for (const ledger of ledgers) await ledger.close();
}

export function only<T>(list: readonly T[]): T {
  const [first] = list;
  assert.ok(first !== undefined && list.length === 1);
  return first;
}
