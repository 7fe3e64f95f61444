/** The ledger in one SQLite file, synchronous: one batch is one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { RolledUp } from '../../core/usage-report.ts';
import { addToRollups, type RollupStep } from '../../reports/sqlite/rollup.ts';
import { defineTimeFunctions } from '../../reports/sqlite/time-counts.ts';
import { Refusal } from '../../storage/errors.ts';
import { inTransaction, rollBack } from '../../storage/sqlite.ts';
import { admit, takeBackHold } from '../engine/admit.ts';
import type { Operation, Outcome, Result } from '../operations.ts';
import type { Store } from '../store.ts';
import { type ChargeJournal, openChargeJournal } from './charge-journal.ts';
import { ChargeTail, isOfMemory, recoverCharges } from './charge-tail.ts';
import { isMachineFailure, openDatabase, servingError } from './database.ts';
import { perform } from './handlers.ts';
import { KeyCache } from './key-cache.ts';
import { expireAll } from './maintenance.ts';
import { openRateJournal, type RateJournal, saveJournal } from './rate-journal.ts';
import { defineSearch } from './statements.ts';

export interface SqliteEngine {
  /** Throws a `StoreError` when the store failed; then nothing of the batch was applied. */
  apply(batch: readonly Operation[]): readonly Result[];
  /** The outcome of an operation that memory alone can decide; null for every other one. It is lost with the process. */
  now(operation: Operation): Outcome | null;
  /**
   * Outcomes of settlements that the journal of charges takes, and the database with the next of the others; null where it
   * does not take them. Only while the disk has everything that was committed.
   */
  chargeNow(batch: readonly Operation[]): readonly Result[] | null;
  /** How many charges the journal has and the database does not. */
  readonly journalled: number;
  /** Writes what only memory has: totals and rates, or everything. Whether something was written. */
  write(everything: boolean): boolean;
  /** Adds to the rollups what another thread has read for it. */
  addToRollups(step: RollupStep): RolledUp;
  close(): void;
}

interface SqliteEngineOptions {
  readonly database: DatabaseSync;
  readonly clock: Clock;
  readonly journal: RateJournal;
  readonly charges: ChargeJournal;
}

interface SyncStoreOptions {
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
    return createEngine({ database, clock, journal, charges: openChargeJournal(file) });
  } catch (error) {
    const failure = servingError(error, database);
    journal?.close();
    database.close();
    throw failure;
  }
}

/** Takes the database over: it is locked, so every process that owned holds in it before is dead. */
export function createEngine({ database, clock, journal, charges }: SqliteEngineOptions): SqliteEngine {
  defineTimeFunctions(database);
  defineSearch(database);
  const keys = new KeyCache(database, journal);
  const steady = clock.steady ?? clock;
  const readTime = (): void => {
    keys.nowMs = Math.max(keys.nowMs, clock.nowMs());
    keys.steadyMs = Math.max(keys.steadyMs, steady.nowMs());
  };
  readTime();
  takeOver(database, keys, journal, charges);
  const tail = new ChargeTail(keys.sql, charges);
  let trustedUntilMs = Number.NEGATIVE_INFINITY;

  function transact<T>(work: () => T): T {
    readTime();
    try {
      keys.sql.begin.run();
      keys.rates.begun();
      tail.restore();
      const value = work();
      keys.flush();
      tail.taken();
      keys.sql.commit.run();
      keys.committed();
      tail.committed();
      trustedUntilMs = keys.steadyMs + TRUST_MS;
      keys.trim();
      return value;
    } catch (error) {
      trustedUntilMs = Number.NEGATIVE_INFINITY;
      keys.rolledBack();
      tail.rolledBack();
      rollBack(database);
      throw error;
    }
  }

  function together(batch: readonly Operation[]): readonly Result[] {
    return batch.map((operation) => perform(keys, operation));
  }

  /** So that one bad operation does not spoil the others of its batch. */
  function oneByOne(batch: readonly Operation[]): readonly Result[] {
    keys.persistAll();
    return batch.map((operation) => {
      database.exec('SAVEPOINT operation');
      // From here on one operation may fail by itself; the file has everything before it.
      keys.rates.setSavepoint();
      try {
        const outcome = perform(keys, operation);
        keys.flush();
        return outcome;
      } catch (error) {
        if (isMachineFailure(error)) throw error;
        keys.rolledBackToSavepoint();
        database.exec('ROLLBACK TO operation');
        return { kind: 'operation_failed', message: error instanceof Error ? error.message : String(error) };
      } finally {
        if (database.isTransaction) database.exec('RELEASE operation');
      }
    });
  }

  function areOfMemory(batch: readonly Operation[]): boolean {
    try {
      return batch.every((operation) => isOfMemory(keys, operation));
    } catch {
      // What cannot be read is found again by the transaction, which says so.
      return false;
    }
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
      if (operation.op !== 'admit') return null;
      const { claim, hold } = operation.request;
      if (claim !== null || hold?.run !== undefined) return null;
      readTime();
      if (keys.steadyMs > trustedUntilMs || tail.lost) return null;
      let outcome: Outcome;
      try {
        outcome = admit(keys, operation.owner, operation.request, true);
      } catch {
        // Refused before anything was changed: the batch that it goes into gives the reason.
        return null;
      }
      if (keys.rates.writeJournal()) return outcome;
      if (hold !== null) takeBackHold(keys, operation.request.keyId, hold.id);
      return null;
    },
    chargeNow(batch) {
      if (!tail.hasRoom(batch.length) || !areOfMemory(batch)) return null;
      readTime();
      keys.rates.begun();
      try {
        const results = batch.map((operation) => {
          // A hold that the batch has twice.
          if (!isOfMemory(keys, operation)) throw new Refusal('the hold has ended');
          return perform(keys, operation);
        });
        keys.rates.write();
        tail.add(keys.forJournal(), [...keys.owners]);
        keys.committed();
        return results;
      } catch {
        keys.rolledBack();
        tail.rolledBack();
        return null;
      }
    },
    get journalled() {
      return tail.length;
    },
    write(everything) {
      if (!everything && !keys.unwritten && !tail.lost) return false;
      try {
        transact(() => {
          if (!everything) return keys.flush(true);
          expireAll(keys);
          return keys.persistAll();
        });
      } catch (error) {
        throw servingError(error, database);
      }
      return true;
    },
    addToRollups(step) {
      try {
        return transact(() => addToRollups(keys.sql.cold, step));
      } catch (error) {
        throw servingError(error, database);
      }
    },
    close() {
      try {
        if (keys.unwritten || tail.lost) transact(() => keys.flush(true));
      } catch {
        // The next process finds rates and charges in their journals.
      }
      database.close();
      journal.close();
      charges.close();
    },
  };
}

function takeOver(database: DatabaseSync, keys: KeyCache, journal: RateJournal, charges: ChargeJournal): void {
  const { sql, nowMs } = keys;
  inTransaction(database, () => {
    recoverCharges(sql, charges);
    database.exec('DELETE FROM owners');
    saveJournal(sql, journal.read());
    // A clock that was ahead before the restart may not close a limit for longer than one window.
    for (const table of ['rates', 'token_rates']) {
      database
        .prepare(`UPDATE ${table} SET newest_ms = ?1,
          times = (SELECT json_group_array(min(value, ?1)) FROM json_each(times)) WHERE newest_ms > ?1`)
        .run(nowMs);
    }
    // Whatever is held was held before now: promotional credit that such a hold has grown by stays with it when it expires.
    database.prepare('UPDATE holds SET held_at_ms = ?1 WHERE held_at_ms > ?1').run(nowMs);
  });
  journal.truncate(0);
  charges.startOver();
}
