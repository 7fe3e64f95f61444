/** Whoever pays, locked: a root, or a key that pays for itself; what is bought, and its promotional credit. */

import { amount, integer, type Row, text } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
import { broughtPromotionId, type PayerTotals, wrongRepeat } from '../rules/money-rules.ts';
import { wrongExpiry } from '../rules/promotions.ts';
import type { Query } from './connection.ts';
import { addEntry, findEntry } from './entries.ts';

/** Its promotions have expired as far as they have to. */
export interface Payer extends PayerTotals {
  readonly id: string;
  readonly isKey: boolean;
  /** Of a key. */
  readonly createdAtMs?: number;
  readonly nowMs: number;
}

export async function addPurchased(query: Query, payer: Payer, more: bigint): Promise<void> {
  const { id, isKey, nowMs } = payer;
  const [table, key] = isKey ? ['accounts', 'key_id'] : ['tree_accounts', 'id'];
  await query(
    `UPDATE gateway.${table} SET purchased = purchased + $2, promo_ms = gateway.first_expiry_ms($1),
      seen_ms = greatest(seen_ms, $3) WHERE ${key} = $1`,
    [id, more, nowMs],
  );
}

/**
 * Books a purchase, or promotional credit where it has an expiry, once: how much is added now, or the reason why it cannot be.
 */
export async function purchase(
  query: Query,
  payer: Payer,
  given: Purchase,
  wrongNow: () => string | null,
): Promise<bigint | string> {
  const { entryId, amountNanos, note, actor, expiresAtMs = null } = given;
  const { id: nodeId, nowMs } = payer;
  const booked =
    (await findEntry(query, nodeId, 'promotion', entryId)) ??
    (await findEntry(query, nodeId, 'purchase', entryId)) ??
    (await oldPurchase(query, payer, entryId));
  if (booked !== undefined) {
    const expiry = (booked.expires_at_ms ?? null) === null ? null : integer(booked, 'expires_at_ms');
    const before = { amount: amount(booked, 'amount'), expiresAtMs: expiry, atMs: integer(booked, 'at_ms') };
    return wrongRepeat(before, given, payer.createdAtMs ?? null) ?? 0n;
  }
  const wrong = wrongNow() ?? (expiresAtMs === null ? null : wrongExpiry(expiresAtMs, nowMs));
  if (wrong !== null) return wrong;
  const entry = { nodeId, id: entryId, amount: amountNanos, atMs: nowMs, note, actor };
  if (expiresAtMs === null) await addEntry(query, { ...entry, kind: 'purchase' });
  else {
    await addEntry(query, { ...entry, kind: 'promotion', expiresAtMs });
    await addPromotion(query, nodeId, entryId, amountNanos, expiresAtMs);
  }
  await addPurchased(query, payer, amountNanos);
  return amountNanos;
}

async function addPromotion(
  query: Query,
  nodeId: string,
  id: string,
  amountNanos: bigint,
  expiresAtMs: number,
): Promise<void> {
  await query(
    'INSERT INTO gateway.promotions (node_id, id, amount, remaining, expires_at_ms) VALUES ($1, $2, $3, $3, $4)',
    [nodeId, id, amountNanos, expiresAtMs],
  );
}

/** Those of earlier releases are among the charges. */
async function oldPurchase(query: Query, { id, isKey }: Payer, entryId: string): Promise<Row | undefined> {
  if (!isKey) return undefined;
  const [row] = await query(
    `SELECT amount, at_ms FROM gateway.entries WHERE key_id = $1 AND kind = 'purchase' AND id = $2`,
    [id, entryId],
  );
  return row;
}

/** All that is left goes along with the balance of a key that joins an account, and expires there as it would have here. */
export async function movePromotions(query: Query, keyId: string, rootId: string): Promise<void> {
  const left = await query(
    `UPDATE gateway.promotions SET moved = remaining, remaining = 0 WHERE node_id = $1 AND remaining > 0
    RETURNING id, moved, expires_at_ms`,
    [keyId],
  );
  for (const row of left) {
    await addPromotion(
      query,
      rootId,
      broughtPromotionId(keyId, text(row, 'id')),
      amount(row, 'moved'),
      integer(row, 'expires_at_ms'),
    );
  }
  if (left.length === 0) return;
  await query('UPDATE gateway.accounts SET promo_ms = NULL WHERE key_id = $1', [keyId]);
  await query('UPDATE gateway.tree_accounts SET promo_ms = gateway.first_expiry_ms($1) WHERE id = $1', [rootId]);
}

/** What is left of all of its promotional credit. */
export async function promotionalOf(query: Query, payerId: string): Promise<bigint> {
  const [row] = await query(
    'SELECT coalesce(sum(remaining), 0)::text AS left FROM gateway.promotions WHERE node_id = $1',
    [payerId],
  );
  return row === undefined ? 0n : amount(row, 'left');
}
