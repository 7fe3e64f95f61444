/**
 * A copy of the database while it is in use: SQLite's own backup, from one snapshot. Every commit leaves the ledger
 * consistent, so that a snapshot between two of them is too, whatever the gateway that writes has in its memory.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { StoreError, StoreVersionError } from '../errors.ts';
import { readMigrations } from '../migrations.ts';
import type { AuditReport } from '../port.ts';
import { audit } from './audit.ts';
import { integer, text } from './columns.ts';
import { openDatabase } from './database.ts';
import { coldStatements } from './statements.ts';

/** What a copy says of itself, in a table of its own that a restore removes. */
export type CopyFacts = Readonly<Record<string, string>>;

export interface VerifiedCopy {
  readonly schema: number;
  readonly report: AuditReport;
}

const BUSY_TIMEOUT_MS = 5_000;
/** Between two steps another thread may do something; the snapshot stays the same. */
const PAGES_PER_STEP = 2_000;

/** `target` must not exist, or be empty. */
export async function copyDatabase(source: string, target: string, facts: CopyFacts): Promise<void> {
  const from = new DatabaseSync(source, { timeout: BUSY_TIMEOUT_MS });
  try {
    // The transaction fixes the snapshot: without it, a commit between two steps would make the copy begin anew.
    from.exec('BEGIN');
    from.prepare('SELECT count(*) FROM migrations').get();
    await backup(from, target, { rate: PAGES_PER_STEP });
    from.exec('ROLLBACK');
  } finally {
    from.close();
  }
  withDatabase(target, (copy) => {
    // One file that is complete by itself.
    copy.exec('PRAGMA journal_mode = DELETE');
    copy.exec('CREATE TABLE backup (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT');
    const add = copy.prepare('INSERT INTO backup (name, value) VALUES (?, ?)');
    for (const [name, value] of Object.entries(facts)) add.run(name, value);
  });
}

/** Empty for a file that `copyDatabase` has not made. */
export function factsOfCopy(file: string): CopyFacts {
  return withDatabase(file, (copy) => {
    const there = copy.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backup'").get();
    if (there === undefined) return {};
    const rows = copy.prepare('SELECT name, value FROM backup').all();
    return Object.fromEntries(rows.map((row) => [text(row, 'name'), text(row, 'value')]));
  });
}

/** Removes what a restored database must not have: the facts, and the pages that held them. */
export function removeFacts(file: string): void {
  withDatabase(file, (copy) => copy.exec('PRAGMA secure_delete = ON; DROP TABLE IF EXISTS backup'));
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
 * a newer release. The file is not changed; one with an older schema is migrated in a copy beside it.
 */
export function verifyCopy(file: string): VerifiedCopy {
  const newest = newestSchema();
  const schema = checkPages(file);
  if (schema > newest) {
    throw new StoreVersionError(
      `${file} is at schema version ${schema}, this release knows up to ${newest}: use the release that wrote it, or a newer one.`,
    );
  }
  if (schema === newest) return { schema, report: withDatabase(file, auditOf) };
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

export function newestSchema(): number {
  return readMigrations('sqlite').at(-1)?.version ?? 0;
}

/** The schema version of a database that is in use or not; 0 for one without any. */
export function schemaOf(file: string): number {
  return withDatabase(file, storedSchema);
}

function checkPages(file: string): number {
  try {
    return withDatabase(file, (copy) => {
      const problems = copy.prepare('PRAGMA integrity_check(3)').all();
      const first = problems[0] === undefined ? 'it cannot be read' : text(problems[0], 'integrity_check');
      if (first !== 'ok') throw new StoreError(`${file} is damaged (${first}).`);
      const schema = storedSchema(copy);
      if (schema === 0) throw new StoreError(`${file} is no ledger of a gateway.`);
      return schema;
    });
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`${file} is damaged or cut short (${reason}).`, { cause: error });
  }
}

function storedSchema(database: DatabaseSync): number {
  const there = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").get();
  const row = there && database.prepare('SELECT coalesce(max(version), 0) AS version FROM migrations').get();
  return row === undefined ? 0 : integer(row, 'version');
}

/** A hold past its expiry is no fault of a copy: the gateway that opens it recovers it. */
function auditOf(database: DatabaseSync): AuditReport {
  return audit(coldStatements(database), 0);
}

function withDatabase<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { readBigInts: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return work(database);
  } finally {
    database.close();
  }
}
