/** What the background thread of the store does: it writes the log back into the database, and reads for reports, while commits go on. */
import type { MessagePort } from 'node:worker_threads';
import type { UsageQuery } from '../../core/usage-report.ts';
import { usageReport } from '../../reports/sqlite/report.ts';
import { type RollupStep, readStep } from '../../reports/sqlite/rollup.ts';
import { UsageTail } from '../../reports/sqlite/tail.ts';
import { defineTimeFunctions } from '../../reports/sqlite/time-counts.ts';
import { SQLITE } from '../books/dialect.ts';
import { type ReportOperation, reportOf } from '../books/perform.ts';
import type { Outcome } from '../operations.ts';
import { isDiskFailure, joinDatabase, servingError } from './database.ts';
import { coldStatements, defineSearch, performCold } from './statements.ts';

/** Reports read whole tables, and so may take long. */
export type BackgroundTask =
  | (ReportOperation & { readonly nowMs: number })
  | { readonly op: 'usageReport'; readonly query: UsageQuery }
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

  const read = (task: Exclude<BackgroundTask, { op: 'checkpoint' }>): BackgroundOutcome => {
    switch (task.op) {
      case 'usageReport':
        return usageReport(sql, task.query, tail);
      case 'readRollup':
        return readStep(sql, task.limit);
      default:
        return performCold(sql, reportOf({ dialect: SQLITE, nowMs: task.nowMs }, task));
    }
  };

  const perform = (task: BackgroundTask): BackgroundOutcome => {
    if (task.op === 'checkpoint') {
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      return null;
    }
    // One consistent snapshot, whatever is committed meanwhile.
    database.exec('BEGIN');
    try {
      return read(task);
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
