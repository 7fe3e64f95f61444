/** The book of everything but charges: what a root, or a key that pays for itself, was given, and what left it. */

import { amount, type Row } from '../../storage/columns.ts';
import type { NewEntry } from '../rules/money-rules.ts';
import type { Query } from './connection.ts';

export async function addEntry(query: Query, entry: NewEntry & { readonly atMs: number }): Promise<void> {
  await query(
    `INSERT INTO gateway.account_entries (node_id, kind, id, amount, at_ms, other_id, note, actor, charge_key_id, charge_id,
      expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
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
    ],
  );
}

export async function findEntry(
  query: Query,
  nodeId: string,
  kind: NewEntry['kind'],
  id: string,
): Promise<Row | undefined> {
  const [row] = await query(
    `SELECT amount, at_ms, charge_key_id, charge_id, expires_at_ms FROM gateway.account_entries
    WHERE node_id = $1 AND kind = $2 AND id = $3`,
    [nodeId, kind, id],
  );
  return row;
}

/**
 * By the key whose request was refunded, whoever paid for it then. Earlier releases have booked some ids twice, before and
 * after a key joined an account: the one of this charge counts first.
 */
export async function findRefund(query: Query, keyId: string, chargeId: string, id: string): Promise<Row | undefined> {
  const [row] = await query(
    `SELECT amount, charge_key_id, charge_id FROM gateway.account_entries
    WHERE charge_key_id = $1 AND charge_id IS NOT NULL AND id = $2 ORDER BY charge_id = $3 DESC LIMIT 1`,
    [keyId, id, chargeId],
  );
  return row;
}

/** What was given back of a charge so far. */
export async function refundedOf(query: Query, keyId: string, chargeId: string): Promise<bigint> {
  const [row] = await query(
    `SELECT coalesce(sum(amount), 0)::text AS refunded FROM gateway.account_entries
    WHERE charge_key_id = $1 AND charge_id = $2`,
    [keyId, chargeId],
  );
  return row === undefined ? 0n : amount(row, 'refunded');
}
