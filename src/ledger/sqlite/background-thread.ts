/** The background thread of the store: writes the log back into the database, and reads for reports, while commits go on. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Outcome } from '../operations.ts';
import { audit } from './audit.ts';
import { isDiskFailure, joinDatabase, servingError } from './database.ts';
import { listKeys } from './keys.ts';
import { coldStatements } from './statements.ts';

/** Reports read whole tables, and so may take long. */
export type BackgroundTask =
  | { readonly op: 'audit' | 'listKeys'; readonly nowMs: number }
  | { readonly op: 'checkpoint' };
export type BackgroundAnswer =
  | { readonly outcome: Outcome }
  /** `disk`: an error of input or output, after which only a new process finds out what is there. */
  | { readonly failed: string; readonly disk: boolean };

if (parentPort !== null) {
  const port = parentPort;
  const { file } = workerData as { readonly file: string };
  const database = joinDatabase(file);
  const sql = coldStatements(database);

  const perform = (task: BackgroundTask): Outcome => {
    if (task.op === 'checkpoint') {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      return null;
    }
    // One consistent snapshot, whatever is committed meanwhile.
    database.exec('BEGIN');
    try {
      return task.op === 'audit' ? audit(sql, task.nowMs) : listKeys(sql, task.nowMs);
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK');
    }
  };

  port.on('message', (task: BackgroundTask | null) => {
    if (task === null) {
      database.close();
      port.close();
      return;
    }
    try {
      port.postMessage({ outcome: perform(task) } satisfies BackgroundAnswer);
    } catch (error) {
      port.postMessage({
        failed: servingError(error, database).message,
        disk: isDiskFailure(error),
      } satisfies BackgroundAnswer);
    }
  });
}
