/** Opens the file for this process alone, and brings its schema up to date. */
import { DatabaseSync } from 'node:sqlite';
import { asStoreError, StoreBrokenError, StoreError, StoreLockedError } from '../../storage/errors.ts';
import { applyPending, isDamage, sqliteCode } from '../../storage/sqlite.ts';
import { pendingMigrations, readMigrations, recordMigration, type StoredSchema, storedSchema } from '../migrations.ts';
import { coldStatements, performCold } from './statements.ts';

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
/** Failures of the machine, not of an operation: locked, out of memory, read-only, I/O, full, cannot open. */
const MACHINE_FAILURES: ReadonlySet<number | null> = new Set([SQLITE_BUSY, 6, 7, 8, SQLITE_IOERR, 13, 14]);

/** Holds the lock of its file for as long as it is open. */
class LockedDatabase extends DatabaseSync {
  readonly #lock: DatabaseSync;

  constructor(file: string, lock: DatabaseSync) {
    super(file, OPTIONS);
    this.#lock = lock;
  }

  override close(): void {
    super.close();
    this.#lock.close();
  }
}

const OPTIONS = { readBigInts: true, timeout: 0 } as const;
/**
 * The same for every connection. A small cache: when a page is moved to its place among its neighbours, the commit walks
 * through all of the cache, and reading a page again from the system's own cache costs less than that.
 */
const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -4000;`;

export function openDatabase(file: string): DatabaseSync {
  let database: DatabaseSync | null = null;
  try {
    database = openLocked(file);
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 4000;
      ${SETTINGS}
      BEGIN IMMEDIATE;
      COMMIT;
    `);
    migrate(database);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StoreError) throw error;
    throw (
      damage(error, file) ?? new StoreError(`Cannot open the database ${file}: ${reasonOf(error)}`, { cause: error })
    );
  }
}

function openLocked(file: string): DatabaseSync {
  const lock = takeLock(file);
  try {
    return new LockedDatabase(file, lock);
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** A second connection of the process that has the lock, in another of its threads. */
export function joinDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file, OPTIONS);
  database.exec(SETTINGS);
  return database;
}

/**
 * One process at a time, by a lock of the operating system, which ends with the process however that ends. It lies on a file
 * of its own, so that several threads of that process can have the database open.
 */
export function takeLock(file: string): DatabaseSync {
  const lock = new DatabaseSync(`${file}.lock`, OPTIONS);
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    return lock;
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    throw new StoreLockedError(`Another gateway uses this data folder (${file} is locked): stop it first.`);
  }
}

/** Whether the store failed, as opposed to one operation that it refuses. */
export function isMachineFailure(error: unknown): boolean {
  return error instanceof StoreError || isDamage(error) || MACHINE_FAILURES.has(sqliteCode(error));
}

/** A failure of the store while it serves, with what to do about it where that is known. */
export function servingError(error: unknown, database: DatabaseSync): StoreError {
  return damage(error, database.location() ?? 'in memory') ?? asStoreError(error);
}

/** Null where the error is about something else than damaged contents. */
function damage(error: unknown, file: string): StoreBrokenError | null {
  if (!isDamage(error)) return null;
  return new StoreBrokenError(
    `The database ${file} is damaged (${reasonOf(error)}): stop the gateway, restore the data folder from a backup, and run "gateway audit".`,
    { cause: error },
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether the disk failed to read or write; a full one did not. */
export function isDiskFailure(error: unknown): boolean {
  return sqliteCode(error) === SQLITE_IOERR;
}

function migrate(database: DatabaseSync): void {
  database.exec(`CREATE TABLE IF NOT EXISTS migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`);
  const migrations = readMigrations('sqlite');
  applyPending(
    database,
    () => pendingMigrations(migrations, readStoredSchema(database)),
    (migration) => {
      database.exec(migration.sql);
      performCold(coldStatements(database), recordMigration('sqlite', migration));
    },
  );
  const { journal_mode: journal } = database.prepare('PRAGMA journal_mode').get() ?? {};
  if (journal !== 'wal') throw new StoreError(`The database cannot use a write-ahead log (it says ${journal}).`);
}

/** Of a database that has the table of migrations. */
export function readStoredSchema(database: DatabaseSync): StoredSchema {
  return performCold(coldStatements(database), storedSchema());
}
