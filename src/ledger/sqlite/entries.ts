/** The book of everything but charges: what a root, or a key that pays for itself, was given, and what left it. */

import { amount, type Row } from '../../storage/columns.ts';
import type { NewEntry } from '../rules/money-rules.ts';
import type { KeyCache } from './key-cache.ts';
import type { ColdStatements } from './statements.ts';

export function addEntry(accounts: KeyCache, entry: NewEntry): void {
  accounts.sql
    .cold(`INSERT INTO account_entries (node_id, kind, id, amount, at_ms, other_id, note, actor, charge_key_id, charge_id,
      expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(
      entry.nodeId,
      entry.kind,
      entry.id,
      entry.amount,
      accounts.nowMs,
      entry.otherId ?? null,
      entry.note ?? null,
      entry.actor ?? null,
      entry.charge?.keyId ?? null,
      entry.charge?.id ?? null,
      entry.expiresAtMs ?? null,
    );
}

export function findEntry(accounts: KeyCache, nodeId: string, kind: NewEntry['kind'], id: string): Row | undefined {
  return accounts.sql
    .cold(`SELECT amount, at_ms, charge_key_id, charge_id, expires_at_ms FROM account_entries
      WHERE node_id = ? AND kind = ? AND id = ?`)
    .get(nodeId, kind, id);
}

/**
 * By the key whose request was refunded, whoever paid for it then. Earlier releases have booked some ids twice, before and
 * after a key joined an account: the one of this charge counts first.
 */
export function findRefund(accounts: KeyCache, keyId: string, chargeId: string, id: string): Row | undefined {
  return accounts.sql
    .cold(`SELECT amount, charge_key_id, charge_id FROM account_entries
      WHERE charge_key_id = ? AND charge_id IS NOT NULL AND id = ? ORDER BY charge_id = ? DESC LIMIT 1`)
    .get(keyId, id, chargeId);
}

/** What was given back of a charge so far. */
export function refundedOf(sql: ColdStatements, keyId: string, chargeId: string): bigint {
  const row = sql(`SELECT coalesce(sum(amount), 0) AS refunded FROM account_entries
    WHERE charge_key_id = ? AND charge_id = ?`).get(keyId, chargeId);
  return row === undefined ? 0n : amount(row, 'refunded');
}
