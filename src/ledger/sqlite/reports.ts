/** Reports: they read the file alone, in the thread of the store or, while commits go on, in another one. */
import { usageReport } from '../../reports/sqlite/report.ts';
import type { UsageTail } from '../../reports/sqlite/tail.ts';
import { SQLITE } from '../books/dialect.ts';
import { type ReportOperation as BooksReport, isReport as isBooksReport, reportOf } from '../books/perform.ts';
import type { Operation, OperationOf, Outcome } from '../operations.ts';
import { type ColdStatements, performCold } from './statements.ts';

/** The time of a report is read before what memory has is written for it: everything that is booked after it is later. */
export interface ReportTime {
  /** The time of the calendar, and the one that never jumps. */
  readonly nowMs: number;
  readonly steadyMs: number;
}

interface ReportSource extends ReportTime {
  readonly sql: ColdStatements;
  /** What the reader keeps between two usage reports. */
  readonly tail?: UsageTail;
}

export type ReportOperation = BooksReport | OperationOf<'usageReport'>;
export type ReportName = ReportOperation['op'];

/** For these it is enough that charges are in the file. */
const OF_CHARGES: ReadonlySet<ReportName> = new Set<ReportName>(['findCharge', 'keyIds', 'usageReport']);

export function isReport(operation: Operation): operation is ReportOperation {
  return operation.op === 'usageReport' || isBooksReport(operation);
}

/** Whether everything that memory has must be in the file, and what is due expired. */
export function isOfEverything({ op }: ReportOperation): boolean {
  return !OF_CHARGES.has(op);
}

export function readReport({ sql, nowMs, steadyMs, tail }: ReportSource, operation: ReportOperation): Outcome {
  if (operation.op === 'usageReport') return usageReport(sql, operation.query, tail);
  // Holds last a time, which the audit looks at; the others ask for a date.
  const atMs = operation.op === 'audit' ? steadyMs : nowMs;
  return performCold(sql, reportOf({ dialect: SQLITE, nowMs: atMs }, operation));
}
