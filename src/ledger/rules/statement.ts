/** Statements, as both stores make them: the SQL that they share, and the sums. */
import { amount, integer, integerOrNull, isNull, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Statement, StatementEntry, StatementUsage, TokenClass } from '../port.ts';
import { signedSum } from './money-faults.ts';
import { SIGNED_AMOUNT } from './money-rules.ts';

/** Whose statement it is, and until when: all times are before `untilMs`. */
export interface StatementPayer {
  readonly of: Statement['of'];
  readonly id: string;
  readonly name: string | null;
}

/** How a dialect names what differs between the two. */
export interface StatementDialect {
  readonly schema: '' | 'gateway.';
  /** The table that has the mode of a key, and its column of the key's id. */
  readonly keys: readonly [table: string, id: string];
  /** Parameters by their number. */
  parameter(number: number): string;
  /** Whether the path of the entry `e` goes through the account. */
  isOnPath(account: string): string;
  /** The entries `e` with their usage records `u`, from whichever it finds the others by a key. */
  readonly recorded: string;
}

export interface StatementQueries {
  /** Parameters: the payer, and the first time that is not counted. Gives `booked` and `charged`. */
  readonly sums: string;
  /** Parameters: the payer, from and until. */
  readonly entries: string;
  readonly usage: string;
  /** By key and model, as `usage`, of the charges that have a usage record. */
  readonly tokens: string;
}

const TOKEN_CLASSES: readonly TokenClass[] = [
  ...(['input', 'cache_read', 'cache_write', 'cache_write_1h', 'output', 'reasoning'] as const),
];
/** Two sums for each class, because one could be out of range: what providers report is not bounded otherwise. */
const HALF = 4_294_967_296n;
const TOKEN_SUMS = TOKEN_CLASSES.map(
  (name) =>
    `CAST(sum(u.${name} / ${HALF}) AS text) AS ${name}_high, CAST(sum(u.${name} % ${HALF}) AS text) AS ${name}_low`,
);

export function statementQueries(of: Statement['of'], dialect: StatementDialect): StatementQueries {
  const { schema, parameter } = dialect;
  const [payer, from, until] = [parameter(1), parameter(2), parameter(3)];
  const charges = chargesOf(of, dialect);
  const old = `SELECT 'purchase' AS kind, e.id, e.amount, e.at_ms, e.note, NULL AS actor, NULL AS charge_id,
      NULL AS expires_at_ms, NULL AS other_id
    FROM ${schema}entries e WHERE e.key_id = ${payer} AND e.kind = 'purchase'`;
  const booked = `SELECT kind, id, ${SIGNED_AMOUNT} AS amount, at_ms, note, actor, charge_id,
      CAST(expires_at_ms AS text) AS expires_at_ms, other_id
    FROM ${schema}account_entries WHERE node_id = ${payer}`;
  const all = of === 'key' ? `${old} UNION ALL ${booked}` : booked;
  return {
    sums: `SELECT CAST(coalesce((SELECT ${signedSum(schema, 'b.amount')} FROM (${all}) b WHERE b.at_ms < ${from}), 0) AS text) AS booked,
      CAST(coalesce((SELECT sum(e.amount) ${charges} AND e.at_ms < ${from}), 0) AS text) AS charged`,
    entries: `SELECT b.kind, b.id, CAST(b.amount AS text) AS amount, CAST(b.at_ms AS text) AS at_ms, b.note, b.actor,
        b.charge_id, b.expires_at_ms, b.other_id
      FROM (${all}) b WHERE b.at_ms >= ${from} AND b.at_ms < ${until} ORDER BY b.at_ms, b.kind, b.id`,
    usage: `SELECT e.key_id, e.model, CAST(count(*) AS text) AS charges, CAST(sum(e.amount) AS text) AS amount ${charges}
      AND e.at_ms >= ${from} AND e.at_ms < ${until} GROUP BY e.key_id, e.model ORDER BY e.key_id, e.model`,
    tokens: `SELECT e.key_id, e.model, CAST(count(*) AS text) AS recorded, ${TOKEN_SUMS.join(', ')}
      ${chargesOf(of, dialect, dialect.recorded)} AND e.at_ms >= ${from} AND e.at_ms < ${until}
        AND u.at_ms >= ${from} AND u.at_ms < ${until} GROUP BY e.key_id, e.model`,
  };
}

/** From the charges in credits that count; of a key, those that it paid for itself. */
function chargesOf(of: Statement['of'], dialect: StatementDialect, entries?: string): string {
  const { schema, keys, parameter, isOnPath } = dialect;
  const [table, id] = keys;
  const payer = parameter(1);
  const from = `FROM ${entries ?? `${schema}entries e`} JOIN ${schema}${table} k ON k.${id} = e.key_id WHERE e.kind = 'charge' AND k.mode = 'credit'`;
  if (of === 'key') return `${from} AND e.key_id = ${payer} AND e.root_id IS NULL`;
  if (of === 'root') return `${from} AND e.root_id = ${payer}`;
  return `${from} AND e.root_id = (SELECT t.root_id FROM ${schema}tree_accounts t WHERE t.id = ${payer}) AND ${isOnPath(payer)}`;
}

/** `sums`: of everything before the time. */
export function statementFrom(
  { of, name }: StatementPayer,
  sums: Row,
  entryRows: readonly Row[],
  usageRows: readonly Row[],
  tokenRows: readonly Row[],
  nowMs: number,
): Statement {
  const entries = entryRows.map(entryFrom);
  const recorded = new Map(tokenRows.map((row) => [groupOf(row), row]));
  const usage = usageRows.map((row) => usageFrom(row, recorded.get(groupOf(row))));
  const opening = of === 'account' ? null : amount(sums, 'booked') - amount(sums, 'charged');
  const added = entries.reduce((sum, { amount }) => sum + amount, 0n);
  const spent = usage.reduce((sum, { amount }) => sum + amount, 0n);
  const closing = opening === null ? null : opening + added - spent;
  return { kind: 'statement', of, name, opening, closing, entries, usage, nowMs };
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
