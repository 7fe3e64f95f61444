/** Reports: they read the file alone, in the thread of the store or, while commits go on, in another one. */
import type { OperationName, OperationOf, Outcome } from '../operations.ts';
import { listAccounts } from './account-list.ts';
import { audit } from './audit.ts';
import { keyIds, listKeys } from './key-list.ts';
import { findCharge } from './money.ts';
import { statement } from './statement.ts';
import type { ColdStatements } from './statements.ts';
import { usageReport } from './usage-report.ts';
import type { UsageTail } from './usage-tail.ts';

/** The time of a report is read before what memory has is written for it: everything that is booked after it is later. */
export interface ReportTime {
  /** The time of the calendar, and the one that never jumps. */
  readonly nowMs: number;
  readonly steadyMs: number;
}

export interface ReportSource extends ReportTime {
  readonly sql: ColdStatements;
  /** What the reader keeps between two usage reports. */
  readonly tail?: UsageTail;
}

interface Report<N extends OperationName> {
  /** Whether everything that memory has must be in the file, and what is due expired; otherwise charges will do. */
  readonly ofEverything: boolean;
  readonly read: (source: ReportSource, operation: OperationOf<N>) => Outcome<N>;
}

const REPORTS = {
  // Holds last a time, which the audit looks at; the others ask for a date.
  audit: { ofEverything: true, read: ({ sql, steadyMs }) => audit(sql, steadyMs) },
  listKeys: { ofEverything: true, read: ({ sql, nowMs }, { query }) => listKeys(sql, nowMs, query) },
  listAccounts: { ofEverything: true, read: ({ sql, nowMs }, { query }) => listAccounts(sql, nowMs, query) },
  statement: {
    ofEverything: true,
    read: ({ sql, nowMs }, { id, sinceMs, untilMs }) => statement(sql, id, sinceMs, untilMs, nowMs),
  },
  keyIds: { ofEverything: false, read: ({ sql }, { accountId, below = false }) => keyIds(sql, accountId, below) },
  usageReport: { ofEverything: false, read: ({ sql, tail }, { query }) => usageReport(sql, query, tail) },
  findCharge: { ofEverything: false, read: ({ sql }, { requestId }) => findCharge(sql, requestId) },
} satisfies { readonly [N in OperationName]?: Report<N> };

export type ReportName = keyof typeof REPORTS;
export type ReportOperation = OperationOf<ReportName>;

export function isReport(operation: { readonly op: string }): operation is ReportOperation {
  return Object.hasOwn(REPORTS, operation.op);
}

export function isOfEverything({ op }: ReportOperation): boolean {
  return REPORTS[op].ofEverything;
}

export function readReport(source: ReportSource, operation: ReportOperation): Outcome {
  // A row of the table reads the operation that it is named after.
  const { read } = REPORTS[operation.op] as Report<ReportName>;
  return read(source, operation);
}
