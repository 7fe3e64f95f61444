/** The operator's side of accounts in a tree: made, changed, moved, given credit; and the keys that come to them. */
import { periodStartMs } from '../../core/period.ts';
import { amount, flag, text } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
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
  wrongBuyingAccount,
  wrongMove,
  wrongNewAccount,
  wrongPlace,
} from '../rules/account-rules.ts';
import { inheritedFrom, inheritedText } from '../rules/limits.ts';
import { wrongSum } from '../rules/money-rules.ts';
import { ACCOUNT_COLUMNS, accountValues } from '../rules/row-mapping.ts';
import { pathFrom } from '../rules/tree.ts';
import { type AccountInHand, type Books, type KeyInHand, refused, UNKNOWN_ACCOUNT, UNKNOWN_KEY } from './books.ts';
import { addEntry, findEntry } from './entries.ts';
import { countPeriodAnew, saveKey } from './keys.ts';
import { accountAsPayer, movePromotions, purchase } from './money.ts';
import { insertion, query, queryOne, update, type Work } from './work.ts';

const ADD = `${insertion('@tree_accounts', ['id', ...ACCOUNT_COLUMNS, 'credit_start_ms', 'tokens_start_ms'])}
  ON CONFLICT DO NOTHING RETURNING id`;

export function* createAccount(books: Books, request: NewAccount): Work<AccountOutcome> {
  const { id, parentId, externalId } = request;
  const parent = parentId === null ? null : yield* books.account(parentId);
  const known = yield* books.account(id);
  if (known !== null) return createdBefore(known.node.account, request);
  if (parent === null && parentId !== null) return UNKNOWN_ACCOUNT;
  const wrong =
    wrongNewAccount(request, parent?.nodes ?? null) ?? (yield* wrongExternalId(id, externalId)) ?? (yield* wrongId(id));
  if (wrong !== null) return refused(wrong);
  const nowMs = parent?.nowMs ?? books.nowMs;
  const account = newAccountRecord(request, parent?.root.account.id ?? id, nowMs);
  const { creditCap, tokenCap } = account;
  const added = yield* queryOne(
    ADD,
    id,
    ...accountValues(account),
    periodStartMs(creditCap?.period ?? 'none', nowMs),
    periodStartMs(tokenCap?.period ?? 'none', nowMs),
  );
  // Another gateway has made it since, or one with its external id.
  if (added === undefined) return yield* createAccount(books, request);
  yield* books.accountAdded(account);
  return { kind: 'account', account };
}

export function* changeAccount(
  books: Books,
  accountId: string,
  change: VersionedAccountChange,
): Work<AccountOutcome | OtherVersion> {
  const inHand = yield* books.account(accountId);
  if (inHand === null) return UNKNOWN_ACCOUNT;
  const before = inHand.node.account;
  const decision = decideAccountChange(inHand.node, change, yield* isInUse(accountId));
  if (decision.kind !== 'change') return decision;
  const { account } = decision;
  const wrong = yield* wrongExternalId(account.id, account.externalId);
  if (wrong !== null) return refused(wrong);
  inHand.node.account = account;
  yield* saveAccount(inHand);
  yield* inheritAnew(books, inHand);
  if (account.creditCap?.period !== before.creditCap?.period) yield* countAnew(books, inHand, 'credit');
  if (account.tokenCap?.period !== before.tokenCap?.period) yield* countAnew(books, inHand, 'tokens');
  return { kind: 'account', account };
}

export function* moveAccount(books: Books, accountId: string, parentId: string): Work<AccountOutcome> {
  const inHand = yield* books.account(accountId);
  if (inHand === null || (yield* rootIdOf(parentId)) === null) return UNKNOWN_ACCOUNT;
  const { nodes, node } = inHand;
  const { account } = node;
  if (account.parentId === parentId) return { kind: 'account', account };
  const wrong = wrongMove(nodes, node, nodes.get(parentId));
  if (wrong !== null) return refused(wrong);
  node.account = { ...account, parentId, version: account.version + 1 };
  yield* saveAccount(inHand);
  yield* books.accountMoved(inHand);
  yield* inheritAnew(books, inHand);
  return { kind: 'account', account: node.account };
}

export function* moveKey(books: Books, keyId: string, accountId: string): Work<KeyPlaceOutcome> {
  const key = yield* books.key(keyId);
  if (key === null) return UNKNOWN_KEY;
  const rootId = yield* rootIdOf(accountId);
  if (rootId === null) return UNKNOWN_ACCOUNT;
  const { totals } = key;
  if (totals.key.accountId === accountId) return { kind: 'changed', key: totals.key };
  // Whoever pays for the key is locked: another root is not touched.
  if (key.rootId !== rootId) return refused('a key moves below its own root only');
  const account = yield* books.account(accountId);
  if (account === null) return UNKNOWN_ACCOUNT;
  const wrong = wrongPlace(totals.key, totals.liveHolds, account.node);
  return wrong === null ? yield* place(books, key, account) : refused(wrong);
}

/** The key is locked first and its new root then, which is the order of everybody. */
export function* joinAccount(books: Books, keyId: string, accountId: string, entryId: string): Work<KeyPlaceOutcome> {
  const key = yield* books.key(keyId);
  if (key === null) return UNKNOWN_KEY;
  const { totals } = key;
  if (totals.key.accountId !== null) {
    if ((yield* rootIdOf(accountId)) === null) return UNKNOWN_ACCOUNT;
    if (totals.key.accountId === accountId) return { kind: 'changed', key: totals.key };
    return refused('the key belongs to an account already: move it');
  }
  const account = yield* books.account(accountId);
  if (account === null) return UNKNOWN_ACCOUNT;
  const { root } = account;
  const balance = totals.purchased - totals.used;
  const wrong = wrongPlace(totals.key, totals.liveHolds, account.node) ?? wrongSum(root.purchased + balance);
  if (wrong !== null) return refused(wrong);
  const nowMs = Math.max(key.nowMs, account.nowMs);
  if (balance > 0n) {
    const rootId = root.account.id;
    if ((yield* findEntry(rootId, TRANSFER_KINDS.in, entryId)) !== undefined) return refused(TRANSFER_TAKEN);
    const entry = { id: entryId, amount: balance, atMs: nowMs };
    yield* addEntry({ ...entry, nodeId: keyId, kind: TRANSFER_KINDS.out, otherId: rootId });
    yield* addEntry({ ...entry, nodeId: rootId, kind: TRANSFER_KINDS.in, otherId: keyId });
    yield* movePromotions(keyId, rootId);
    root.purchased += balance;
    yield* books.saveSums(root, nowMs);
    totals.purchased -= balance;
  }
  if (totals.key.mode === 'credit') yield* countPeriodAnew(books, key, nowMs);
  return yield* place(books, key, account);
}

export function* addAccountCredit(books: Books, accountId: string, given: Purchase): Work<AccountCreditOutcome> {
  const inHand = yield* books.account(accountId);
  if (inHand === null) return UNKNOWN_ACCOUNT;
  const { node } = inHand;
  const payer = accountAsPayer(books, inHand);
  const wrong = yield* purchase(payer, given, wrongBuyingAccount(node.account));
  if (wrong !== null) return refused(wrong);
  return { kind: 'account_credited', account: node.account, balance: node.purchased - node.used };
}

function* saveAccount({ node: { account } }: AccountInHand): Work<void> {
  yield* update(['@tree_accounts', 'id'], account.id, ACCOUNT_COLUMNS, accountValues(account));
}

function* place(books: Books, inHand: KeyInHand, account: AccountInHand): Work<KeyPlaceOutcome> {
  const { key } = inHand.totals;
  const accountId = account.node.account.id;
  const inherited = inheritedFrom(account.nodes, accountId);
  const placed = { ...key, accountId, inherited, version: key.version + 1 };
  yield* saveKey(books, inHand, placed);
  yield* books.keyPlaced(inHand, account);
  return { kind: 'changed', key: placed };
}

/**
 * Keys below the account carry a copy of what the accounts above them allow. One whose copy is another now has changed: who
 * decided by the old one is told so at its next admission.
 */
function* inheritAnew(books: Books, { nodes, node }: AccountInHand): Work<void> {
  const below = [...nodes.keys()].filter((id) => pathFrom(nodes, id).includes(node));
  const [table, id] = books.dialect.keys;
  const changed = yield* query(
    `UPDATE ${table} AS k SET inherited = n.inherited, version = k.version + 1
    FROM (SELECT p.value ->> 0 AS account_id, p.value ->> 1 AS inherited FROM ${books.dialect.valuesOf('$1')}) n
    WHERE k.account_id = n.account_id AND k.inherited IS DISTINCT FROM n.inherited RETURNING ${id} AS key_id`,
    JSON.stringify(below.map((accountId) => [accountId, inheritedText(inheritedFrom(nodes, accountId))])),
  );
  yield* books.keysChanged(changed.map((row) => text(row, 'key_id')));
}

function* rootIdOf(accountId: string): Work<string | null> {
  const row = yield* queryOne('SELECT root_id FROM @tree_accounts WHERE id = $1', accountId);
  return row === undefined ? null : text(row, 'root_id');
}

function* wrongId(id: string): Work<string | null> {
  const key = yield* queryOne('SELECT 1 FROM @keys k WHERE k.key_id = $1', id);
  return key === undefined ? null : `there is a key ${id} already`;
}

function* wrongExternalId(id: string, externalId: string | null): Work<string | null> {
  if (externalId === null) return null;
  const other = yield* queryOne('SELECT 1 FROM @tree_accounts WHERE external_id = $1 AND id <> $2', externalId, id);
  return other === undefined ? null : `another account has the external id ${JSON.stringify(externalId)}`;
}

function* isInUse(accountId: string): Work<boolean> {
  const row = yield* queryOne(
    `SELECT EXISTS (SELECT 1 FROM @tree_accounts WHERE parent_id = $1 AND status <> 'closed')
      OR EXISTS (SELECT 1 FROM @keys k WHERE k.account_id = $1 AND k.status <> 'revoked') AS used`,
    accountId,
  );
  return row !== undefined && flag(row, 'used');
}

/** The charges on paths through the account that fall into the period as its cap has it now. */
function* countAnew(books: Books, { node, nowMs }: AccountInHand, unit: Unit): Work<void> {
  const { id, rootId, creditCap, tokenCap } = node.account;
  const startMs = periodStartMs((unit === 'credit' ? creditCap : tokenCap)?.period ?? 'none', nowMs);
  const row = yield* queryOne(
    `SELECT coalesce(sum(CASE k.mode WHEN 'credit' THEN e.amount ELSE 0 END), 0) AS credit, coalesce(sum(e.tokens), 0) AS tokens
    FROM @entries e JOIN @keys k ON k.key_id = e.key_id
    WHERE e.root_id = $1 AND e.at_ms >= $2 AND ${books.dialect.isOnPath('$3')}`,
    rootId,
    startMs,
    id,
  );
  const used = row === undefined ? 0n : amount(row, unit);
  if (unit === 'credit') {
    node.creditStartMs = startMs;
    node.creditUsed = used;
  } else {
    node.tokensStartMs = startMs;
    node.tokensUsed = used;
  }
  yield* books.saveSums(node, nowMs);
}
