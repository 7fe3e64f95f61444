/**
 * Promotional credit of whoever pays: a root, or a key that pays for itself. It expires under whatever operation comes first,
 * before that is decided; the rows are written at once, so that memory and file agree after a rollback.
 */

import { integer, text } from '../../storage/columns.ts';
import { addEntry } from '../books/entries.ts';
import { dueExpiries, type Promotion, paidFrom } from '../rules/promotions.ts';
import type { Hold, KeyCache, KeyState } from './key-cache.ts';
import { readPromotions } from './key-state.ts';
import { performCold } from './statements.ts';
import { type AccountNode, rootOf, type Tree } from './tree-cache.ts';

type Payer = KeyState | AccountNode;

/** Whether something of the promotional credit that the key spends has to expire, or waits for holds to end. */
export function isDue(state: KeyState, nowMs: number): boolean {
  return anyDue(payerOf(state), nowMs);
}

function anyDue({ promotions }: Payer, nowMs: number): boolean {
  const first = promotions?.[0];
  return first !== undefined && first.expiresAtMs <= nowMs;
}

/** Who pays for the key: its root, or the key itself. */
function payerOf(state: KeyState): Payer {
  return state.path === null ? state : state.path.root;
}

/** Of whoever pays for the key. */
export function expirePromotions(keys: KeyCache, state: KeyState): void {
  expireOf(keys, payerOf(state), state.path?.tree ?? null);
}

export function expireOfTree(keys: KeyCache, tree: Tree): void {
  expireOf(keys, rootOf(tree), tree);
}

/** Of whoever has this id; false where nobody has. */
function expireById(keys: KeyCache, payerId: string): boolean {
  const state = keys.get(payerId);
  const tree = state === undefined ? keys.tree(payerId) : undefined;
  if (state !== undefined) expirePromotions(keys, state);
  if (tree !== undefined) expireOfTree(keys, tree);
  return state !== undefined || tree !== undefined;
}

/** Of everybody: what the file says then is true now. */
export function expireAll(keys: KeyCache): void {
  const due = keys.sql
    .cold('SELECT DISTINCT node_id FROM promotions WHERE remaining > 0 AND expires_at_ms <= ?')
    .all(keys.nowMs);
  for (const row of due) expireById(keys, text(row, 'node_id'));
}

function expireOf(keys: KeyCache, payer: Payer, tree: Tree | null): void {
  const { promotions } = payer;
  if (promotions === null || !anyDue(payer, keys.nowMs)) return;
  const heldBefore = (atMs: number): bigint => {
    let held = 0n;
    for (const hold of holdsOf(payer, tree)) if (hold.heldAtMs < atMs) held += hold.amount;
    return held;
  };
  const due = dueExpiries(promotions, keys.nowMs, heldBefore);
  if (due.length === 0) return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: expired } of due) {
    take(keys, nodeId, promotion, expired);
    const row = keys.sql
      .cold(`SELECT count(*) AS n FROM account_entries WHERE node_id = ? AND kind = 'expired' AND other_id = ?`)
      .get(nodeId, promotion.id);
    const id = `${promotion.id} ${row === undefined ? 0 : integer(row, 'n')}`;
    const entry = { nodeId, id, amount: expired, otherId: promotion.id, atMs: keys.nowMs };
    performCold(keys.sql.cold, addEntry({ ...entry, kind: 'expired' }));
    addPurchased(keys, payer, -expired);
  }
  keepRest(keys, payer, promotions);
}

function* holdsOf(payer: Payer, tree: Tree | null): Generator<Hold> {
  if (!('account' in payer)) yield* payer.holds.values();
  for (const key of tree?.holding.values() ?? []) if (key.key.mode === 'credit') yield* key.holds.values();
}

/** A charge that is being booked is paid from promotional credit as far as that goes. */
export function spendPromotions(keys: KeyCache, state: KeyState, hold: Hold, charged: bigint): void {
  const payer = payerOf(state);
  const { promotions } = payer;
  if (promotions === null || state.key.mode !== 'credit') return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: part } of paidFrom(promotions, charged, hold.heldAtMs)) {
    take(keys, nodeId, promotion, part);
    keys.sql
      .cold('INSERT INTO promotion_charges (node_id, promotion_id, key_id, hold_id, amount) VALUES (?, ?, ?, ?, ?)')
      .run(nodeId, promotion.id, hold.keyId, hold.id, part);
  }
  keepRest(keys, payer, promotions);
}

/** What is added to it counts from now on. */
function addPurchased(keys: KeyCache, payer: Payer, more: bigint): void {
  if ('account' in payer) keys.trees.markDirty(payer);
  else keys.markDirty(payer);
  payer.purchased += more;
}

/** After promotional credit was added or has moved. */
export function readAgain(keys: KeyCache, payer: Payer): void {
  keepRest(keys, payer, readPromotions(keys.sql.cold, idOf(payer)) ?? []);
}

function take(keys: KeyCache, nodeId: string, promotion: Promotion, part: bigint): void {
  promotion.remaining -= part;
  keys.sql
    .cold('UPDATE promotions SET remaining = ? WHERE node_id = ? AND id = ?')
    .run(promotion.remaining, nodeId, promotion.id);
}

function keepRest(keys: KeyCache, payer: Payer, promotions: readonly Promotion[]): void {
  const left = promotions.filter(({ remaining }) => remaining > 0n);
  const before = payer.promoMs;
  payer.promotions = left.length === 0 ? null : left;
  payer.promoMs = left[0]?.expiresAtMs ?? null;
  if (payer.promoMs === before) return;
  const [table, key] = 'account' in payer ? ['tree_accounts', 'id'] : ['accounts', 'key_id'];
  keys.sql.cold(`UPDATE ${table} SET promo_ms = ? WHERE ${key} = ?`).run(payer.promoMs, idOf(payer));
}

function idOf(payer: Payer): string {
  return 'account' in payer ? payer.account.id : payer.key.id;
}
