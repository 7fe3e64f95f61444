/** Statements of the embedded store: the sums in memory must have been written, and what is due must have expired. */

import { text, textOrNull } from '../../storage/columns.ts';
import type { StatementOutcome } from '../port.ts';
import { NO_CREDIT_CHARGED } from '../rules/money-rules.ts';
import { type StatementDialect, type StatementPayer, statementFrom, statementQueries } from '../rules/statement.ts';
import type { ColdStatements } from './statements.ts';

const DIALECT: StatementDialect = {
  schema: '',
  keys: ['keys', 'id'],
  parameter: (number) => `?${number}`,
  // The records have no index: they are read once, in the background.
  recorded: `usage u CROSS JOIN entries e ON e.key_id = u.key_id AND e.kind = 'charge' AND e.id = u.hold_id`,
  isOnPath: (account) => `EXISTS (SELECT 1 FROM json_each(e.path) p WHERE p.value = ${account})`,
};

export function statement(
  sql: ColdStatements,
  id: string,
  sinceMs: number,
  untilMs: number,
  nowMs: number,
): StatementOutcome {
  const payer = payerOf(sql, id);
  if (payer === null) return { kind: 'unknown_payer' };
  if (payer === 'tokens') return { kind: 'refused', reason: NO_CREDIT_CHARGED };
  const queries = statementQueries(payer.of, DIALECT);
  const sums = sql(queries.sums).get(id, sinceMs);
  if (sums === undefined) throw new Error('a sum has no row');
  const rows = (query: string) => sql(query).all(id, sinceMs, untilMs);
  const { entries, usage, tokens } = queries;
  return statementFrom(payer, sums, rows(entries), rows(usage), rows(tokens), nowMs);
}

function payerOf(sql: ColdStatements, id: string): StatementPayer | 'tokens' | null {
  const key = sql('SELECT label, mode FROM keys WHERE id = ?').get(id);
  if (key !== undefined) {
    return text(key, 'mode') === 'credit' ? { of: 'key', id, name: textOrNull(key, 'label') } : 'tokens';
  }
  const account = sql('SELECT name, parent_id FROM tree_accounts WHERE id = ?').get(id);
  if (account === undefined) return null;
  return { of: textOrNull(account, 'parent_id') === null ? 'root' : 'account', id, name: text(account, 'name') };
}
