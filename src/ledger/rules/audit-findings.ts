/** What the audit says about totals and rows that do not fit; the same words in every backend. */
import { amount, isNull, type Row, text } from '../../storage/columns.ts';

/** At most this many lines per kind of fault. */
export const FINDINGS_MAX = 20;

/**
 * A key: from a row with what is kept, and with what the entries and holds add up to. The sums of charges are of all of them,
 * whatever the mode.
 */
export function compareKey(row: Row): readonly string[] {
  const whose = `key ${text(row, 'key_id')}`;
  const credit = text(row, 'mode') === 'credit';
  const ofAccount = !isNull(row, 'account_id');
  const sum = (column: string): bigint => amount(row, column);
  // The root has paid for what a key of an account has used and holds.
  const paid = credit && ofAccount ? sum('entries_charged') + sum('holds_reserved') : sum('entries_purchased');
  const findings = differences(whose, [
    ['purchased', sum('purchased'), paid],
    ['used', sum('used'), credit ? sum('entries_charged') : 0n],
    ['spend of the day', sum('day_spend'), credit ? sum('entries_in_day') : 0n],
    ['used in the period', sum('period_used'), credit && !ofAccount ? 0n : sum('entries_in_period')],
    ['reserved', sum('reserved'), sum('holds_reserved')],
    ['live holds', sum('live_holds'), sum('holds_live')],
  ]);
  const available = availableIn(row);
  if (credit && available < 0n) findings.push(`${whose}: ${-available} more is used and held than purchased`);
  return findings;
}

function availableIn(row: Row): bigint {
  return amount(row, 'purchased') - amount(row, 'used') - amount(row, 'reserved');
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
  const available = availableIn(row);
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
