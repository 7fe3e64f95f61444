/** The operator's side of a key: created, changed, given secrets and credit. */
import type { KeyRecord } from '../../core/key.ts';
import { periodStartMs } from '../../core/period.ts';
import { amount, text } from '../../storage/columns.ts';
import { Refusal } from '../../storage/errors.ts';
import type { Purchase } from '../operations.ts';
import type { CreditOutcome, KeyChange, KeyChangeOutcome, KeySummary, NewKey } from '../port.ts';
import {
  decideChange,
  keySummary,
  newKeyRecord,
  REVOKED_IS_FINAL,
  wrongBuyer,
  wrongCap,
  wrongCapture,
  wrongCredit,
  wrongLimits,
} from '../rules/key-rules.ts';
import { inheritedFrom } from '../rules/limits.ts';
import { FIRST_PURCHASE } from '../rules/money-rules.ts';
import { KEY_COLUMNS, keyFrom, keyValues } from '../rules/row-mapping.ts';
import { type AccountInHand, type Books, type KeyInHand, refused, UNKNOWN_KEY } from './books.ts';
import { addEntry } from './entries.ts';
import { secretPrefixes } from './key-list.ts';
import { keyAsPayer, purchase } from './money.ts';
import { query, queryOne, update, type Work } from './work.ts';

export function* createKey(books: Books, request: NewKey): Work<KeyRecord> {
  const [key] = yield* createKeys(books, [request]);
  if (key === undefined) throw new Error(`key ${request.id} was not stored`);
  return key;
}

/** All of them or none. */
export function* createKeys(books: Books, requests: readonly NewKey[]): Work<readonly KeyRecord[]> {
  const accounts = new Map<string, AccountInHand | null>();
  for (const { accountId = null } of requests) if (accountId !== null) accounts.set(accountId, null);
  if (accounts.size > 0) yield* books.lockRootsOf([...accounts.keys()]);
  for (const accountId of accounts.keys()) accounts.set(accountId, yield* books.account(accountId));
  const keys: KeyRecord[] = [];
  for (const request of requests) keys.push(yield* create(books, request, accounts.get(request.accountId ?? '')));
  return keys;
}

/** `account`: the one that the key belongs to; null where there is no such account. */
function* create(books: Books, request: NewKey, account: AccountInHand | null | undefined): Work<KeyRecord> {
  const { id, mode, secret, accountId = null } = request;
  const before = yield* queryOne('SELECT 1 FROM @keys k WHERE k.key_id = $1', id);
  if (before !== undefined) return yield* createdBefore(request);
  const inherited = account && accountId !== null ? inheritedFrom(account.nodes, accountId) : [];
  const key = newKeyRecord(request, inherited, books.nowMs);
  const wrong =
    wrongLimits(mode, key) ??
    wrongCredit(request) ??
    wrongCapture(key.captureDays) ??
    wrongCap(key) ??
    (yield* wrongAccount(request, account));
  if (wrong !== null) throw new Refusal(wrong);
  const credit = mode === 'credit' ? request.credit : 0n;
  if (!(yield* books.addKey(key, account?.root.account.id ?? null, credit))) return yield* createdBefore(request);
  yield* insertSecret(id, secret.digest, secret.prefix);
  if (credit > 0n) {
    yield* addEntry({ nodeId: id, kind: 'purchase', id: FIRST_PURCHASE, amount: credit, atMs: books.nowMs });
  }
  return key;
}

function* createdBefore({ id, secret }: NewKey): Work<KeyRecord> {
  const row = yield* queryOne(
    'SELECT k.* FROM @keys k JOIN @secrets s ON s.key_id = k.key_id AND s.digest = $2 WHERE k.key_id = $1',
    id,
    secret.digest,
  );
  if (row === undefined) throw new Refusal(`there is a key ${id} already`);
  return keyFrom(row);
}

function* wrongAccount(
  { id, accountId = null }: NewKey,
  account: AccountInHand | null | undefined,
): Work<string | null> {
  const same = yield* queryOne('SELECT 1 FROM @tree_accounts WHERE id = $1', id);
  if (same !== undefined) return `there is an account ${id} already`;
  if (accountId === null) return null;
  if (!account) return `there is no account ${accountId}`;
  return account.node.account.status === 'closed' ? `account ${accountId} is closed` : null;
}

export function* changeKey(books: Books, keyId: string, change: KeyChange): Work<KeyChangeOutcome> {
  const inHand = yield* books.key(keyId);
  if (inHand === null) return UNKNOWN_KEY;
  const { key } = inHand.totals;
  const decision = decideChange(key, change);
  if (decision.kind !== 'change') return decision;
  yield* saveKey(books, inHand, decision.key);
  const counts = key.mode === 'token_budget' || key.accountId !== null;
  if (counts && decision.key.period !== key.period) yield* countPeriodAnew(books, inHand, inHand.nowMs);
  return { kind: 'changed', key: decision.key };
}

export function* addSecret(books: Books, keyId: string, digest: string, prefix: string): Work<KeyChangeOutcome> {
  const inHand = yield* books.key(keyId);
  if (inHand === null) return UNKNOWN_KEY;
  const { key } = inHand.totals;
  const holder = yield* queryOne('SELECT key_id FROM @secrets WHERE digest = $1', digest);
  if (holder !== undefined && text(holder, 'key_id') === keyId) return { kind: 'changed', key };
  if (holder !== undefined) return refused('another key has this secret');
  if (key.status === 'revoked') return refused(REVOKED_IS_FINAL);
  yield* insertSecret(keyId, digest, prefix);
  return yield* changedSecrets(books, inHand, prefix);
}

export function* revokeSecret(books: Books, keyId: string, prefix: string): Work<KeyChangeOutcome> {
  const inHand = yield* books.key(keyId);
  if (inHand === null) return UNKNOWN_KEY;
  const prefixes = yield* prefixesOf(books, keyId);
  const rest = prefixes.filter((known) => known !== prefix);
  const newest = rest[0];
  if (newest === undefined) return refused('it is the only secret of the key: revoke the key instead');
  // A secret that is not there was revoked before.
  if (rest.length === prefixes.length) return { kind: 'changed', key: inHand.totals.key };
  yield* query('DELETE FROM @secrets WHERE key_id = $1 AND prefix = $2', keyId, prefix);
  return yield* changedSecrets(books, inHand, newest);
}

export function* addCredit(books: Books, keyId: string, given: Purchase): Work<CreditOutcome> {
  const inHand = yield* books.key(keyId);
  if (inHand === null) return UNKNOWN_KEY;
  const { totals } = inHand;
  const { key } = totals;
  if (key.mode !== 'credit') return refused('a token-budget key has no credit');
  const payer = keyAsPayer(books, inHand);
  const wrong = yield* purchase(payer, given, wrongBuyer(key));
  if (wrong !== null) return refused(wrong);
  return { kind: 'added', key, balance: key.accountId === null ? totals.purchased - totals.used : 0n };
}

export function* getKey(books: Books, keyId: string): Work<KeySummary | null> {
  const shown = yield* books.shownKey(keyId);
  return shown === null ? null : keySummary(shown.totals, shown.nowMs, yield* prefixesOf(books, keyId));
}

/** Newest first. */
function* prefixesOf({ dialect }: Books, keyId: string): Work<readonly string[]> {
  return (yield* secretPrefixes(dialect, [keyId])).get(keyId) ?? [];
}

function* insertSecret(keyId: string, digest: string, prefix: string): Work<void> {
  yield* query(
    `INSERT INTO @secrets (digest, key_id, prefix, number)
    SELECT $1, $2, $3, coalesce(max(number), 0) + 1 FROM @secrets WHERE key_id = $2`,
    digest,
    keyId,
    prefix,
  );
}

function* changedSecrets(books: Books, inHand: KeyInHand, prefix: string): Work<KeyChangeOutcome> {
  const { key } = inHand.totals;
  const changed = { ...key, version: key.version + 1, prefix };
  yield* saveKey(books, inHand, changed);
  return { kind: 'changed', key: changed };
}

export function* saveKey({ dialect }: Books, { totals }: KeyInHand, key: KeyRecord): Work<void> {
  totals.key = key;
  yield* update(dialect.keys, key.id, KEY_COLUMNS, keyValues(key));
}

/** The charges that fall into the period as the key has it now. */
export function* countPeriodAnew(books: Books, inHand: KeyInHand, nowMs: number): Work<void> {
  const { totals } = inHand;
  const startMs = periodStartMs(totals.key.period, nowMs);
  const row = yield* queryOne(
    `SELECT coalesce(sum(amount), 0) AS used FROM @entries WHERE key_id = $1 AND kind = 'charge' AND at_ms >= $2`,
    totals.key.id,
    startMs,
  );
  totals.periodStartMs = startMs;
  totals.periodUsed = row === undefined ? 0n : amount(row, 'used');
  yield* books.saveTotals(inHand);
}
