/** Statements from PostgreSQL. */

import { text } from '../../storage/columns.ts';
import type { StatementOutcome } from '../port.ts';
import { NO_CREDIT_CHARGED } from '../rules/money-rules.ts';
import { type StatementDialect, type StatementPayer, statementFrom, statementQueries } from '../rules/statement.ts';
import { findLocked } from './accounts.ts';
import type { Query } from './connection.ts';
import { lock, type Work } from './keys.ts';

const DIALECT: StatementDialect = {
  schema: 'gateway.',
  keys: ['accounts', 'key_id'],
  parameter: (number) => `$${number}`,
  recorded: `gateway.entries e JOIN gateway.usage u ON u.key_id = e.key_id AND u.at_ms = e.at_ms AND u.hold_id = e.id`,
  isOnPath: (account) => `${account} = ANY (e.path)`,
};

/**
 * Before a statement is read, under the lock of whoever pays: what is due has expired, and everything that is booked from now
 * on is later than now. So nothing is added to a time that is over.
 */
export async function closeTime(work: Work, id: string): Promise<null> {
  const key = await lock(work, id);
  if (key !== null) {
    await work.query('UPDATE gateway.accounts SET seen_ms = greatest(seen_ms, $2) WHERE key_id = $1', [id, work.nowMs]);
    return null;
  }
  const account = await findLocked(work, id);
  if (account !== null) {
    const rootId = account.root.account.id;
    await work.query('UPDATE gateway.tree_accounts SET seen_ms = greatest(seen_ms, $2) WHERE id = $1', [
      rootId,
      work.nowMs,
    ]);
  }
  return null;
}

/** The transaction must see one moment (`REPEATABLE READ`). */
export async function statement(
  { query, nowMs }: Work,
  id: string,
  sinceMs: number,
  untilMs: number,
): Promise<StatementOutcome> {
  const payer = await payerOf(query, id);
  if (payer === null) return { kind: 'unknown_payer' };
  if (payer === 'tokens') return { kind: 'refused', reason: NO_CREDIT_CHARGED };
  const queries = statementQueries(payer.of, DIALECT);
  const [sums] = await query(queries.sums, [id, sinceMs]);
  if (sums === undefined) throw new Error('a sum has no row');
  const rows = async (sql: string) => await query(sql, [id, sinceMs, untilMs]);
  const [entries, usage] = [await rows(queries.entries), await rows(queries.usage)];
  return statementFrom(payer, sums, entries, usage, await rows(queries.tokens), nowMs);
}

async function payerOf(query: Query, id: string): Promise<StatementPayer | 'tokens' | null> {
  const [key] = await query('SELECT label, mode FROM gateway.accounts WHERE key_id = $1', [id]);
  if (key !== undefined) {
    return text(key, 'mode') === 'credit'
      ? { of: 'key', id, name: key.label === null ? null : text(key, 'label') }
      : 'tokens';
  }
  const [account] = await query('SELECT name, parent_id FROM gateway.tree_accounts WHERE id = $1', [id]);
  if (account === undefined) return null;
  return { of: account.parent_id === null ? 'root' : 'account', id, name: text(account, 'name') };
}
