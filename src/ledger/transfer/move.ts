/**
 * Moves a whole ledger from the embedded store into PostgreSQL, or back. Each direction writes its target at once: until the
 * last step nothing of it is there, so that an interrupted move starts over, and the source is only read.
 */
import { StoreError } from '../../storage/errors.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import type { AuditReport } from '../port.ts';
import { verifyCopy } from '../sqlite/backup.ts';
import { openDatabase } from '../sqlite/database.ts';
import { inPostgres, type PostgresSide } from './postgres-side.ts';
import { SqliteSide } from './sqlite-side.ts';
import { movedTables } from './tables.ts';

export interface MovedLedger {
  /** Of the source, and of the target after the move. */
  readonly before: AuditReport;
  readonly after: AuditReport;
}

/** What PostgreSQL keeps of the installation secret: see `sharedSecret`. */
interface SecretSettings {
  readonly fingerprint: string;
  /** Null where the environment gives the secret. */
  readonly stored: string | null;
}

/** Tables that are not the ledger's, and move with it: in the same transaction of PostgreSQL. */
export interface Beside {
  /** Their names in PostgreSQL. */
  readonly tables: ReadonlySet<string>;
  /** Brings PostgreSQL's tables to the newest schema. */
  prepare(connection: Connection): Promise<void>;
  move(postgres: PostgresSide): Promise<void>;
}

/** They come from the embedded store. */
export interface BesideInFile extends Beside {
  /** A number that no change of them leaves as it was. */
  readonly changes: number;
}

const SUMS = "SELECT coalesce(sum(amount), 0) AS n FROM entries WHERE kind = 'charge'";
/** Status, limits and caps have no entries. */
const CHANGES =
  'SELECT (SELECT coalesce(sum(version), 0) FROM keys) + (SELECT coalesce(sum(version), 0) FROM tree_accounts) AS n';
const SUMS_IN_POSTGRES = SUMS.replace('FROM entries', 'FROM gateway.entries');

/** `before` is the audit of `file`, which nobody else has open and which has no live holds. */
export async function moveToPostgres(
  file: string,
  url: string,
  secret: SecretSettings,
  before: AuditReport,
  beside: BesideInFile,
): Promise<MovedLedger> {
  using source = new SqliteSide(file);
  if (source.count('SELECT count(*) AS n FROM holds') > 0) throw new StoreError(`${file} has live holds.`);
  return await inPostgres(url, beside.prepare, async (target) => {
    const sum = source.count(SUMS);
    const changes = [source.count(CHANGES), beside.changes];
    const ledger = [secret.fingerprint, before.keys, before.entries, sum, ...changes].join(' ');
    const there = await target.count(
      'SELECT (SELECT count(*) FROM gateway.accounts) + (SELECT count(*) FROM gateway.entries) AS n',
    );
    if (there > 0) {
      // Interrupted after its last step here, so that only the source still has its old name.
      if ((await target.setting('moved_from')) === ledger) return { before, after: await target.audit() };
      throw new StoreError(
        'This database has a ledger already: a ledger moves into an empty one only. Where it is that of an earlier move and no gateway has served from it: DROP SCHEMA gateway CASCADE.',
      );
    }
    const tables = movedTables(source.schema(), await target.schema(), await target.parents(), beside.tables);
    await target.set('moved_from', ledger);
    for (const table of tables) await target.add(table, source.rows(table));
    await beside.move(target);
    await target.countChargesAnew();
    await target.set('installation_fingerprint', secret.fingerprint);
    await target.set('installation_secret', secret.stored);
    await target.set('first_start', new Date().toISOString());
    const after = await target.audit();
    requireEqual(before, after, sum, await target.count(SUMS_IN_POSTGRES));
    return { before, after };
  });
}

export interface MovedFromPostgres extends MovedLedger {
  /** Null where the environment gives the secret. */
  readonly storedSecret: string | null;
  readonly fingerprint: string | null;
}

/** Into a new file, which the caller puts in its place when this has succeeded. */
export async function moveToSqlite(url: string, file: string, beside: Beside): Promise<MovedFromPostgres> {
  openDatabase(file).close();
  using target = new SqliteSide(file);
  target.database.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE');
  const moved = await inPostgres(url, beside.prepare, async (source) => {
    const before = await source.audit();
    if (!before.ok) throw new StoreError(`The audit of the source found: ${before.findings.join('; ')}.`);
    if (before.liveHolds > 0) throw new StoreError('The source has live holds: run "gateway audit" first.');
    const tables = movedTables(target.schema(), await source.schema(), await source.parents(), beside.tables);
    for (const table of tables) {
      const add = target.adder(table);
      for await (const row of source.rows(table)) add(row);
    }
    await beside.move(source);
    // Charges with a usage record follow the order of the records, from the first one on.
    target.database.exec(`INSERT INTO unrolled (key_id, hold_id)
      SELECT e.key_id, e.id FROM entries e WHERE e.kind = 'charge'
        AND NOT EXISTS (SELECT 1 FROM usage u WHERE u.key_id = e.key_id AND u.hold_id = e.id)`);
    return {
      before,
      sum: await source.count(SUMS_IN_POSTGRES),
      storedSecret: await source.setting('installation_secret'),
      fingerprint: await source.setting('installation_fingerprint'),
    };
  });
  target.database.exec('COMMIT; PRAGMA journal_mode = DELETE');
  const wrong = target.database.prepare('PRAGMA foreign_key_check').all();
  if (wrong.length > 0) throw new StoreError(`${wrong.length} rows of the target refer to rows that are not there.`);
  const after = verifyCopy(file).report;
  requireEqual(moved.before, after, moved.sum, target.count(SUMS));
  return { before: moved.before, after, storedSecret: moved.storedSecret, fingerprint: moved.fingerprint };
}

function requireEqual(before: AuditReport, after: AuditReport, sumBefore: number, sumAfter: number): void {
  if (!after.ok) throw new StoreError(`The audit of the target found: ${after.findings.join('; ')}.`);
  const same = before.keys === after.keys && before.entries === after.entries && before.flagged === after.flagged;
  if (!same || sumBefore !== sumAfter)
    throw new StoreError('The audits of source and target differ: nothing was moved.');
}
