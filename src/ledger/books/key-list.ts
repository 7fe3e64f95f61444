/** Keys for the operator, in the order in which they were made: what is asked for is found here, and nothing else leaves the store. */
import { amount, integer, type Row, text, textsBy } from '../../storage/columns.ts';
import type { KeyExpiry, KeyListQuery, KeySummary } from '../port.ts';
import { keySummary } from '../rules/key-rules.ts';
import type { KeyTotals } from '../rules/key-totals.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import { Conditions, type Dialect, type Reading, within } from './dialect.ts';
import { query, type Work } from './work.ts';

/** Newest first. */
const IN_ORDER = 'ORDER BY k.created_at_ms DESC, k.created_number DESC';

/** What a key shows: as if what is due of its promotional credit had expired. */
export interface ShownKey {
  readonly totals: KeyTotals;
  readonly nowMs: number;
}

export function* shownKeys({ dialect }: Reading, where: string, ...values: Conditions['values']): Work<ShownKey[]> {
  const rows = yield* query(
    `SELECT k.*, ${dialect.timeOf('k')} AS time_ms, ${dialect.pendingOf('k', 'k.key_id', true)} AS pending
    FROM @keys_with_totals k ${where} ${IN_ORDER}`,
    ...values,
  );
  return rows.map((row) => ({ totals: withoutPending(totalsFrom(row), row), nowMs: integer(row, 'time_ms') }));
}

export function withoutPending<T extends { purchased: bigint }>(totals: T, row: Row): T {
  totals.purchased -= amount(row, 'pending');
  return totals;
}

export function* listKeys(reading: Reading, wanted: KeyListQuery = {}): Work<readonly KeySummary[]> {
  const conditions = conditionsOf(reading, wanted);
  // Found by a few columns: a list of all in their order is not carried along whole.
  const found = `SELECT k.key_id FROM @keys k ${conditions.where} ${IN_ORDER} ${conditions.limit(wanted.limit)}`;
  const keys = yield* shownKeys(reading, `WHERE k.key_id IN (${found})`, ...conditions.values);
  const prefixes = yield* secretPrefixes(
    reading.dialect,
    keys.map(({ totals }) => totals.key.id),
  );
  return keys.map(({ totals, nowMs }) => keySummary(totals, nowMs, prefixes.get(totals.key.id) ?? []));
}

/** `$1` is the time. */
function conditionsOf({ dialect, nowMs }: Reading, wanted: KeyListQuery): Conditions {
  const { after, status, mode, accountId, below = false, label, search } = wanted;
  const conditions = new Conditions(dialect, nowMs);
  conditions.add(
    after,
    (place) => `(k.created_at_ms, k.created_number) <
      (SELECT s.created_at_ms, s.created_number FROM @keys s WHERE s.key_id = ${place})`,
  );
  conditions.add(
    status,
    (place) => `CASE WHEN k.status = 'active' AND k.expires_at_ms <= ${dialect.timeOf('k')} THEN 'expired'
      ELSE k.status END = ${place}`,
  );
  conditions.add(mode, (place) => `k.mode = ${place}`);
  addAccount(conditions, accountId, below);
  conditions.add(label, (place) => `k.label = ${place}`);
  conditions.add(
    search,
    (place) => `(${dialect.hasPart('k.label', place)} OR ${dialect.hasPart('k.key_id', place)}
      OR EXISTS (SELECT 1 FROM @secrets s WHERE s.key_id = k.key_id AND ${dialect.hasPart('s.prefix', place)}))`,
  );
  return conditions;
}

function addAccount(conditions: Conditions, accountId: string | null | undefined, below: boolean): void {
  if (accountId === null) conditions.always('k.account_id IS NULL');
  else conditions.add(accountId, (place) => `k.account_id ${below ? `IN ${within(place)}` : `= ${place}`}`);
}

/** Of each key, newest first. */
export function* secretPrefixes(
  dialect: Dialect,
  keyIds: readonly string[],
): Work<ReadonlyMap<string, readonly string[]>> {
  const rows = yield* query(
    `SELECT key_id, prefix FROM @secrets WHERE ${dialect.isOneOf('key_id', '$1')} ORDER BY key_id, number DESC`,
    JSON.stringify(keyIds),
  );
  return textsBy(rows, 'key_id', 'prefix');
}

export function* keyIds(dialect: Dialect, accountId: string | null, below: boolean): Work<readonly string[]> {
  const conditions = new Conditions(dialect);
  addAccount(conditions, accountId, below);
  const rows = yield* query(`SELECT k.key_id FROM @keys k ${conditions.where}`, ...conditions.values);
  return rows.map((row) => text(row, 'key_id'));
}

export function* expiringKeys(after: KeyExpiry, untilMs: number, limit: number): Work<readonly KeyExpiry[]> {
  const rows = yield* query(
    `SELECT k.key_id, k.expires_at_ms FROM @keys k WHERE k.expires_at_ms IS NOT NULL AND k.status <> 'revoked'
      AND (k.expires_at_ms, k.key_id) > ($1, $2) AND k.expires_at_ms <= $3 ORDER BY k.expires_at_ms, k.key_id LIMIT $4`,
    after.atMs,
    after.keyId,
    untilMs,
    limit,
  );
  return rows.map((row) => ({ atMs: integer(row, 'expires_at_ms'), keyId: text(row, 'key_id') }));
}
