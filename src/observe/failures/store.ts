/**
 * The counts of requests that were refused or failed, so that reports have them beside what was charged: by hour and group, for
 * as long as reports go back. The request log, from which single requests expire, keeps none of them.
 */
import type { UsageGroup, UsageQuery } from '../../core/usage-report.ts';

/** How many failed in one hour, in one group. A text that there is none of is empty. */
export interface FailureCount {
  /** Of the hour. */
  readonly startMs: number;
  readonly keyId: string;
  /** What the key was called when it failed last, and its account. */
  readonly label: string;
  readonly accountId: string;
  /** Of the catalog. */
  readonly model: string;
  /** The last one that was called. */
  readonly provider: string;
  readonly format: string;
  readonly condition: string;
  readonly failed: number;
}

/** How many failed, by their condition. */
export type FailedByCondition = Readonly<Record<string, number>>;

export type FailureQuery = Pick<UsageQuery, 'sinceMs' | 'untilMs' | 'by' | 'filter' | 'keys' | 'rowsMax' | 'offsets'>;

export interface FailureReport {
  /** Those with the most first, no more than `rowsMax` of them. */
  readonly rows: readonly { readonly group: UsageGroup; readonly failed: FailedByCondition }[];
  /** Of all groups. */
  readonly total: FailedByCondition;
  /** Of requests whose key is not known, in all of the time, whatever else is asked for: they are in no group. */
  readonly withoutKey: FailedByCondition;
}

/** Where a serving thread adds what it has counted. */
export interface FailureSink {
  /** All of them or none; rejects when the store did not take them. */
  count(counts: readonly FailureCount[]): Promise<void>;
}

/** What has become of keys, in whatever of them has been counted so far; what is absent stays as it is. */
export type KeyChange = Partial<Pick<FailureCount, 'label' | 'accountId'>>;

export interface FailureSource {
  failures(query: FailureQuery): Promise<FailureReport>;
  changeFailures(keyIds: readonly string[], change: KeyChange): Promise<void>;
}

export const NO_FAILURES: FailureReport = { rows: [], total: {}, withoutKey: {} };
