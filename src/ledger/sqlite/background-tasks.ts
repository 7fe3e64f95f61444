/** What the background thread of the store does: it writes the log back into the database, and reads for reports, while commits go on. */
import type { MessagePort } from 'node:worker_threads';
import { type RollupStep, readStep } from '../../reports/sqlite/rollup.ts';
import { UsageTail } from '../../reports/sqlite/tail.ts';
import { defineTimeFunctions } from '../../reports/sqlite/time-counts.ts';
import type { Outcome } from '../operations.ts';
import { isDiskFailure, joinDatabase, servingError } from './database.ts';
import { type ReportOperation, type ReportTime, readReport } from './reports.ts';
import { coldStatements, defineSearch } from './statements.ts';

/** Reports read whole tables, and so may take long. */
export type BackgroundTask =
  | { readonly op: 'report'; readonly report: ReportOperation; readonly time: ReportTime }
  /** What to add to the rollups next. */
  | { readonly op: 'readRollup'; readonly limit: number }
  | { readonly op: 'checkpoint' };
export type BackgroundOutcome = Outcome | RollupStep;
export type BackgroundAnswer =
  | { readonly outcome: BackgroundOutcome }
  /** `disk`: an error of input or output, after which only a new process finds out what is there. */
  | { readonly failed: string; readonly disk: boolean };

/** Performs what a `BackgroundWorker` sends, and answers. Null ends it. */
export function serveTasks(port: MessagePort, file: string): void {
  const database = joinDatabase(file);
  defineTimeFunctions(database);
  defineSearch(database);
  const sql = coldStatements(database);
  const tail = new UsageTail();

  const perform = (task: BackgroundTask): BackgroundOutcome => {
    if (task.op === 'checkpoint') {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      return null;
    }
    // One consistent snapshot, whatever is committed meanwhile.
    database.exec('BEGIN');
    try {
      if (task.op === 'readRollup') return readStep(sql, task.limit);
      return readReport({ ...task.time, sql, tail }, task.report);
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
