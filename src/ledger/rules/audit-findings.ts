/** What the audit says about totals and rows that do not fit; the same words in every backend. */
import { amount, isNull, type Row, text } from '../../storage/columns.ts';

/** Totals that the account keeps, or the same totals from the rows that they sum up. */
export interface AuditedTotals {
  readonly purchased: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
  readonly liveHolds: bigint;
  readonly inPeriod: bigint;
  readonly inDay: bigint;
}

export interface AuditedKey {
  readonly keyId: string;
  readonly credit: boolean;
  /** Whether an account pays for it. */
  readonly ofAccount: boolean;
  readonly kept: AuditedTotals;
  /** `used`, `inPeriod` and `inDay` are of all charges, whatever the mode. */
  readonly counted: AuditedTotals;
}

/** From a row of the query that reads what is kept together with what the entries and holds add up to. */
export function auditedKey(row: Row): AuditedKey {
  return {
    keyId: text(row, 'key_id'),
    credit: text(row, 'mode') === 'credit',
    ofAccount: !isNull(row, 'account_id'),
    kept: {
      purchased: amount(row, 'purchased'),
      used: amount(row, 'used'),
      reserved: amount(row, 'reserved'),
      liveHolds: amount(row, 'live_holds'),
      inPeriod: amount(row, 'period_used'),
      inDay: amount(row, 'day_spend'),
    },
    counted: {
      purchased: amount(row, 'entries_purchased'),
      used: amount(row, 'entries_charged'),
      reserved: amount(row, 'holds_reserved'),
      liveHolds: amount(row, 'holds_live'),
      inPeriod: amount(row, 'entries_in_period'),
      inDay: amount(row, 'entries_in_day'),
    },
  };
}

/** At most this many lines per kind of fault. */
export const FINDINGS_MAX = 20;

export function compareTotals({ keyId, credit, ofAccount, kept, counted }: AuditedKey): readonly string[] {
  // The root has paid for what a key of an account has used and holds.
  const paid = credit && ofAccount ? counted.used + counted.reserved : counted.purchased;
  const pairs: readonly Compared[] = [
    ['purchased', kept.purchased, paid],
    ['used', kept.used, credit ? counted.used : 0n],
    ['spend of the day', kept.inDay, credit ? counted.inDay : 0n],
    ['used in the period', kept.inPeriod, credit && !ofAccount ? 0n : counted.inPeriod],
    ['reserved', kept.reserved, counted.reserved],
    ['live holds', kept.liveHolds, counted.liveHolds],
  ];
  const findings = differences(`key ${keyId}`, pairs);
  const available = kept.purchased - kept.used - kept.reserved;
  if (credit && available < 0n) findings.push(`key ${keyId}: ${-available} more is used and held than purchased`);
  return findings;
}

type Compared = readonly [what: string, asKept: bigint, asCounted: bigint];

function differences(whose: string, pairs: readonly Compared[]): string[] {
  return pairs
    .filter(([, asKept, asCounted]) => asKept !== asCounted)
    .map(([what, asKept, asCounted]) => `${whose}: ${what} is kept as ${asKept}, its rows make ${asCounted}`);
}

/** An account of a tree: from a row with what is kept, and with what the entries and holds on paths through it add up to. */
export function compareNode(row: Row): readonly string[] {
  const whose = `account ${text(row, 'id')}`;
  const findings = differences(
    whose,
    NODE_SUMS.map(([what, kept, counted]) => [what, amount(row, kept), amount(row, counted)]),
  );
  const available = amount(row, 'purchased') - amount(row, 'used') - amount(row, 'reserved');
  if (isNull(row, 'parent_id') && available < 0n) {
    findings.push(`${whose}: ${-available} more is used and held than purchased`);
  }
  return findings;
}

/** What it is, the column that keeps it, and the column that recomputes it. */
const NODE_SUMS: readonly (readonly [what: string, kept: string, counted: string])[] = [
  ['purchased', 'purchased', 'entries_purchased'],
  ['used', 'used', 'entries_used'],
  ['credit of the period', 'credit_used', 'entries_credit'],
  ['tokens of the period', 'tokens_used', 'entries_tokens'],
  ['reserved', 'reserved', 'holds_reserved'],
  ['reserved tokens', 'reserved_tokens', 'holds_tokens'],
  ['live holds', 'live_holds', 'holds_live'],
];

export function faultLine(keyId: string, what: string, id: string): string {
  return `key ${keyId}: ${what}: ${id}`;
}
