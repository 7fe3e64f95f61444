/** The operator's side of accounts in a tree: made, changed, moved, given credit; and the keys that come to them. */
import type { Period } from '../../core/period.ts';
import { periodStartMs } from '../../core/period.ts';
import { amount, integer, text, textOrNull } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
import type {
  AccountCreditOutcome,
  AccountOutcome,
  AccountSummary,
  KeyPlaceOutcome,
  NewAccount,
  OtherVersion,
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
import { nodeFrom } from '../rules/row-mapping.ts';
import { accountSummary, pathFrom } from '../rules/tree.ts';

import { addEntry, findEntry } from './entries.ts';
import type { KeyCache, KeyState } from './key-cache.ts';
import { countPeriodAnew, saveKey } from './keys.ts';
import { purchase } from './money.ts';
import { expireOfTree, expirePromotions, movePromotions } from './promotions.ts';
import { type AccountNode, pathOf, rootOf, type Tree } from './tree-cache.ts';

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;
const UNKNOWN_ACCOUNT = { kind: 'unknown_account' } as const;

interface Found {
  readonly tree: Tree;
  readonly node: AccountNode;
}

function find(accounts: KeyCache, accountId: string): Found | undefined {
  const tree = accounts.tree(accountId);
  const node = tree?.nodes.get(accountId);
  return tree === undefined || node === undefined ? undefined : { tree, node };
}

export function createAccount(accounts: KeyCache, request: NewAccount): AccountOutcome {
  const { sql, nowMs } = accounts;
  const known = find(accounts, request.id);
  if (known !== undefined) return createdBefore(known.node.account, request);
  const parent = request.parentId === null ? null : find(accounts, request.parentId);
  if (parent === undefined) return UNKNOWN_ACCOUNT;
  const wrong =
    wrongNewAccount(request, parent?.tree.nodes ?? null) ??
    wrongExternalId(accounts, request.id, request.externalId) ??
    (accounts.get(request.id) === undefined ? null : `there is a key ${request.id} already`);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  const account = newAccountRecord(request, parent?.tree.rootId ?? request.id, nowMs);
  sql
    .cold(`INSERT INTO tree_accounts (id, root_id, parent_id, version, name, external_id, labels, status, credit_cap,
      credit_period, token_cap, token_period, created_at_ms, credit_start_ms, tokens_start_ms, ${LIMIT_COLUMNS.join(', ')})
      VALUES (?, ?, ?, 1, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(
      account.id,
      account.rootId,
      account.parentId,
      account.name,
      account.externalId,
      JSON.stringify(account.labels),
      account.creditCap?.amount ?? null,
      account.creditCap?.period ?? null,
      account.tokenCap?.amount ?? null,
      account.tokenCap?.period ?? null,
      nowMs,
      periodStartMs(account.creditCap?.period ?? 'none', nowMs),
      periodStartMs(account.tokenCap?.period ?? 'none', nowMs),
      ...limitValues(account),
    );
  const row = sql.cold('SELECT * FROM tree_accounts WHERE id = ?').get(account.id);
  if (parent !== null && row !== undefined) accounts.trees.put(parent.tree, nodeFrom(row));
  return { kind: 'account', account };
}

export function changeAccount(
  accounts: KeyCache,
  accountId: string,
  change: VersionedAccountChange,
): AccountOutcome | OtherVersion {
  const found = find(accounts, accountId);
  if (found === undefined) return UNKNOWN_ACCOUNT;
  const { node } = found;
  const before = node.account;
  const decision = decideAccountChange(node, change, isInUse(accounts, accountId));
  if (decision.kind !== 'change') return decision;
  const { account } = decision;
  const wrong = wrongExternalId(accounts, account.id, account.externalId);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  node.account = account;
  accounts.sql
    .cold(`UPDATE tree_accounts SET version = ?, name = ?, external_id = ?, labels = ?, status = ?, credit_cap = ?,
      credit_period = ?, token_cap = ?, token_period = ?, ${LIMIT_COLUMNS.map((name) => `${name} = ?`).join(', ')}
      WHERE id = ?`)
    .run(
      account.version,
      account.name,
      account.externalId,
      JSON.stringify(account.labels),
      account.status,
      account.creditCap?.amount ?? null,
      account.creditCap?.period ?? null,
      account.tokenCap?.amount ?? null,
      account.tokenCap?.period ?? null,
      ...limitValues(account),
      account.id,
    );
  inheritAnew(accounts, found);
  if (account.creditCap?.period !== before.creditCap?.period) countAnew(accounts, found, 'credit');
  if (account.tokenCap?.period !== before.tokenCap?.period) countAnew(accounts, found, 'tokens');
  return { kind: 'account', account };
}

export function moveAccount(accounts: KeyCache, accountId: string, parentId: string): AccountOutcome {
  const found = find(accounts, accountId);
  if (found === undefined || find(accounts, parentId) === undefined) return UNKNOWN_ACCOUNT;
  const { tree, node } = found;
  if (node.account.parentId === parentId) return { kind: 'account', account: node.account };
  const wrong = wrongMove(tree.nodes, node, tree.nodes.get(parentId));
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  node.account = { ...node.account, parentId, version: node.account.version + 1 };
  accounts.sql
    .cold('UPDATE tree_accounts SET parent_id = ?, version = ? WHERE id = ?')
    .run(parentId, node.account.version, accountId);
  accounts.recomputePaths(tree);
  inheritAnew(accounts, found);
  return { kind: 'account', account: node.account };
}

export function moveKey(accounts: KeyCache, keyId: string, accountId: string): KeyPlaceOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const found = find(accounts, accountId);
  if (found === undefined) return UNKNOWN_ACCOUNT;
  if (account.key.accountId === accountId) return { kind: 'changed', key: account.key };
  if (account.path?.tree !== found.tree) return { kind: 'refused', reason: 'a key moves below its own root only' };
  const wrong = wrongPlace(account.key, account.liveHolds, found.node);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  return place(accounts, account, found);
}

export function joinAccount(accounts: KeyCache, keyId: string, accountId: string, entryId: string): KeyPlaceOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const found = find(accounts, accountId);
  if (found === undefined) return UNKNOWN_ACCOUNT;
  if (account.key.accountId === accountId) return { kind: 'changed', key: account.key };
  if (account.path !== null) return { kind: 'refused', reason: 'the key belongs to an account already: move it' };
  const root = rootOf(found.tree);
  expirePromotions(accounts, account);
  expireOfTree(accounts, found.tree);
  const balance = account.purchased - account.used;
  const wrong = wrongPlace(account.key, account.liveHolds, found.node) ?? wrongTransfer(root, balance);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  if (balance > 0n) {
    const rootId = root.account.id;
    if (findEntry(accounts, rootId, TRANSFER_KINDS.in, entryId) !== undefined) {
      return { kind: 'refused', reason: TRANSFER_TAKEN };
    }
    const entry = { id: entryId, amount: balance };
    addEntry(accounts, { ...entry, nodeId: keyId, kind: TRANSFER_KINDS.out, otherId: rootId });
    addEntry(accounts, { ...entry, nodeId: rootId, kind: TRANSFER_KINDS.in, otherId: keyId });
    accounts.trees.markDirty(root);
    root.purchased += balance;
    account.purchased -= balance;
    movePromotions(accounts, account, root);
  }
  accounts.markDirty(account);
  const outcome = place(accounts, account, found);
  if (account.key.mode === 'credit') countPeriodAnew(accounts, account);
  return outcome;
}

export function addAccountCredit(accounts: KeyCache, accountId: string, given: Purchase): AccountCreditOutcome {
  const found = find(accounts, accountId);
  if (found === undefined) return UNKNOWN_ACCOUNT;
  const { node } = found;
  expireOfTree(accounts, found.tree);
  const wrong = purchase(accounts, node, given, () => wrongAccountPurchase(node, given.amountNanos));
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  return { kind: 'account_credited', account: node.account, balance: node.purchased - node.used };
}

export function getAccount(accounts: KeyCache, accountId: string): AccountSummary | null {
  const found = find(accounts, accountId);
  if (found === undefined) return null;
  expireOfTree(accounts, found.tree);
  return accountSummary(found.node, accounts.nowMs, {
    rootName: rootOf(found.tree).account.name,
    isParent: isParent(accounts, accountId),
  });
}

function place(accounts: KeyCache, account: KeyState, { tree, node }: Found): KeyPlaceOutcome {
  const inherited = inheritedFrom(tree.nodes, node.account.id);
  account.key = { ...account.key, accountId: node.account.id, inherited, version: account.key.version + 1 };
  account.path = pathOf(tree, node.account.id);
  saveKey(accounts, account.key);
  return { kind: 'changed', key: account.key };
}

/**
 * Keys below the account carry a copy of what the accounts above them allow. One whose copy is another now has changed: who
 * decided by the old one is told so at its next admission.
 */
function inheritAnew(accounts: KeyCache, { tree, node }: Found): void {
  const keysOf = accounts.sql.cold('SELECT id, inherited FROM keys WHERE account_id = ?');
  for (const accountId of tree.nodes.keys()) {
    if (!pathFrom(tree.nodes, accountId).includes(node)) continue;
    const inherited = inheritedFrom(tree.nodes, accountId);
    const wanted = inheritedText(inherited);
    for (const row of keysOf.all(accountId)) {
      if (textOrNull(row, 'inherited') === wanted) continue;
      const account = accounts.get(text(row, 'id'));
      if (account === undefined) continue;
      account.key = { ...account.key, inherited, version: account.key.version + 1 };
      saveKey(accounts, account.key);
    }
  }
}

function wrongExternalId(accounts: KeyCache, id: string, externalId: string | null): string | null {
  if (externalId === null) return null;
  const other = accounts.sql.cold('SELECT 1 FROM tree_accounts WHERE external_id = ? AND id <> ?').get(externalId, id);
  return other === undefined ? null : `another account has the external id ${JSON.stringify(externalId)}`;
}

function isParent(accounts: KeyCache, accountId: string): boolean {
  return accounts.sql.cold('SELECT 1 FROM tree_accounts WHERE parent_id = ? LIMIT 1').get(accountId) !== undefined;
}

function isInUse(accounts: KeyCache, accountId: string): boolean {
  const row = accounts.sql
    .cold(`SELECT EXISTS (SELECT 1 FROM tree_accounts WHERE parent_id = ?1 AND status <> 'closed')
      OR EXISTS (SELECT 1 FROM keys WHERE account_id = ?1 AND status <> 'revoked') AS used`)
    .get(accountId);
  return row !== undefined && integer(row, 'used') === 1;
}

/** The charges on paths through the account that fall into the period as its cap has it now. */
function countAnew(accounts: KeyCache, { tree, node }: Found, unit: 'credit' | 'tokens'): void {
  const cap = unit === 'credit' ? node.account.creditCap : node.account.tokenCap;
  const period: Period = cap?.period ?? 'none';
  const startMs = periodStartMs(period, accounts.nowMs);
  const row = accounts.sql.chargedAlong.get(tree.rootId, startMs, node.account.id);
  const used = row === undefined ? 0n : amount(row, unit);
  accounts.trees.markDirty(node);
  if (unit === 'credit') {
    node.creditStartMs = startMs;
    node.creditUsed = used;
  } else {
    node.tokensStartMs = startMs;
    node.tokensUsed = used;
  }
}
