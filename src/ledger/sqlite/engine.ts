/** The books in one SQLite file, synchronous: one batch is one transaction. */
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../core/clock.ts';
import { asStoreError } from '../errors.ts';
import type { Operation, Outcome, Result } from '../operations.ts';
import { summaryOf } from '../rules/account.ts';
import type { Store } from '../store.ts';
import { Books } from './account-cache.ts';
import { admit } from './admit.ts';
import { audit } from './audit.ts';
import { isMachineFailure, openDatabase, rollBack } from './database.ts';
import { extend, mark, recover, settle, voidById } from './hold.ts';
import { addCredit, addSecret, changeKey, createKey, findKey, getKey, listKeys, revokeSecret } from './keys.ts';
import { prune } from './prune.ts';

export interface SqliteEngine {
  /** Throws a `StoreError` when the store failed; then nothing of the batch was applied. */
  apply(batch: readonly Operation[]): readonly Result[];
  /** An operation that memory alone can decide, decided; null for every other one. It dies with the process. */
  now(operation: Operation): Outcome | null;
  /** Writes what only memory has: sums and rates, or everything. Whether something was written. */
  write(everything: boolean): boolean;
  close(): void;
}

export interface SqliteEngineOptions {
  readonly file: string;
  readonly clock?: Clock;
}

/** How long a commit vouches for the next one. Where the disk has failed meanwhile, so many admissions were made in vain. */
const TRUST_MS = 1_000;

/** The store in this thread, for an operator's command and for tests. */
export function openSqliteEngine({ file, clock }: SqliteEngineOptions): Store {
  const engine = createEngine(openDatabase(file), clock ?? systemClock());
  return {
    apply: async (batch) => engine.apply(batch),
    close: async () => engine.close(),
  };
}

/** Takes the database over: whoever owned holds in it before is dead, for the file is locked. */
export function createEngine(database: DatabaseSync, clock: Clock): SqliteEngine {
  const books = new Books(database);
  books.nowMs = clock.nowMs();
  database.exec('DELETE FROM owners');
  // A clock that was ahead before the restart may not close a limit for longer than one window.
  database
    .prepare(`UPDATE rates SET newest_ms = ?1, times = (SELECT json_group_array(min(value, ?1)) FROM json_each(times))
      WHERE newest_ms > ?1`)
    .run(books.nowMs);
  /** Until then something may be decided without the file, which has shown that it can be written. */
  let trustedUntilMs = Number.NEGATIVE_INFINITY;

  function transact<T>(work: () => T): T {
    books.nowMs = Math.max(books.nowMs, clock.nowMs());
    try {
      books.sql.begin.run();
      books.begun();
      const value = work();
      books.sql.commit.run();
      books.committed();
      trustedUntilMs = books.nowMs + TRUST_MS;
      books.trim();
      return value;
    } catch (error) {
      trustedUntilMs = Number.NEGATIVE_INFINITY;
      books.rolledBack();
      rollBack(database);
      throw error;
    }
  }

  function together(batch: readonly Operation[]): readonly Result[] {
    const results = batch.map((operation) => perform(books, operation));
    books.flush();
    return results;
  }

  /** So that one bad operation does not spoil the others of its batch. */
  function oneByOne(batch: readonly Operation[]): readonly Result[] {
    books.fileAll();
    return batch.map((operation) => {
      database.exec('SAVEPOINT operation');
      try {
        const outcome = perform(books, operation);
        books.flush();
        return outcome;
      } catch (error) {
        if (isMachineFailure(error)) throw error;
        books.drop();
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
        if (isMachineFailure(error)) throw asStoreError(error);
      }
      try {
        return transact(() => oneByOne(batch));
      } catch (error) {
        throw asStoreError(error);
      }
    },
    now(operation) {
      if (operation.op !== 'admit' || operation.request.claim !== null) return null;
      books.nowMs = Math.max(books.nowMs, clock.nowMs());
      if (books.nowMs > trustedUntilMs) return null;
      try {
        return admit(books, operation.owner, operation.request, true);
      } catch {
        // Refused before anything was changed: the batch that it goes into now tells why.
        return null;
      }
    },
    write(everything) {
      if (!everything && !books.unwritten) return false;
      try {
        transact(() => (everything ? books.fileAll() : books.flush(true)));
      } catch (error) {
        throw asStoreError(error);
      }
      return true;
    },
    close() {
      try {
        if (books.unwritten) transact(() => books.flush(true));
      } catch {
        // Rates of the last moment, which a kill would have taken as well.
      }
      database.close();
    },
  };
}

function perform(books: Books, operation: Operation): Outcome {
  switch (operation.op) {
    case 'admit':
      return admit(books, operation.owner, operation.request);
    case 'settle':
      return settle(books, operation.request);
    case 'mark':
      return mark(books, operation.marks);
    case 'findKey':
      return findKey(books, operation.digest);
    case 'extend':
      return extend(books, operation.keyId, operation.holdId, operation.amount);
    case 'void':
      return voidById(books, operation.keyId, operation.holdId);
    case 'summary': {
      const account = books.account(operation.keyId);
      return account === undefined ? null : summaryOf(account, books.nowMs);
    }
    case 'createKey':
      return createKey(books, operation.request);
    case 'listKeys':
      books.fileAll();
      return listKeys(books.sql.cold, books.nowMs);
    case 'getKey':
      return getKey(books, operation.keyId);
    case 'changeKey':
      return changeKey(books, operation.keyId, operation.change);
    case 'addSecret':
      return addSecret(books, operation.keyId, operation.digest, operation.prefix);
    case 'revokeSecret':
      return revokeSecret(books, operation.keyId, operation.prefix);
    case 'addCredit':
      return addCredit(books, operation.keyId, operation.entryId, operation.amountNanos, operation.note);
    case 'audit':
      books.fileAll();
      return audit(books.sql.cold, books.nowMs);
    case 'recover':
      return recover(books, operation.limit);
    case 'prune':
      return prune(books, operation.limit, operation.usageKeepMs);
    case 'registerOwner':
    case 'heartbeat':
    case 'ping':
      return performOwn(books, operation);
  }
}

/** Signs of life: of an owner, and of the store itself. */
function performOwn(
  books: Books,
  operation: Extract<Operation, { op: 'registerOwner' | 'heartbeat' | 'ping' }>,
): Outcome {
  const { sql, nowMs } = books;
  switch (operation.op) {
    case 'registerOwner':
      sql
        .cold('INSERT INTO owners (id, lease_until_ms) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET lease_until_ms = ?')
        .run(operation.owner, nowMs + operation.leaseMs, nowMs + operation.leaseMs);
      books.owners.add(operation.owner);
      return null;
    case 'heartbeat': {
      const { changes } = sql
        .cold('UPDATE owners SET lease_until_ms = ? WHERE id = ?')
        .run(nowMs + operation.leaseMs, operation.owner);
      return { kind: Number(changes) === 1 ? 'alive' : 'owner_lost' };
    }
    case 'ping':
      sql
        .cold('INSERT INTO pings (id, at_ms) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at_ms = ?')
        .run(nowMs, nowMs);
      return null;
  }
}
