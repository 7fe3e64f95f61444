/** The ledger in one SQLite file, synchronous: one batch is one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../core/clock.ts';
import { SQLITE } from '../books/dialect.ts';
import { type BooksOperation, isReport, reportOf, workOf } from '../books/perform.ts';
import type { Operation, Outcome, Result, RolledUp } from '../operations.ts';
import { summaryAlong } from '../rules/levels.ts';
import type { Store } from '../store.ts';
import { AccountCache } from './account-cache.ts';
import { admit } from './admit.ts';
import { SqliteBooks } from './books.ts';
import { isMachineFailure, openDatabase, rollBack, servingError } from './database.ts';

import { extend, mark, settle, voidById } from './hold.ts';
import { prune, recover } from './maintenance.ts';
import { expireAll, expirePromotions } from './promotions.ts';
import { openRateJournal, type RateJournal, saveJournal } from './rate-journal.ts';
import { deleteResponse, findChain, findItems, getResponse } from './responses.ts';
import { defineSearch, performCold } from './statements.ts';
import { defineTimeFunctions } from './time-counts.ts';
import { usageReport } from './usage-report.ts';
import { addToRollups, type RollupStep, readStep } from './usage-rollup.ts';

export interface SqliteEngine {
  /** Throws a `StoreError` when the store failed; then nothing of the batch was applied. */
  apply(batch: readonly Operation[]): readonly Result[];
  /** The outcome of an operation that memory alone can decide; null for every other one. It is lost with the process. */
  now(operation: Operation): Outcome | null;
  /** Writes what only memory has: totals and rates, or everything. Whether something was written. */
  write(everything: boolean): boolean;
  /** Adds to the rollups what another thread has read for it. */
  addToRollups(step: RollupStep): RolledUp;
  close(): void;
}

export interface SqliteEngineOptions {
  readonly database: DatabaseSync;
  readonly clock: Clock;
  readonly journal: RateJournal;
}

export interface SyncStoreOptions {
  readonly file: string;
  readonly clock?: Clock;
}

/**
 * For so long after a commit, memory decides without asking the file whether it can still be written. Where the disk has
 * failed meanwhile, what was admitted in this time waits with its charge until it can.
 */
const TRUST_MS = 1_000;

/** The store in this thread, for an operator's command and for tests. */
export function openSyncStore({ file, clock }: SyncStoreOptions): Store {
  const engine = openEngine(openDatabase(file), file, clock ?? systemClock());
  return {
    apply: async (batch) => engine.apply(batch),
    close: async () => engine.close(),
  };
}

/** With the journal beside the database's file. */
export function openEngine(database: DatabaseSync, file: string, clock: Clock): SqliteEngine {
  let journal: RateJournal | null = null;
  try {
    journal = openRateJournal(file);
    return createEngine({ database, clock, journal });
  } catch (error) {
    const failure = servingError(error, database);
    journal?.close();
    database.close();
    throw failure;
  }
}

/** Takes the database over: it is locked, so every process that owned holds in it before is dead. */
export function createEngine({ database, clock, journal }: SqliteEngineOptions): SqliteEngine {
  defineTimeFunctions(database);
  defineSearch(database);
  const accounts = new AccountCache(database, journal);
  const steady = clock.steady ?? clock;
  const readTime = (): void => {
    accounts.nowMs = Math.max(accounts.nowMs, clock.nowMs());
    accounts.steadyMs = Math.max(accounts.steadyMs, steady.nowMs());
  };
  readTime();
  takeOver(database, accounts, journal);
  let trustedUntilMs = Number.NEGATIVE_INFINITY;

  function transact<T>(work: () => T): T {
    readTime();
    try {
      accounts.sql.begin.run();
      accounts.rates.begun();
      const value = work();
      accounts.sql.commit.run();
      accounts.committed();
      trustedUntilMs = accounts.steadyMs + TRUST_MS;
      accounts.trim();
      return value;
    } catch (error) {
      trustedUntilMs = Number.NEGATIVE_INFINITY;
      accounts.rolledBack();
      rollBack(database);
      throw error;
    }
  }

  function together(batch: readonly Operation[]): readonly Result[] {
    const results = batch.map((operation) => perform(accounts, operation));
    accounts.flush();
    return results;
  }

  /** So that one bad operation does not spoil the others of its batch. */
  function oneByOne(batch: readonly Operation[]): readonly Result[] {
    accounts.persistAll();
    return batch.map((operation) => {
      database.exec('SAVEPOINT operation');
      // From here on one operation may fail by itself; the file has everything before it.
      accounts.rates.setSavepoint();
      try {
        const outcome = perform(accounts, operation);
        accounts.flush();
        return outcome;
      } catch (error) {
        if (isMachineFailure(error)) throw error;
        accounts.rolledBackToSavepoint();
        database.exec('ROLLBACK TO operation');
        return { kind: 'operation_failed', message: error instanceof Error ? error.message : String(error) };
      } finally {
        if (database.isTransaction) database.exec('RELEASE operation');
      }
    });
  }

  return {
    apply(batch) {
      try {
        return transact(() => together(batch));
      } catch (error) {
        if (isMachineFailure(error)) throw servingError(error, database);
      }
      try {
        return transact(() => oneByOne(batch));
      } catch (error) {
        throw servingError(error, database);
      }
    },
    now(operation) {
      if (operation.op !== 'admit' || operation.request.claim !== null) return null;
      readTime();
      if (accounts.steadyMs > trustedUntilMs) return null;
      try {
        return admit(accounts, operation.owner, operation.request, true);
      } catch {
        // Refused before anything was changed: the batch that it goes into gives the reason.
        return null;
      }
    },
    write(everything) {
      if (!everything && !accounts.unwritten) return false;
      try {
        transact(() => {
          if (!everything) return accounts.flush(true);
          expireAll(accounts);
          return accounts.persistAll();
        });
      } catch (error) {
        throw servingError(error, database);
      }
      return true;
    },
    addToRollups(step) {
      try {
        return transact(() => addToRollups(accounts.sql.cold, step));
      } catch (error) {
        throw servingError(error, database);
      }
    },
    close() {
      try {
        if (accounts.unwritten) transact(() => accounts.flush(true));
      } catch {
        // The next process finds the rates in the journal.
      }
      database.close();
      journal.close();
    },
  };
}

function takeOver(database: DatabaseSync, accounts: AccountCache, journal: RateJournal): void {
  const { sql, nowMs } = accounts;
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec('DELETE FROM owners');
    saveJournal(sql, journal.read());
    // A clock that was ahead before the restart may not close a limit for longer than one window.
    for (const table of ['rates', 'token_rates']) {
      database
        .prepare(`UPDATE ${table} SET newest_ms = ?1,
          times = (SELECT json_group_array(min(value, ?1)) FROM json_each(times)) WHERE newest_ms > ?1`)
        .run(nowMs);
    }
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw error;
  }
  journal.truncate(0);
}

function perform(accounts: AccountCache, operation: Operation): Outcome {
  switch (operation.op) {
    case 'admit':
      return admit(accounts, operation.owner, operation.request);
    case 'settle':
      return settle(accounts, operation.request);
    case 'mark':
      return mark(accounts, operation.number, operation.marks);
    case 'findKey':
      return accounts.ofDigest(operation.digest)?.key ?? null;
    case 'extend':
      return extend(accounts, operation);
    case 'void':
      return voidById(accounts, operation.keyId, operation.holdId);
    case 'summary': {
      const account = accounts.get(operation.keyId);
      if (account !== undefined) expirePromotions(accounts, account);
      return account === undefined ? null : summaryAlong(account, account.path?.nodes ?? [], accounts.nowMs);
    }
    case 'usageReport':
      accounts.flush(true);
      return usageReport(accounts.sql.cold, operation.query);
    case 'rollUp':
      accounts.flush(true);
      return addToRollups(accounts.sql.cold, readStep(accounts.sql.cold, operation.limit));
    case 'recover':
      return recover(accounts, operation.limit);
    case 'prune':
      return prune(accounts, operation.limit, operation.usageKeepMs);
    case 'getResponse':
      return getResponse(accounts.sql.cold, operation.keyId, operation.id, accounts.nowMs);
    case 'findChain':
      return findChain(accounts.sql.cold, operation.id, operation.renewal, accounts.nowMs);
    case 'findItems':
      return findItems(accounts.sql.cold, operation.itemIds, operation.renewal, accounts.nowMs);
    case 'deleteResponse':
      return deleteResponse(accounts.sql.cold, operation.keyId, operation.id, accounts.nowMs);
    case 'registerOwner':
    case 'heartbeat':
    case 'ping':
      return performOwn(accounts, operation);
    default:
      return performOnBooks(accounts, operation);
  }
}

/** Everything that is read must be in the file. */
function performOnBooks(accounts: AccountCache, operation: BooksOperation): Outcome {
  if (!isReport(operation)) {
    accounts.sql.charges.write();
    return performCold(accounts.sql.cold, workOf(new SqliteBooks(accounts), operation));
  }
  expireAll(accounts);
  accounts.persistAll();
  // Holds last a time, which the audit looks at; the others ask for a date.
  const nowMs = operation.op === 'audit' ? accounts.steadyMs : accounts.nowMs;
  return performCold(accounts.sql.cold, reportOf({ dialect: SQLITE, nowMs }, operation));
}

/** Signs of life: of an owner, and of the store itself. */
function performOwn(
  accounts: AccountCache,
  operation: Extract<Operation, { op: 'registerOwner' | 'heartbeat' | 'ping' }>,
): Outcome {
  const { sql, steadyMs } = accounts;
  switch (operation.op) {
    case 'registerOwner':
      sql
        .cold(`INSERT INTO owners (id, lease_until_ms) VALUES (?, ?) ON CONFLICT (id)
          DO UPDATE SET lease_until_ms = max(lease_until_ms, excluded.lease_until_ms)`)
        .run(operation.owner, steadyMs + operation.leaseMs);
      accounts.owners.add(operation.owner);
      return null;
    case 'heartbeat': {
      const { changes } = sql
        .cold('UPDATE owners SET lease_until_ms = max(lease_until_ms, ?) WHERE id = ?')
        .run(steadyMs + operation.leaseMs, operation.owner);
      return { kind: Number(changes) === 1 ? 'alive' : 'owner_lost' };
    }
    case 'ping':
      sql
        .cold('INSERT INTO pings (id, at_ms) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at_ms = ?')
        .run(steadyMs, steadyMs);
      return null;
  }
}
