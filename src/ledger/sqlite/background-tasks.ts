/** What the background thread of the store does: it writes the log back into the database, and reads for reports, while commits go on. */
import type { MessagePort } from 'node:worker_threads';
import type { UsageQuery } from '../../core/usage-report.ts';
import { usageReport } from '../../reports/sqlite/report.ts';
import { type RollupStep, readStep } from '../../reports/sqlite/rollup.ts';
import { UsageTail } from '../../reports/sqlite/tail.ts';
import { defineTimeFunctions } from '../../reports/sqlite/time-counts.ts';
import type { Outcome } from '../operations.ts';
import type { AccountListQuery, KeyListQuery } from '../port.ts';
import { listAccounts } from './account-list.ts';
import { audit } from './audit.ts';
import { defineSearch } from './conditions.ts';
import { isDiskFailure, joinDatabase, servingError } from './database.ts';
import { keyIds, listKeys } from './key-list.ts';
import { findCharge } from './money.ts';
import { statement } from './statement.ts';
import { coldStatements } from './statements.ts';

/** Reports read whole tables, and so may take long. */
export type BackgroundTask =
  | { readonly op: 'audit'; readonly nowMs: number }
  | { readonly op: 'listKeys'; readonly query?: KeyListQuery; readonly nowMs: number }
  | { readonly op: 'keyIds'; readonly accountId: string | null; readonly below: boolean }
  | { readonly op: 'listAccounts'; readonly query?: AccountListQuery; readonly nowMs: number }
  | {
      readonly op: 'statement';
      readonly id: string;
      readonly sinceMs: number;
      readonly untilMs: number;
      readonly nowMs: number;
    }
  | { readonly op: 'usageReport'; readonly query: UsageQuery }
  | { readonly op: 'findCharge'; readonly requestId: string }
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
      case 'audit':
        return audit(sql, task.nowMs);
      case 'listKeys':
        return listKeys(sql, task.nowMs, task.query);
      case 'keyIds':
        return keyIds(sql, task.accountId, task.below);
      case 'listAccounts':
        return listAccounts(sql, task.nowMs, task.query);
      case 'statement':
        return statement(sql, task.id, task.sinceMs, task.untilMs, task.nowMs);
      case 'usageReport':
        return usageReport(sql, task.query, tail);
      case 'findCharge':
        return findCharge(sql, task.requestId);
      case 'readRollup':
        return readStep(sql, task.limit);
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
