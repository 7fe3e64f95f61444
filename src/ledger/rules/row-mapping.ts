/** Keys and accounts with their totals, from a row of any backend. */
import type { AccountRecord, AccountStatus, Cap } from '../../core/account.ts';
import type { KeyRecord, Mode, StoredStatus } from '../../core/key.ts';
import type { Period } from '../../core/period.ts';
import type { ColumnReaders } from './column-readers.ts';
import type { KeyTotals } from './key-totals.ts';
import { inheritedIn, limitsFrom } from './limits.ts';
import type { NodeTotals } from './tree.ts';

export function totalsFrom(row: ColumnReaders): KeyTotals {
  const integer = (column: string): number => Number(row.amount(column));
  return {
    key: keyFrom(row),
    purchased: row.amount('purchased'),
    used: row.amount('used'),
    reserved: row.amount('reserved'),
    liveHolds: integer('live_holds'),
    periodStartMs: integer('period_start_ms'),
    periodUsed: row.amount('period_used'),
    dayStartMs: integer('day_start_ms'),
    daySpend: row.amount('day_spend'),
    lastCost: row.amount('last_cost'),
    inputTokens: row.amount('input_tokens'),
    outputTokens: row.amount('output_tokens'),
    requests: integer('requests'),
    holdMs: integer('hold_ms'),
    promoMs: row.isNull('promo_ms') ? null : integer('promo_ms'),
  };
}

// The schema's CHECK constraints hold the values of mode, status and period to these types.
export function keyFrom(row: ColumnReaders): KeyRecord {
  const textOrNull = (column: string): string | null => (row.isNull(column) ? null : row.text(column));
  const integerOrNull = (column: string): number | null => (row.isNull(column) ? null : Number(row.amount(column)));
  return {
    id: row.text('key_id'),
    version: Number(row.amount('version')),
    mode: row.text('mode') as Mode,
    label: textOrNull('label'),
    status: row.text('status') as StoredStatus,
    expiresAtMs: integerOrNull('expires_at_ms'),
    providerScope: row.text('provider_scope'),
    ...limitsFrom(row),
    budget: row.isNull('budget') ? null : row.amount('budget'),
    period: row.text('period') as Period,
    accountId: textOrNull('account_id'),
    cap: row.isNull('cap') ? null : row.amount('cap'),
    inherited: inheritedIn(textOrNull('inherited'), textOrNull('account_id')),
    captureDays: integerOrNull('capture_days'),
    createdAtMs: Number(row.amount('created_at_ms')),
    prefix: row.text('prefix'),
  };
}

export function nodeFrom(row: ColumnReaders): NodeTotals {
  const integer = (column: string): number => Number(row.amount(column));
  return {
    account: accountFrom(row),
    purchased: row.amount('purchased'),
    used: row.amount('used'),
    reserved: row.amount('reserved'),
    reservedTokens: row.amount('reserved_tokens'),
    liveHolds: integer('live_holds'),
    creditStartMs: integer('credit_start_ms'),
    creditUsed: row.amount('credit_used'),
    tokensStartMs: integer('tokens_start_ms'),
    tokensUsed: row.amount('tokens_used'),
    holdMs: integer('hold_ms'),
    promoMs: row.isNull('promo_ms') ? null : integer('promo_ms'),
  };
}

export function accountFrom(row: ColumnReaders): AccountRecord {
  const textOrNull = (column: string): string | null => (row.isNull(column) ? null : row.text(column));
  const cap = (name: string): Cap | null =>
    row.isNull(`${name}_cap`)
      ? null
      : { amount: row.amount(`${name}_cap`), period: row.text(`${name}_period`) as Period };
  return {
    id: row.text('id'),
    version: Number(row.amount('version')),
    parentId: textOrNull('parent_id'),
    rootId: row.text('root_id'),
    name: row.text('name'),
    externalId: textOrNull('external_id'),
    // Written from an `AccountRecord`.
    labels: JSON.parse(row.text('labels')) as Record<string, string>,
    status: row.text('status') as AccountStatus,
    ...limitsFrom(row),
    creditCap: cap('credit'),
    tokenCap: cap('token'),
    createdAtMs: Number(row.amount('created_at_ms')),
  };
}
