/**
 * A copy of the database while it is in use: SQLite's own backup, from one snapshot. Every commit leaves the ledger
 * consistent, so that a snapshot between two of them is too, whatever the gateway that writes has in its memory. Charges that
 * only the journal has, for a second at most, or since the gateway was killed, are added to the copy.
 */
import { closeSync, copyFileSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { text } from '../../storage/columns.ts';
import { StoreError } from '../../storage/errors.ts';
import { inTransaction } from '../../storage/sqlite.ts';
import { audit } from '../books/audit.ts';
import { SQLITE } from '../books/dialect.ts';
import { NO_SCHEMA, newestSchema, readMigrations, requireUsable, type StoredSchema } from '../migrations.ts';
import type { AuditReport } from '../port.ts';
import { openChargeJournal } from './charge-journal.ts';
import { recoverCharges } from './charge-tail.ts';
import { openDatabase, readStoredSchema } from './database.ts';
import { coldStatements, performCold, prepareStatements } from './statements.ts';

/** What a copy says of itself, in a table of its own that a restore removes. */
type CopyFacts = Readonly<Record<string, string>>;

interface VerifiedCopy {
  readonly schema: number;
  readonly report: AuditReport;
}

const BUSY_TIMEOUT_MS = 5_000;
/** Between two steps another thread may do something; the snapshot stays the same. */
const PAGES_PER_STEP = 2_000;
const PART_BYTES = 1024 * 1024;

/** `target` must not exist, or be empty. */
export async function copyDatabase(source: string, target: string, facts: CopyFacts): Promise<void> {
  await copySnapshot(source, target);
  withDatabase(target, (copy) => {
    // Where the gateway has moved on since the snapshot, its journal has nothing of it any more.
    if (hasTable(copy, 'charge_journal')) {
      inTransaction(copy, () => recoverCharges(prepareStatements(copy), openChargeJournal(source)));
    }
    copy.exec('CREATE TABLE backup (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT');
    const add = copy.prepare('INSERT INTO backup (name, value) VALUES (?, ?)');
    for (const [name, value] of Object.entries(facts)) add.run(name, value);
  });
}

/** Any database that is in use, as one file that is complete by itself. `target` must not exist, or be empty. */
export async function copySnapshot(source: string, target: string): Promise<void> {
  const from = new DatabaseSync(source, { timeout: BUSY_TIMEOUT_MS });
  try {
    // The transaction fixes the snapshot: without it, a commit between two steps would make the copy start over.
    from.exec('BEGIN');
    from.prepare('SELECT count(*) FROM sqlite_schema').get();
    await backup(from, target, { rate: PAGES_PER_STEP });
    from.exec('ROLLBACK');
  } finally {
    from.close();
  }
  withDatabase(target, (copy) => copy.exec('PRAGMA journal_mode = DELETE'));
}

/** Adds another file to a copy, in parts. */
export function embedFile(copy: string, name: string, file: string): void {
  withDatabase(copy, (database) => {
    database.exec(`CREATE TABLE IF NOT EXISTS backup_parts
      (name TEXT NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (name, number)) STRICT`);
    const add = database.prepare('INSERT INTO backup_parts (name, number, bytes) VALUES (?, ?, ?)');
    const source = openSync(file, 'r');
    try {
      database.exec('BEGIN');
      const part = Buffer.alloc(PART_BYTES);
      for (let number = 0; ; number++) {
        const read = readSync(source, part);
        if (read === 0) break;
        add.run(name, number, part.subarray(0, read));
      }
      database.exec('COMMIT');
    } finally {
      closeSync(source);
    }
  });
}

/** Writes a file that `embedFile` has added, to a path that does not exist. False where the copy has none. */
export function extractFile(copy: string, name: string, target: string): boolean {
  return withDatabase(copy, (database) => {
    if (!hasTable(database, 'backup_parts')) return false;
    const parts = database.prepare('SELECT bytes FROM backup_parts WHERE name = ? ORDER BY number').iterate(name);
    let output: number | null = null;
    try {
      for (const { bytes } of parts) {
        output ??= openSync(target, 'wx', 0o600);
        for (let rest = bytes as Uint8Array; rest.length > 0; ) rest = rest.subarray(writeSync(output, rest));
      }
      return output !== null;
    } finally {
      if (output !== null) closeSync(output);
    }
  });
}

/** Empty for a file that `copyDatabase` has not made. */
export function factsOfCopy(file: string): CopyFacts {
  return withDatabase(file, (copy) => {
    if (!hasTable(copy, 'backup')) return {};
    const rows = copy.prepare('SELECT name, value FROM backup').all();
    return Object.fromEntries(rows.map((row) => [text(row, 'name'), text(row, 'value')]));
  });
}

/** Removes what a restored database must not have: the facts and other files, and what the pages that held them say. */
export function removeFacts(file: string): void {
  withDatabase(file, (copy) => {
    copy.exec('PRAGMA secure_delete = ON; DROP TABLE IF EXISTS backup; DROP TABLE IF EXISTS backup_parts');
  });
}

/** Moves the log into the database, so that it is one file, where that can be done. Nobody else has it open. */
export function mergeLog(file: string): void {
  try {
    withDatabase(file, (database) => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  } catch {
    // A damaged database is kept as it is.
  }
}

/**
 * Reads every page and recomputes every balance. Throws a `StoreError` when the file is damaged, no ledger, or written by
 * a newer release. The file is not changed; one with an older schema is migrated in a copy beside it. `name` is what messages
 * call it.
 */
export function verifyCopy(file: string, name = file): VerifiedCopy {
  const migrations = readMigrations('sqlite');
  const stored = checkPages(file, name);
  requireUsable(migrations, stored, name);
  const schema = stored.version;
  if (schema >= newestSchema(migrations)) return { schema, report: withDatabase(file, auditOf) };
  const migrated = `${file}.audit`;
  try {
    copyFileSync(file, migrated);
    const database = openDatabase(migrated);
    try {
      return { schema, report: auditOf(database) };
    } finally {
      database.close();
    }
  } finally {
    for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(`${migrated}${suffix}`, { force: true });
  }
}

/** The schema of a database that is in use or not. */
export function schemaOf(file: string): StoredSchema {
  return withDatabase(file, (database) => (hasTable(database, 'migrations') ? readStoredSchema(database) : NO_SCHEMA));
}

function checkPages(file: string, name: string): StoredSchema {
  checkIntegrity(file, 'migrations', name);
  const schema = schemaOf(file);
  if (schema.version === 0) throw new StoreError(`${name} is not the ledger of a gateway.`);
  return schema;
}

/** Reads every page of a database that must have this table. Throws a `StoreError`. */
export function checkIntegrity(file: string, table: string, name = file): void {
  try {
    withDatabase(file, (copy) => {
      const problems = copy.prepare('PRAGMA integrity_check(3)').all();
      const first = problems[0] === undefined ? 'it cannot be read' : text(problems[0], 'integrity_check');
      if (first !== 'ok') throw new StoreError(`${name} is damaged (${first}).`);
      if (!hasTable(copy, table))
        throw new StoreError(`${name} is not the database of a gateway: it has no table ${table}.`);
    });
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`${name} is damaged or cut short (${reason}).`, { cause: error });
  }
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;
}

/** A hold past its expiry is not a fault of a copy: the gateway that opens it recovers it. */
function auditOf(database: DatabaseSync): AuditReport {
  return performCold(coldStatements(database), audit({ dialect: SQLITE, nowMs: 0 }));
}

function withDatabase<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { readBigInts: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return work(database);
  } finally {
    database.close();
  }
}
