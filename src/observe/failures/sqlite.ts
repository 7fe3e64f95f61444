/** The counts in a file beside the request log, which may be deleted at any time while these stay. */
import type { DatabaseSync } from 'node:sqlite';
import { inTransaction } from '../../storage/sqlite.ts';
import { COLUMNS, type FailureDialect, failureReport, NAMES, onConflict } from './sql.ts';
import type { FailureCount, FailureQuery, FailureReport, KeyChange } from './store.ts';

/** Each only adds to what the ones before have made. */
export const FAILURE_MIGRATIONS: readonly string[] = [
  `CREATE TABLE request_log_failures (
     start_ms INTEGER NOT NULL,
     key_id TEXT NOT NULL,
     model TEXT NOT NULL,
     provider TEXT NOT NULL,
     format TEXT NOT NULL,
     condition TEXT NOT NULL,
     label TEXT NOT NULL,
     account_id TEXT NOT NULL,
     failed INTEGER NOT NULL,
     PRIMARY KEY (start_ms, key_id, model, provider, format, condition)
   ) STRICT, WITHOUT ROWID;`,
];

/** Nobody else writes it back: a small part at a time, which waits for no disk. */
export const FAILURE_SETTINGS = 'PRAGMA wal_autocheckpoint = 200';

/** Beside the file of the request log. */
export function failuresFile(requestLogFile: string): string {
  return `${requestLogFile.replace(/\.db$/, '')}-failures.db`;
}

const INSERT = `INSERT INTO request_log_failures (${NAMES}) VALUES (${COLUMNS.map(() => '?').join(', ')})
  ${onConflict('request_log_failures')}`;

export function addFailures(database: DatabaseSync, counts: readonly FailureCount[]): void {
  const insert = database.prepare(INSERT);
  inTransaction(database, () => {
    for (const count of counts) insert.run(...COLUMNS.map(({ of }) => count[of]));
  });
}

const DIALECT: FailureDialect = {
  table: 'request_log_failures',
  byCondition: 'json_group_object(condition, failed)',
  oneOf: (column, place) => `${column} IN (SELECT value FROM json_each(${place}))`,
};

/** Hour after hour: a thread that counts meanwhile waits for one of them. */
export function changeFailures(database: DatabaseSync, keyIds: readonly string[], change: KeyChange): void {
  const keys = JSON.stringify(keyIds);
  const theirs = DIALECT.oneOf('key_id', '?');
  const hours = database.prepare(`SELECT DISTINCT start_ms FROM request_log_failures WHERE ${theirs}`).all(keys);
  const update = database.prepare(
    `UPDATE request_log_failures SET label = coalesce(?, label), account_id = coalesce(?, account_id)
    WHERE start_ms = ? AND ${theirs}`,
  );
  for (const { start_ms } of hours) {
    if (start_ms !== undefined) update.run(change.label ?? null, change.accountId ?? null, start_ms, keys);
  }
}

export function readFailures(database: DatabaseSync, query: FailureQuery): Promise<FailureReport> {
  return failureReport(query, DIALECT, ({ sql, values }) =>
    // Numbered places, which this engine writes with another sign.
    database.prepare(sql.replaceAll(/\$(\d+)/g, '?$1')).all(...values),
  );
}
