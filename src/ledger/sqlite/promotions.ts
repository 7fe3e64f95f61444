/**
 * Promotional credit of whoever pays: a root, or a key that pays for itself. It expires under whatever operation comes first,
 * before that is decided; the rows are written at once, so that memory and file agree after a rollback.
 */

import { amount, integer, text } from '../../storage/columns.ts';
import { addEntry } from '../books/entries.ts';
import { byExpiry, dueExpiries, type Promotion, paidFrom } from '../rules/promotions.ts';
import type { Account, AccountCache, Hold } from './account-cache.ts';
import { type ColdStatements, performCold } from './statements.ts';
import type { Tree, TreeNode } from './tree-cache.ts';

type Payer = Account | TreeNode;

/** Those of which something is left, in the order in which they expire; null where there is none. */
export function readPromotions(sql: ColdStatements, payerId: string): Promotion[] | null {
  const rows = sql('SELECT id, remaining, expires_at_ms FROM promotions WHERE node_id = ? AND remaining > 0').all(
    payerId,
  );
  if (rows.length === 0) return null;
  return rows
    .map((row) => ({
      id: text(row, 'id'),
      expiresAtMs: integer(row, 'expires_at_ms'),
      remaining: amount(row, 'remaining'),
    }))
    .sort(byExpiry);
}

/** Whether something of the promotional credit that the key spends has to expire, or waits for holds to end. */
export function isDue({ path, promotions }: Account, nowMs: number): boolean {
  const first = path === null ? promotions?.[0] : path.root.promotions?.[0];
  return first !== undefined && first.expiresAtMs <= nowMs;
}

/** Of whoever pays for the key. */
export function expirePromotions(accounts: AccountCache, account: Account): void {
  if (!isDue(account, accounts.nowMs)) return;
  if (account.path === null) expire(accounts, account, null);
  else expire(accounts, account.path.root, account.path.tree);
}

export function expireOfTree(accounts: AccountCache, tree: Tree): void {
  const root = tree.nodes.get(tree.rootId);
  const first = root?.promotions?.[0];
  if (root !== undefined && first !== undefined && first.expiresAtMs <= accounts.nowMs) expire(accounts, root, tree);
}

/** Of everybody: what the file says then is true now. */
export function expireAll(accounts: AccountCache): void {
  const due = accounts.sql
    .cold('SELECT DISTINCT node_id FROM promotions WHERE remaining > 0 AND expires_at_ms <= ?')
    .all(accounts.nowMs);
  for (const row of due) {
    const payerId = text(row, 'node_id');
    const key = accounts.get(payerId);
    const tree = key === undefined ? accounts.tree(payerId) : undefined;
    if (key !== undefined) expirePromotions(accounts, key);
    else if (tree !== undefined) expireOfTree(accounts, tree);
  }
}

function expire(accounts: AccountCache, payer: Payer, tree: Tree | null): void {
  const { promotions } = payer;
  if (promotions === null) return;
  const heldBefore = (atMs: number): bigint => {
    let held = 0n;
    for (const hold of holdsOf(payer, tree)) if (hold.heldAtMs < atMs) held += hold.amount;
    return held;
  };
  const due = dueExpiries(promotions, accounts.nowMs, heldBefore);
  if (due.length === 0) return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: expired } of due) {
    take(accounts, nodeId, promotion, expired);
    const row = accounts.sql
      .cold(`SELECT count(*) AS n FROM account_entries WHERE node_id = ? AND kind = 'expired' AND other_id = ?`)
      .get(nodeId, promotion.id);
    const id = `${promotion.id} ${row === undefined ? 0 : integer(row, 'n')}`;
    const entry = { nodeId, id, amount: expired, otherId: promotion.id, atMs: accounts.nowMs };
    performCold(accounts.sql.cold, addEntry({ ...entry, kind: 'expired' }));
    addPurchased(accounts, payer, -expired);
  }
  keepRest(accounts, payer, promotions);
}

function* holdsOf(payer: Payer, tree: Tree | null): Generator<Hold> {
  if (!('account' in payer)) yield* payer.holds.values();
  for (const key of tree?.holding.values() ?? []) if (key.key.mode === 'credit') yield* key.holds.values();
}

/** A charge that is being booked is paid from promotional credit as far as that goes. */
export function spendPromotions(accounts: AccountCache, account: Account, hold: Hold, charged: bigint): void {
  const payer = account.path === null ? account : account.path.root;
  const { promotions } = payer;
  if (promotions === null || account.key.mode !== 'credit') return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: part } of paidFrom(promotions, charged, hold.heldAtMs)) {
    take(accounts, nodeId, promotion, part);
    accounts.sql
      .cold('INSERT INTO promotion_charges (node_id, promotion_id, key_id, hold_id, amount) VALUES (?, ?, ?, ?, ?)')
      .run(nodeId, promotion.id, hold.keyId, hold.id, part);
  }
  keepRest(accounts, payer, promotions);
}

/** What is added to it counts from now on. */
function addPurchased(accounts: AccountCache, payer: Payer, more: bigint): void {
  if ('account' in payer) accounts.trees.markDirty(payer);
  else accounts.markDirty(payer);
  payer.purchased += more;
}

/** After promotional credit was added or has moved. */
export function readAgain(accounts: AccountCache, payer: Payer): void {
  keepRest(accounts, payer, readPromotions(accounts.sql.cold, idOf(payer)) ?? []);
}

function take(accounts: AccountCache, nodeId: string, promotion: Promotion, part: bigint): void {
  promotion.remaining -= part;
  accounts.sql
    .cold('UPDATE promotions SET remaining = ? WHERE node_id = ? AND id = ?')
    .run(promotion.remaining, nodeId, promotion.id);
}

function keepRest(accounts: AccountCache, payer: Payer, promotions: readonly Promotion[]): void {
  const left = promotions.filter(({ remaining }) => remaining > 0n);
  const before = payer.promoMs;
  payer.promotions = left.length === 0 ? null : left;
  payer.promoMs = left[0]?.expiresAtMs ?? null;
  if (payer.promoMs === before) return;
  const [table, key] = 'account' in payer ? ['tree_accounts', 'id'] : ['accounts', 'key_id'];
  accounts.sql.cold(`UPDATE ${table} SET promo_ms = ? WHERE ${key} = ?`).run(payer.promoMs, idOf(payer));
}

function idOf(payer: Payer): string {
  return 'account' in payer ? payer.account.id : payer.key.id;
}
