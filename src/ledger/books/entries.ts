/** The book of everything but charges: what a root, or a key that pays for itself, was given, and what left it. */
import { amount, integer, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Credited, FoundCharge } from '../port.ts';
import type { NewEntry } from '../rules/money-rules.ts';
import type { Dialect } from './dialect.ts';
import { insertion, query, queryOne, type Work } from './work.ts';

/** Of amounts whose sum may be out of range, two are made: what has left again counts too. */
const HALF = 4_294_967_296n;

const ADD = insertion('@account_entries', [
  ...['node_id', 'kind', 'id', 'amount', 'at_ms', 'other_id', 'note', 'actor'],
  ...['charge_key_id', 'charge_id', 'expires_at_ms'],
]);

export function* addEntry(entry: NewEntry & { readonly atMs: number }): Work<void> {
  yield* query(
    ADD,
    entry.nodeId,
    entry.kind,
    entry.id,
    entry.amount,
    entry.atMs,
    entry.otherId ?? null,
    entry.note ?? null,
    entry.actor ?? null,
    entry.charge?.keyId ?? null,
    entry.charge?.id ?? null,
    entry.expiresAtMs ?? null,
  );
}

export function* findEntry(nodeId: string, kind: NewEntry['kind'], id: string): Work<Row | undefined> {
  return yield* queryOne(
    `SELECT amount, at_ms, charge_key_id, charge_id, expires_at_ms FROM @account_entries
    WHERE node_id = $1 AND kind = $2 AND id = $3`,
    nodeId,
    kind,
    id,
  );
}

/** A charge; or a purchase of a key that an earlier release has booked. */
export function* findOwnEntry(keyId: string, kind: 'charge' | 'purchase', id: string): Work<Row | undefined> {
  return yield* queryOne(
    'SELECT amount, at_ms FROM @entries WHERE key_id = $1 AND kind = $2 AND id = $3',
    keyId,
    kind,
    id,
  );
}

/**
 * By the key whose request was refunded, whoever paid for it then. Earlier releases have booked some ids twice, before and
 * after a key joined an account: the one of this charge counts first.
 */
export function* findRefund(keyId: string, chargeId: string, id: string): Work<Row | undefined> {
  return yield* queryOne(
    `SELECT amount, charge_key_id, charge_id FROM @account_entries
    WHERE charge_key_id = $1 AND charge_id IS NOT NULL AND id = $2 ORDER BY charge_id = $3 DESC LIMIT 1`,
    keyId,
    id,
    chargeId,
  );
}

/** What was given back of a charge so far. */
export function* refundedOf(keyId: string, chargeId: string): Work<bigint> {
  const row = yield* queryOne(
    `SELECT coalesce(sum(amount), 0) AS refunded FROM @account_entries WHERE charge_key_id = $1 AND charge_id = $2`,
    keyId,
    chargeId,
  );
  return row === undefined ? 0n : amount(row, 'refunded');
}

/** The entries of each kind follow each other: refunds, of which there may be many, are not read. */
export function* credited(nodeId: string): Work<Credited> {
  const rows = yield* query(
    `SELECT kind, sum(amount / ${HALF}) AS high, sum(amount % ${HALF}) AS low FROM @account_entries
    WHERE node_id = $1 AND kind IN ('purchase', 'promotion', 'correction', 'transfer_in') AND amount > 0 GROUP BY kind`,
    nodeId,
  );
  let bought = 0n;
  let otherwise = 0n;
  for (const row of rows) {
    const sum = amount(row, 'high') * HALF + amount(row, 'low');
    if (text(row, 'kind') === 'purchase' || text(row, 'kind') === 'promotion') bought += sum;
    else otherwise += sum;
  }
  return { bought, otherwise };
}

/** By as many look-ups as there are keys: entries are kept by key, and nobody else asks for one without knowing its key. */
export function* findCharge({ chargeById }: Dialect, requestId: string): Work<FoundCharge | null> {
  const row = yield* queryOne(`SELECT e.key_id, e.amount, e.at_ms, e.flag FROM ${chargeById} LIMIT 1`, requestId);
  if (row === undefined) return null;
  const keyId = text(row, 'key_id');
  return {
    keyId,
    chargeId: requestId,
    charged: amount(row, 'amount'),
    refunded: yield* refundedOf(keyId, requestId),
    atMs: integer(row, 'at_ms'),
    recovered: textOrNull(row, 'flag')?.startsWith('recovered') === true,
  };
}
