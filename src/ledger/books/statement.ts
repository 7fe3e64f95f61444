/** Statements of whoever pays: what was there, what came, what was spent. */
import { amount, integer, integerOrNull, isNull, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Statement, StatementEntry, StatementOutcome, StatementUsage, TokenClass } from '../port.ts';
import { NO_CREDIT_CHARGED, SIGNED_AMOUNT } from '../rules/money-rules.ts';
import type { Dialect, Reading } from './dialect.ts';
import { query, queryOne, type Work } from './work.ts';

const TOKEN_CLASSES: readonly TokenClass[] = [
  ...(['input', 'cache_read', 'cache_write', 'cache_write_1h', 'output', 'reasoning'] as const),
];
/** Two sums for each class, because one could be out of range: what providers report is not bounded otherwise. */
const HALF = 4_294_967_296n;
const TOKEN_SUMS = TOKEN_CLASSES.map(
  (name) => `sum(u.${name} / ${HALF}) AS ${name}_high, sum(u.${name} % ${HALF}) AS ${name}_low`,
);

/** At one moment: nothing is added to a time that is over. */
export function* statement(
  { dialect, nowMs }: Reading,
  id: string,
  sinceMs: number,
  untilMs: number,
): Work<StatementOutcome> {
  const payer = yield* payerOf(id);
  if (payer === null) return { kind: 'unknown_payer' };
  if (payer === 'tokens') return { kind: 'refused', reason: NO_CREDIT_CHARGED };
  const { of, name } = payer;
  const time = [id, sinceMs, untilMs] as const;
  const [from, until] = ['$2', '$3'];
  const booked = bookedBy(of);
  const charges = chargesOf(of, dialect);
  // Of everything before the time.
  const sums = yield* queryOne(
    `SELECT coalesce((SELECT ${dialect.signedSum('b.amount')} FROM (${booked}) b WHERE b.at_ms < ${from}), 0) AS booked,
      coalesce((SELECT sum(e.amount) ${charges} AND e.at_ms < ${from}), 0) AS charged`,
    id,
    sinceMs,
  );
  if (sums === undefined) throw new Error('a sum has no row');
  const entryRows = yield* query(
    `SELECT b.* FROM (${booked}) b WHERE b.at_ms >= ${from} AND b.at_ms < ${until} ORDER BY b.at_ms, b.kind, b.id`,
    ...time,
  );
  const usageRows = yield* query(
    `SELECT e.key_id, e.model, count(*) AS charges, sum(e.amount) AS amount ${charges}
      AND e.at_ms >= ${from} AND e.at_ms < ${until} GROUP BY e.key_id, e.model ORDER BY e.key_id, e.model`,
    ...time,
  );
  // The same of the charges that have a usage record.
  const tokenRows = yield* query(
    `SELECT e.key_id, e.model, count(*) AS recorded, ${TOKEN_SUMS.join(', ')}
      ${chargesOf(of, dialect, dialect.recorded)} AND e.at_ms >= ${from} AND e.at_ms < ${until}
        AND u.at_ms >= ${from} AND u.at_ms < ${until} GROUP BY e.key_id, e.model`,
    ...time,
  );
  const entries = entryRows.map(entryFrom);
  const recorded = new Map(tokenRows.map((row) => [groupOf(row), row]));
  const usage = usageRows.map((row) => usageFrom(row, recorded.get(groupOf(row))));
  const opening = of === 'account' ? null : amount(sums, 'booked') - amount(sums, 'charged');
  const added = entries.reduce((sum, { amount }) => sum + amount, 0n);
  const spent = usage.reduce((sum, { amount }) => sum + amount, 0n);
  const closing = opening === null ? null : opening + added - spent;
  return { kind: 'statement', of, name, opening, closing, entries, usage, nowMs };
}

function* payerOf(id: string): Work<Pick<Statement, 'of' | 'name'> | 'tokens' | null> {
  const key = yield* queryOne('SELECT k.label, k.mode FROM @keys k WHERE k.key_id = $1', id);
  if (key !== undefined) {
    return text(key, 'mode') === 'credit' ? { of: 'key', name: textOrNull(key, 'label') } : 'tokens';
  }
  const account = yield* queryOne('SELECT t.name, t.parent_id FROM @tree_accounts t WHERE t.id = $1', id);
  if (account === undefined) return null;
  return { of: isNull(account, 'parent_id') ? 'root' : 'account', name: text(account, 'name') };
}

/** Everything but charges, with its sign; what earlier releases have booked for a key is among its charges. */
function bookedBy(of: Statement['of']): string {
  const booked = `SELECT kind, id, ${SIGNED_AMOUNT} AS amount, at_ms, note, actor, charge_id,
      expires_at_ms, other_id
    FROM @account_entries WHERE node_id = $1`;
  if (of !== 'key') return booked;
  return `SELECT 'purchase' AS kind, e.id, e.amount, e.at_ms, e.note, NULL AS actor, NULL AS charge_id,
      NULL AS expires_at_ms, NULL AS other_id
    FROM @entries e WHERE e.key_id = $1 AND e.kind = 'purchase' UNION ALL ${booked}`;
}

/** From the charges in credits that count; of a key, those that it paid for itself. */
function chargesOf(of: Statement['of'], dialect: Dialect, entries = '@entries e'): string {
  const from = `FROM ${entries} JOIN @keys k ON k.key_id = e.key_id WHERE e.kind = 'charge' AND k.mode = 'credit'`;
  if (of === 'key') return `${from} AND e.key_id = $1 AND e.root_id IS NULL`;
  if (of === 'root') return `${from} AND e.root_id = $1`;
  return `${from} AND e.root_id = (SELECT t.root_id FROM @tree_accounts t WHERE t.id = $1) AND ${dialect.isOnPath('$1')}`;
}

// The schema's CHECK constraint holds the kind to this type.
function entryFrom(row: Row): StatementEntry {
  return {
    kind: text(row, 'kind') as StatementEntry['kind'],
    id: text(row, 'id'),
    amount: amount(row, 'amount'),
    atMs: integer(row, 'at_ms'),
    note: textOrNull(row, 'note'),
    actor: textOrNull(row, 'actor'),
    chargeId: textOrNull(row, 'charge_id'),
    expiresAtMs: integerOrNull(row, 'expires_at_ms'),
    otherId: textOrNull(row, 'other_id'),
  };
}

/** Ids of keys have no spaces. */
function groupOf(row: Row): string {
  return isNull(row, 'model') ? text(row, 'key_id') : `${text(row, 'key_id')} ${text(row, 'model')}`;
}

function usageFrom(row: Row, recorded: Row | undefined): StatementUsage {
  const tokens = (name: TokenClass): bigint =>
    recorded === undefined ? 0n : amount(recorded, `${name}_high`) * HALF + amount(recorded, `${name}_low`);
  return {
    keyId: text(row, 'key_id'),
    model: isNull(row, 'model') || text(row, 'model') === '' ? null : text(row, 'model'),
    charges: integer(row, 'charges'),
    amount: amount(row, 'amount'),
    recorded: recorded === undefined ? 0 : integer(recorded, 'recorded'),
    tokens: Object.fromEntries(TOKEN_CLASSES.map((name) => [name, tokens(name)])) as StatementUsage['tokens'],
  };
}
