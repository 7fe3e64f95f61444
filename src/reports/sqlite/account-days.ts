/**
 * The rollup by day and account, for reports over all keys. What is added to the one by day and key is added here in the same
 * transaction. As in every report, a key takes its usage along when it moves to another account; days from before this
 * rollup are built from the other one, the newest first. Both are read in the background, and added in short transactions.
 */
import { DAY_MS } from '../../core/time.ts';
import { USAGE_SUMS } from '../../core/usage-report.ts';
import { integer, text, textOrNull } from '../../storage/columns.ts';
import type { ColdStatements } from './statements.ts';
import { addStatement, type Figures, figuresFrom, SUMS_OF_GROUP, valuesOf } from './sums.ts';

export interface AccountDay extends Figures {
  readonly startMs: number;
  /** Empty for keys without an account. */
  readonly accountId: string;
}

/** What a key was charged by day, and the accounts between which it has moved. */
export interface MovedKey {
  readonly keyId: string;
  readonly fromId: string;
  readonly toId: string;
  readonly days: readonly Omit<AccountDay, 'accountId'>[];
}

/** Accounts of one day, in the order of their ids. */
export interface BuiltDay {
  /** Null where no day is left. */
  readonly startMs: number | null;
  /** They come after this one; null for the first of the day. */
  readonly afterId: string | null;
  readonly rows: readonly AccountDay[];
  /** Whether the day has others. */
  readonly more: boolean;
}

interface AccountDaysState {
  /** False where something was added to the other rollups only, by a release that does not know this one. */
  readonly current: boolean;
  /** Keys have moved whose usage is still at their former account. */
  readonly moved: boolean;
  /** Days from here on are in the rollup, and of the day before the accounts up to `upToId`. */
  readonly fromMs: number;
  readonly upToId: string | null;
}

/** Accounts that one step builds: it is about a millisecond. */
const BUILD_MAX = 128;
const ADD = addStatement('usage_account_days', ['start_ms', 'account_id']);
const TAKE = `UPDATE usage_account_days SET ${USAGE_SUMS.map((name) => `${name} = max(0, ${name} - ?)`).join(', ')},
  times = take_times(times, ?) WHERE start_ms = ? AND account_id = ?`;
/** One search for each day, instead of reading all of them. */
const DAYS_OF_KEY = `
  WITH RECURSIVE days(start_ms) AS (
    SELECT min(start_ms) FROM usage_key_days
    UNION ALL SELECT (SELECT min(n.start_ms) FROM usage_key_days n WHERE n.start_ms > d.start_ms) FROM days d
      WHERE d.start_ms IS NOT NULL
  )
  SELECT r.start_ms, ${SUMS_OF_GROUP} FROM days d
  CROSS JOIN usage_key_days r ON r.start_ms = d.start_ms AND r.key_id = ? GROUP BY r.start_ms`;
const ACCOUNTS_OF_DAY = `
  SELECT coalesce(k.account_id, '') AS account_id, ${SUMS_OF_GROUP}
  FROM usage_key_days r LEFT JOIN keys k ON k.id = r.key_id
  WHERE r.start_ms = ?1 AND (?2 IS NULL OR coalesce(k.account_id, '') > ?2) GROUP BY 1 ORDER BY 1 LIMIT ?3`;

export function readAccountDays(sql: ColdStatements): AccountDaysState {
  const row = sql(`SELECT a.version = w.version AS current, a.from_ms, a.account_id,
    EXISTS (SELECT 1 FROM usage_moved_keys) AS moved FROM usage_account_watermark a, usage_watermark w`).get();
  if (row === undefined) throw new TypeError('the rollups have no watermark');
  return {
    current: integer(row, 'current') === 1,
    moved: integer(row, 'moved') === 1,
    fromMs: integer(row, 'from_ms'),
    upToId: textOrNull(row, 'account_id'),
  };
}

/** The days that are whole in this rollup begin here; null where it cannot be used at the moment. */
export function accountDaysFrom(sql: ColdStatements): number | null {
  const { current, moved, fromMs } = readAccountDays(sql);
  return current && !moved ? fromMs : null;
}

/** Null where no key has moved. */
export function readMovedKey(sql: ColdStatements): MovedKey | null {
  const row = sql(`SELECT m.key_id, m.account_id AS from_id, coalesce(k.account_id, '') AS to_id
    FROM usage_moved_keys m JOIN keys k ON k.id = m.key_id LIMIT 1`).get();
  if (row === undefined) return null;
  const keyId = text(row, 'key_id');
  const days = sql(DAYS_OF_KEY)
    .all(keyId)
    .map((day) => ({ ...figuresFrom(day), startMs: integer(day, 'start_ms') }));
  return { keyId, fromId: text(row, 'from_id'), toId: text(row, 'to_id'), days };
}

/** Null where every day is built. */
export function readBuiltDay(sql: ColdStatements, { fromMs, upToId }: AccountDaysState): BuiltDay | null {
  if (fromMs === 0) return null;
  const row = sql('SELECT max(start_ms) AS start_ms FROM usage_key_days WHERE start_ms < ?').get(fromMs);
  if (row === undefined || row.start_ms === null) return { startMs: null, afterId: null, rows: [], more: false };
  const startMs = integer(row, 'start_ms');
  const found = sql(ACCOUNTS_OF_DAY).all(startMs, upToId, BUILD_MAX + 1);
  const rows = found
    .slice(0, BUILD_MAX)
    .map((account) => ({ ...figuresFrom(account), startMs, accountId: text(account, 'account_id') }));
  return { startMs, afterId: upToId, rows, more: found.length > BUILD_MAX };
}

/** After an addition that this rollup does not have: it is built anew, a day at a time. */
export function resetRollup(sql: ColdStatements): void {
  sql('DELETE FROM usage_moved_keys').run();
  sql(`UPDATE usage_account_watermark SET version = (SELECT version FROM usage_watermark), account_id = NULL,
    from_ms = coalesce((SELECT max(start_ms) + ${DAY_MS} FROM usage_key_days), 0)`).run();
}

export function addAccountDays(sql: ColdStatements, state: AccountDaysState, rows: readonly AccountDay[]): void {
  for (const row of rows) if (has(state, row)) add(sql, row);
}

/** Whether the key has not moved on since. */
export function isStillThere(sql: ColdStatements, { keyId, toId }: MovedKey): boolean {
  const row = sql("SELECT coalesce(account_id, '') AS account_id FROM keys WHERE id = ?").get(keyId);
  return row !== undefined && text(row, 'account_id') === toId;
}

export function moveAlong(sql: ColdStatements, state: AccountDaysState, { keyId, fromId, toId, days }: MovedKey): void {
  for (const day of days) {
    const { startMs } = day;
    if (has(state, { startMs, accountId: fromId })) {
      sql(TAKE).run(...valuesOf(day), startMs, fromId);
      sql('DELETE FROM usage_account_days WHERE start_ms = ? AND account_id = ? AND charges = 0').run(startMs, fromId);
    }
    const moved = { ...day, accountId: toId };
    if (has(state, moved)) add(sql, moved);
  }
  sql('DELETE FROM usage_moved_keys WHERE key_id = ?').run(keyId);
}

/** The state after it. */
export function addBuiltDay(sql: ColdStatements, state: AccountDaysState, built: BuiltDay): AccountDaysState {
  const { startMs, afterId, rows, more } = built;
  if (startMs !== null && afterId === null) sql('DELETE FROM usage_account_days WHERE start_ms = ?').run(startMs);
  for (const row of rows) add(sql, row);
  const after =
    startMs === null
      ? { ...state, fromMs: 0, upToId: null }
      : more
        ? { ...state, fromMs: startMs + DAY_MS, upToId: rows.at(-1)?.accountId ?? null }
        : { ...state, fromMs: startMs, upToId: null };
  sql('UPDATE usage_account_watermark SET from_ms = ?, account_id = ?').run(after.fromMs, after.upToId);
  return after;
}

/** Ids are ASCII: they compare here as in the database. */
function has({ fromMs, upToId }: AccountDaysState, { startMs, accountId }: Pick<AccountDay, 'startMs' | 'accountId'>) {
  return startMs >= fromMs || (startMs === fromMs - DAY_MS && upToId !== null && accountId <= upToId);
}

function add(sql: ColdStatements, day: AccountDay): void {
  sql(ADD).run(day.startMs, day.accountId, ...valuesOf(day));
}
