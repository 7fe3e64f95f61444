/** All SQL of the hot path, prepared once. Cold statements are prepared on first use. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Row } from '../../storage/columns.ts';
import { inDialect, SQLITE } from '../books/dialect.ts';
import { performNow, type Statement, type Work } from '../books/work.ts';
import { BatchInsert } from './batch-insert.ts';

export type Statements = ReturnType<typeof prepareStatements>;
export type ColdStatements = (sql: string) => StatementSync;

/** For statements that only an operator's or a background operation runs. */
export function coldStatements(database: DatabaseSync): ColdStatements {
  const known = new Map<string, StatementSync>();
  return (sql) => {
    let statement = known.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      // One text for both stores may need a value in the other one only.
      statement.setAllowUnknownNamedParameters(true);
      known.set(sql, statement);
    }
    return statement;
  };
}

/** What both stores do alike, at once. */
export function performCold<T>(sql: ColdStatements, work: Work<T>): T {
  const rows = ({ text, values }: Statement): readonly Row[] =>
    sql(inDialect(text, SQLITE)).all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])));
  return performNow(work, rows);
}

/** `has_part(text, part)`, in any case of letters, of every alphabet. */
export function defineSearch(database: DatabaseSync): void {
  database.function('has_part', { deterministic: true }, (whole, part) =>
    typeof whole === 'string' && whole.toLowerCase().includes(String(part).toLowerCase()) ? 1 : 0,
  );
}

export const CHARGE_COLUMNS = [
  ...['key_id', 'kind', 'id', 'amount', 'held', 'at_ms', 'flag'],
  ...['model', 'provider', 'format', 'cost_nanos', 'provider_cost_nanos'],
  // Of a key of an account.
  ...['tokens', 'held_tokens', 'root_id', 'path'],
];
const USAGE_COLUMNS = [
  ...['key_id', 'at_ms', 'hold_id', 'request_id', 'model', 'provider', 'format', 'streamed', 'outcome', 'source'],
  ...['input', 'cache_read', 'cache_write', 'cache_write_1h', 'output', 'reasoning'],
  ...['cost_nanos', 'provider_cost_nanos', 'attempts', 'duration_ms', 'first_byte_ms'],
];

export function prepareStatements(database: DatabaseSync) {
  const prepare = (sql: string) => database.prepare(sql);
  return {
    cold: coldStatements(database),
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    keyOfDigest: prepare('SELECT key_id FROM secrets WHERE digest = ?'),
    totals: prepare(inDialect('SELECT k.* FROM @keys_with_totals k WHERE k.key_id = ?', SQLITE)),
    saveTotals: prepare(`
      UPDATE accounts SET purchased = ?, used = ?, reserved = ?, live_holds = ?, period_start_ms = ?, period_used = ?,
        day_start_ms = ?, day_spend = ?, last_cost = ?, input_tokens = ?, output_tokens = ?, requests = ?, hold_ms = ?
      WHERE key_id = ?`),
    ratesOfKey: prepare('SELECT number, times FROM rates WHERE key_id = ? ORDER BY number'),
    addRates: prepare(`
      INSERT INTO rates (key_id, number, times, newest_ms) VALUES (?, ?, ?, ?)
      ON CONFLICT (key_id, number) DO UPDATE SET times = excluded.times, newest_ms = excluded.newest_ms`),
    deleteRates: prepare('DELETE FROM rates WHERE key_id = ? AND newest_ms <= ?'),
    tokenRatesOfKey: prepare('SELECT number, times, tokens FROM token_rates WHERE key_id = ? ORDER BY number'),
    addTokenRates: prepare(`
      INSERT INTO token_rates (key_id, number, times, tokens, newest_ms) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key_id, number)
        DO UPDATE SET times = excluded.times, tokens = excluded.tokens, newest_ms = excluded.newest_ms`),
    deleteTokenRates: prepare('DELETE FROM token_rates WHERE key_id = ? AND newest_ms <= ?'),
    holdsOfKey: prepare('SELECT * FROM holds WHERE key_id = ? ORDER BY held_at_ms'),
    addHold: prepare(`
      INSERT INTO holds (key_id, id, owner, amount, held_at_ms, expires_at_ms, claim_name, mark_charge, mark_detail,
        waiting, tokens, root_id, path, run)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    extendHold: prepare('UPDATE holds SET amount = ?, tokens = ?, waiting = ? WHERE key_id = ? AND id = ?'),
    markHold: prepare('UPDATE holds SET mark_charge = ?, mark_detail = ? WHERE key_id = ? AND id = ?'),
    deleteHold: prepare('DELETE FROM holds WHERE key_id = ? AND id = ?'),
    entry: prepare('SELECT amount, held, held_tokens, path FROM entries WHERE key_id = ? AND kind = ? AND id = ?'),
    addVoided: prepare('INSERT INTO voided (key_id, hold_id, held, at_ms) VALUES (?, ?, ?, ?)'),
    voided: prepare('SELECT 1 FROM voided WHERE key_id = ? AND hold_id = ?'),
    // Asked when a key is loaded: no row of such a key waits.
    newestEnded: prepare(`
      SELECT max(id) AS id FROM (
        SELECT max(id) AS id FROM entries WHERE key_id = ?1 AND kind = 'charge'
        UNION ALL SELECT max(hold_id) FROM voided WHERE key_id = ?1)`),
    rootOfAccount: prepare('SELECT root_id FROM tree_accounts WHERE id = ?'),
    saveNode: prepare(`
      UPDATE tree_accounts SET purchased = ?, used = ?, reserved = ?, reserved_tokens = ?, live_holds = ?,
        credit_start_ms = ?, credit_used = ?, tokens_start_ms = ?, tokens_used = ?, hold_ms = ?
      WHERE id = ?`),
    charges: new BatchInsert(database, 'INTO entries', CHARGE_COLUMNS),
    usage: new BatchInsert(database, 'INTO usage', USAGE_COLUMNS),
    unrolled: new BatchInsert(database, 'INTO unrolled', ['key_id', 'hold_id']),
    claim: prepare('SELECT * FROM claims WHERE key_id = ? AND name = ?'),
    addClaim: prepare(`
      INSERT INTO claims (key_id, name, fingerprint, hold_id, state) VALUES (?, ?, ?, ?, 'running')`),
    endClaim: prepare(`
      UPDATE claims SET state = ?, ended_at_ms = ?, reply_status = ?, reply_type = ?, reply_body = ?
      WHERE key_id = ? AND name = ?`),
    deleteClaim: prepare('DELETE FROM claims WHERE key_id = ? AND name = ?'),
  };
}
