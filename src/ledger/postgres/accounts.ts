/**
 * The operator's side of accounts in a tree: made, changed, moved, given credit; and the keys that come to them. Each is one
 * transaction under the lock of the root.
 */
import type { AccountRecord } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import { type Period, periodStartMs } from '../../core/period.ts';
import { integer, text } from '../../storage/columns.ts';
import type { AccountOperation, Outcome, Purchase } from '../operations.ts';
import type {
  AccountCreditOutcome,
  AccountOutcome,
  KeyPlaceOutcome,
  NewAccount,
  OtherVersion,
  Unit,
  VersionedAccountChange,
} from '../port.ts';
import {
  createdBefore,
  decideAccountChange,
  newAccountRecord,
  TRANSFER_KINDS,
  TRANSFER_TAKEN,
  wrongAccountPurchase,
  wrongMove,
  wrongNewAccount,
  wrongPlace,
  wrongTransfer,
} from '../rules/account-rules.ts';
import { inheritedFrom, inheritedText, LIMIT_COLUMNS, limitValues } from '../rules/limits.ts';
import { type NodeTotals, pathFrom } from '../rules/tree.ts';
import { getAccount, listAccounts } from './account-list.ts';
import type { Query } from './connection.ts';
import { addEntry, findEntry } from './entries.ts';
import { countPeriodAnew, isDue, lock, nodesBelow, parameters, saveKey, type Work } from './keys.ts';
import { movePromotions, purchase } from './payer.ts';

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;
const UNKNOWN_ACCOUNT = { kind: 'unknown_account' } as const;

/** An account in its tree, whose root is locked. */
interface Found {
  readonly nodes: ReadonlyMap<string, NodeTotals>;
  readonly node: NodeTotals;
  readonly root: NodeTotals;
  readonly nowMs: number;
}

export function performOnAccounts(work: Work, operation: AccountOperation): Promise<Outcome> {
  switch (operation.op) {
    case 'createAccount':
      return createAccount(work, operation.request);
    case 'changeAccount':
      return changeAccount(work, operation.accountId, operation.change);
    case 'moveAccount':
      return moveAccount(work, operation.accountId, operation.parentId);
    case 'moveKey':
      return moveKey(work, operation.keyId, operation.accountId);
    case 'joinAccount':
      return joinAccount(work, operation.keyId, operation.accountId, operation.entryId);
    case 'addAccountCredit':
      return addAccountCredit(work, operation.accountId, operation);
    case 'getAccount':
      return getAccount(work, operation.accountId);
    case 'listAccounts':
      return listAccounts(work, operation.query);
  }
}

/** Whoever has the lock decides about the tree; every batch that needs it waits, and then sees what was decided. */
export async function findLocked({ query, nowMs }: Work, accountId: string): Promise<Found | null> {
  const [place] = await query('SELECT root_id FROM gateway.tree_accounts WHERE id = $1', [accountId]);
  if (place === undefined) return null;
  const rootId = text(place, 'root_id');
  const [locked] = await query('SELECT seen_ms, promo_ms FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE', [
    rootId,
  ]);
  const timeMs = Math.max(nowMs, locked === undefined ? 0 : integer(locked, 'seen_ms'));
  if (locked !== undefined && isDue(locked, timeMs)) {
    await query('SELECT gateway.expire_payer($1, false, $2)', [rootId, timeMs]);
  }
  const nodes = await nodesBelow(query, rootId);
  const [node, root] = [nodes.get(accountId), nodes.get(rootId)];
  if (locked === undefined || node === undefined || root === undefined) throw new Error(`account ${accountId} is gone`);
  return { nodes, node, root, nowMs: timeMs };
}

async function createAccount(work: Work, request: NewAccount): Promise<AccountOutcome> {
  const { query } = work;
  const parent = request.parentId === null ? null : await findLocked(work, request.parentId);
  const known = await findLocked(work, request.id);
  if (known !== null) return createdBefore(known.node.account, request);
  if (parent === null && request.parentId !== null) return UNKNOWN_ACCOUNT;
  const wrong =
    wrongNewAccount(request, parent?.nodes ?? null) ??
    (await wrongExternalId(query, request.id, request.externalId)) ??
    (await wrongId(query, request.id));
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  const nowMs = parent?.nowMs ?? work.nowMs;
  const account = newAccountRecord(request, parent?.root.account.id ?? request.id, nowMs);
  await query(
    `INSERT INTO gateway.tree_accounts (id, root_id, parent_id, version, name, external_id, labels, status, credit_cap,
      credit_period, token_cap, token_period, created_at_ms, credit_start_ms, tokens_start_ms, seen_ms,
      ${LIMIT_COLUMNS.join(', ')})
    VALUES ($1, $2, $3, 1, $4, $5, $6, 'active', $7, $8, $9, $10, $11, $12, $13, $11, ${parameters(14)})`,
    [
      account.id,
      account.rootId,
      account.parentId,
      account.name,
      account.externalId,
      JSON.stringify(account.labels),
      ...capValues(account),
      nowMs,
      periodStartMs(account.creditCap?.period ?? 'none', nowMs),
      periodStartMs(account.tokenCap?.period ?? 'none', nowMs),
      ...limitValues(account),
    ],
  );
  return { kind: 'account', account };
}

async function changeAccount(
  work: Work,
  accountId: string,
  change: VersionedAccountChange,
): Promise<AccountOutcome | OtherVersion> {
  const { query } = work;
  const found = await findLocked(work, accountId);
  if (found === null) return UNKNOWN_ACCOUNT;
  const before = found.node.account;
  const decision = decideAccountChange(found.node, change, await isInUse(query, accountId));
  if (decision.kind !== 'change') return decision;
  const { account } = decision;
  const wrong = await wrongExternalId(query, account.id, account.externalId);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  await query(
    `UPDATE gateway.tree_accounts SET version = $2, name = $3, external_id = $4, labels = $5, status = $6,
      credit_cap = $7, credit_period = $8, token_cap = $9, token_period = $10,
      (${LIMIT_COLUMNS.join(', ')}) = ROW(${parameters(11)}) WHERE id = $1`,
    [
      account.id,
      account.version,
      account.name,
      account.externalId,
      JSON.stringify(account.labels),
      account.status,
      ...capValues(account),
      ...limitValues(account),
    ],
  );
  await inheritAnew(query, found, account);
  if (account.creditCap?.period !== before.creditCap?.period) await countAnew(query, found, account, 'credit');
  if (account.tokenCap?.period !== before.tokenCap?.period) await countAnew(query, found, account, 'tokens');
  return { kind: 'account', account };
}

async function moveAccount(work: Work, accountId: string, parentId: string): Promise<AccountOutcome> {
  const found = await findLocked(work, accountId);
  const [parent] = await work.query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1', [parentId]);
  if (found === null || parent === undefined) return UNKNOWN_ACCOUNT;
  const { account } = found.node;
  if (account.parentId === parentId) return { kind: 'account', account };
  const wrong = wrongMove(found.nodes, found.node, found.nodes.get(parentId));
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  const moved = { ...account, parentId, version: account.version + 1 };
  await work.query('UPDATE gateway.tree_accounts SET parent_id = $2, version = $3 WHERE id = $1', [
    accountId,
    parentId,
    moved.version,
  ]);
  await inheritAnew(work.query, found, moved);
  return { kind: 'account', account: moved };
}

async function moveKey(work: Work, keyId: string, accountId: string): Promise<KeyPlaceOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { key, liveHolds } = locked.totals;
  const [place] = await work.query('SELECT root_id FROM gateway.tree_accounts WHERE id = $1', [accountId]);
  if (place === undefined) return UNKNOWN_ACCOUNT;
  if (key.accountId === accountId) return { kind: 'changed', key };
  // The lock of the key is that of its root: another root is not touched.
  const own = locked.rootId;
  if (own === null || own !== text(place, 'root_id')) {
    return { kind: 'refused', reason: 'a key moves below its own root only' };
  }
  const found = await findLocked(work, accountId);
  if (found === null) return UNKNOWN_ACCOUNT;
  const wrong = wrongPlace(key, liveHolds, found.node);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  return placed(work.query, key, found, own);
}

/** The key is locked first and its new root then, which is the order of every batch. */
async function joinAccount(work: Work, keyId: string, accountId: string, entryId: string): Promise<KeyPlaceOutcome> {
  const { query } = work;
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { key, liveHolds, purchased, used } = locked.totals;
  if (key.accountId !== null) {
    const [known] = await query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1', [accountId]);
    if (known === undefined) return UNKNOWN_ACCOUNT;
    if (key.accountId === accountId) return { kind: 'changed', key };
    return { kind: 'refused', reason: 'the key belongs to an account already: move it' };
  }
  const found = await findLocked(work, accountId);
  if (found === null) return UNKNOWN_ACCOUNT;
  const { root } = found;
  const rootId = root.account.id;
  const balance = purchased - used;
  const wrong = wrongPlace(key, liveHolds, found.node) ?? wrongTransfer(root, balance);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  const nowMs = Math.max(locked.nowMs, found.nowMs);
  if (balance > 0n) {
    const taken = await findEntry(query, rootId, TRANSFER_KINDS.in, entryId);
    if (taken !== undefined) return { kind: 'refused', reason: TRANSFER_TAKEN };
    const entry = { id: entryId, amount: balance, atMs: nowMs };
    await addEntry(query, { ...entry, nodeId: keyId, kind: TRANSFER_KINDS.out, otherId: rootId });
    await addEntry(query, { ...entry, nodeId: rootId, kind: TRANSFER_KINDS.in, otherId: keyId });
    await query('UPDATE gateway.tree_accounts SET purchased = purchased + $2 WHERE id = $1', [rootId, balance]);
    await query('UPDATE gateway.accounts SET purchased = purchased - $2 WHERE key_id = $1', [keyId, balance]);
    await movePromotions(query, keyId, rootId);
  }
  if (key.mode === 'credit') await countPeriodAnew(query, key, nowMs);
  return placed(query, key, found, rootId);
}

async function addAccountCredit(work: Work, accountId: string, given: Purchase): Promise<AccountCreditOutcome> {
  const { query } = work;
  const found = await findLocked(work, accountId);
  if (found === null) return UNKNOWN_ACCOUNT;
  const { account, purchased, used } = found.node;
  const payer = { ...found.node, id: accountId, isKey: false, nowMs: found.nowMs };
  const booked = await purchase(query, payer, given, () => wrongAccountPurchase(found.node, given.amountNanos));
  if (typeof booked === 'string') return { kind: 'refused', reason: booked };
  return { kind: 'account_credited', account, balance: purchased + booked - used };
}

/**
 * Keys below the account carry a copy of what the accounts above them allow. One whose copy is another now has changed: who
 * decided by the old one is told so at its next admission.
 */
async function inheritAnew(query: Query, { nodes, node, root }: Found, account: AccountRecord): Promise<void> {
  const changed = new Map(nodes).set(account.id, { ...node, account });
  const below = [...changed.keys()].filter((id) =>
    pathFrom(changed, id).some((each) => each.account.id === account.id),
  );
  const inherited = below.map((id) => inheritedText(inheritedFrom(changed, id)));
  await query(
    `UPDATE gateway.accounts a SET inherited = n.inherited, version = a.version + 1
    FROM unnest($2::text[], $3::text[]) AS n(account_id, inherited)
    WHERE a.root_id = $1 AND a.account_id = n.account_id COLLATE "C" AND a.inherited IS DISTINCT FROM n.inherited`,
    [root.account.id, below, inherited],
  );
}

async function placed(query: Query, key: KeyRecord, { nodes, node }: Found, rootId: string): Promise<KeyPlaceOutcome> {
  const accountId = node.account.id;
  const inherited = inheritedFrom(nodes, accountId);
  const moved = { ...key, accountId, inherited, version: key.version + 1 };
  await saveKey(query, moved);
  await query('UPDATE gateway.accounts SET account_id = $2, root_id = $3 WHERE key_id = $1', [
    key.id,
    accountId,
    rootId,
  ]);
  return { kind: 'changed', key: moved };
}

function capValues({ creditCap, tokenCap }: AccountRecord): readonly unknown[] {
  return [creditCap?.amount ?? null, creditCap?.period ?? null, tokenCap?.amount ?? null, tokenCap?.period ?? null];
}

async function wrongId(query: Query, id: string): Promise<string | null> {
  const [key] = await query('SELECT 1 FROM gateway.accounts WHERE key_id = $1', [id]);
  return key === undefined ? null : `there is a key ${id} already`;
}

async function wrongExternalId(query: Query, id: string, externalId: string | null): Promise<string | null> {
  if (externalId === null) return null;
  const [other] = await query('SELECT 1 FROM gateway.tree_accounts WHERE external_id = $1 AND id <> $2', [
    externalId,
    id,
  ]);
  return other === undefined ? null : `another account has the external id ${JSON.stringify(externalId)}`;
}

async function isInUse(query: Query, accountId: string): Promise<boolean> {
  const [row] = await query(
    `SELECT EXISTS (SELECT FROM gateway.tree_accounts WHERE parent_id = $1 AND status <> 'closed')
      OR EXISTS (SELECT FROM gateway.accounts WHERE account_id = $1 AND status <> 'revoked') AS used`,
    [accountId],
  );
  return row?.used === true;
}

/** The charges on paths through the account that fall into the period as its cap has it now. */
async function countAnew(query: Query, { root, nowMs }: Found, account: AccountRecord, unit: Unit): Promise<void> {
  const period: Period = (unit === 'credit' ? account.creditCap : account.tokenCap)?.period ?? 'none';
  const sum = unit === 'credit' ? `CASE a.mode WHEN 'credit' THEN e.amount ELSE 0 END` : 'e.tokens';
  await query(
    `UPDATE gateway.tree_accounts SET ${unit}_start_ms = $2, ${unit}_used = (
      SELECT coalesce(sum(${sum}), 0) FROM gateway.entries e JOIN gateway.accounts a ON a.key_id = e.key_id
      WHERE e.root_id = $3 AND e.at_ms >= $2 AND $1 = ANY (e.path)
    ) WHERE id = $1`,
    [account.id, periodStartMs(period, nowMs), root.account.id],
  );
}
