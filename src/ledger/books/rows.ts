/** Keys and accounts as rows: `row-mapping.ts` reads what is written here. */
import type { AccountRecord } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import { inheritedText, LIMIT_COLUMNS, limitValues } from '../rules/limits.ts';
import { query, type Value, type Work } from './work.ts';

/** Of a key beside its id, in the order of `keyValues`. */
export const KEY_COLUMNS: readonly string[] = [
  ...['version', 'mode', 'label', 'status', 'expires_at_ms', 'provider_scope', 'budget', 'period', 'account_id', 'cap'],
  ...['created_at_ms', 'prefix', 'capture_days', 'inherited'],
  ...LIMIT_COLUMNS,
];

export function keyValues(key: KeyRecord): readonly Value[] {
  return [
    key.version,
    key.mode,
    key.label,
    key.status,
    key.expiresAtMs,
    key.providerScope,
    key.budget,
    key.period,
    key.accountId,
    key.cap,
    key.createdAtMs,
    key.prefix,
    key.captureDays,
    inheritedText(key.inherited),
    ...limitValues(key),
  ];
}

/** The running sums of a key. */
export const TOTAL_COLUMNS: readonly string[] = [
  ...['purchased', 'used', 'reserved', 'live_holds', 'period_start_ms', 'period_used', 'day_start_ms', 'day_spend'],
  ...['last_cost', 'input_tokens', 'output_tokens', 'requests', 'hold_ms', 'promo_ms'],
];

/** Of an account beside its id, in the order of `accountValues`. */
export const ACCOUNT_COLUMNS: readonly string[] = [
  ...['root_id', 'parent_id', 'version', 'name', 'external_id', 'labels', 'status', 'credit_cap', 'credit_period'],
  ...['token_cap', 'token_period', 'created_at_ms'],
  ...LIMIT_COLUMNS,
];

export function accountValues(account: AccountRecord): readonly Value[] {
  const { creditCap, tokenCap } = account;
  return [
    account.rootId,
    account.parentId,
    account.version,
    account.name,
    account.externalId,
    JSON.stringify(account.labels),
    account.status,
    creditCap?.amount ?? null,
    creditCap?.period ?? null,
    tokenCap?.amount ?? null,
    tokenCap?.period ?? null,
    account.createdAtMs,
    ...limitValues(account),
  ];
}

export function insertion(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`;
}

/** Writes all columns of one row. */
export function* update(
  [table, idColumn]: readonly [table: string, idColumn: string],
  id: string,
  columns: readonly string[],
  values: readonly Value[],
): Work<void> {
  const changes = columns.map((name, index) => `${name} = $${index + 2}`).join(', ');
  yield* query(`UPDATE ${table} SET ${changes} WHERE ${idColumn} = $1`, id, ...values);
}
