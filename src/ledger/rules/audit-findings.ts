/** What the audit says about totals and rows that do not fit; the same words in every backend. */
import type { ColumnReaders } from './row-mapping.ts';

/** Totals that the account keeps, or the same totals from the rows that they sum up. */
export interface AuditedTotals {
  readonly purchased: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
  readonly liveHolds: bigint;
  readonly inPeriod: bigint;
  readonly inDay: bigint;
}

export interface AuditedAccount {
  readonly keyId: string;
  readonly credit: boolean;
  readonly kept: AuditedTotals;
  /** `used`, `inPeriod` and `inDay` are of all charges, whatever the mode. */
  readonly counted: AuditedTotals;
}

/** From a row of the query that reads what is kept together with what the entries and holds add up to. */
export function auditedAccount({ text, amount }: ColumnReaders): AuditedAccount {
  return {
    keyId: text('key_id'),
    credit: text('mode') === 'credit',
    kept: {
      purchased: amount('purchased'),
      used: amount('used'),
      reserved: amount('reserved'),
      liveHolds: amount('live_holds'),
      inPeriod: amount('period_used'),
      inDay: amount('day_spend'),
    },
    counted: {
      purchased: amount('entries_purchased'),
      used: amount('entries_charged'),
      reserved: amount('holds_reserved'),
      liveHolds: amount('holds_live'),
      inPeriod: amount('entries_in_period'),
      inDay: amount('entries_in_day'),
    },
  };
}

/** At most this many lines per kind of fault. */
export const FINDINGS_MAX = 20;

export function compareTotals({ keyId, credit, kept, counted }: AuditedAccount): readonly string[] {
  const pairs: readonly (readonly [string, bigint, bigint])[] = [
    ['purchased', kept.purchased, counted.purchased],
    ['used', kept.used, credit ? counted.used : 0n],
    ['spend of the day', kept.inDay, credit ? counted.inDay : 0n],
    ['used in the period', kept.inPeriod, credit ? 0n : counted.inPeriod],
    ['reserved', kept.reserved, counted.reserved],
    ['live holds', kept.liveHolds, counted.liveHolds],
  ];
  const findings = pairs
    .filter(([, asKept, asCounted]) => asKept !== asCounted)
    .map(([what, asKept, asCounted]) => `key ${keyId}: ${what} is kept as ${asKept}, its rows make ${asCounted}`);
  const available = kept.purchased - kept.used - kept.reserved;
  if (credit && available < 0n) findings.push(`key ${keyId}: ${-available} more is used and held than purchased`);
  return findings;
}

export function faultLine(keyId: string, what: string, id: string): string {
  return `key ${keyId}: ${what}: ${id}`;
}
