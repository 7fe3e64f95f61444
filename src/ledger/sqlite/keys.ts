/** The operator's side of a key: created, changed, given secrets and credit. */
import type { KeyRecord } from '../../core/key.ts';
import { dayStartMs, periodStartMs } from '../../core/period.ts';
import { amount, integer, text } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
import type { CreditOutcome, KeyChange, KeyChangeOutcome, KeyExpiry, KeySummary, NewKey } from '../port.ts';
import {
  decideChange,
  keySummary,
  REVOKED_IS_FINAL,
  wrongCap,
  wrongCapture,
  wrongCredit,
  wrongLimits,
  wrongPurchase,
} from '../rules/key-rules.ts';
import { inheritedText, LIMIT_COLUMNS, limitValues, NO_OTHER_LIMITS } from '../rules/limits.ts';
import { FIRST_PURCHASE } from '../rules/money-rules.ts';

import { addEntry } from './entries.ts';
import type { KeyCache, KeyState } from './key-cache.ts';
import { purchase } from './money.ts';
import { expirePromotions } from './promotions.ts';
import type { ColdStatements } from './statements.ts';

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;

export function findKey(accounts: KeyCache, digest: string): KeyRecord | null {
  const row = accounts.sql.keyOfDigest.get(digest);
  return row === undefined ? null : (accounts.get(text(row, 'key_id'))?.key ?? null);
}

export function createKey(accounts: KeyCache, request: NewKey): KeyRecord {
  const { sql, nowMs } = accounts;
  const known = accounts.get(request.id);
  if (known !== undefined) {
    if (findKey(accounts, request.secret.digest)?.id === request.id) return known.key;
    throw new Error(`there is a key ${request.id} already`);
  }
  const accountId = request.accountId ?? null;
  const cap = request.cap ?? null;
  const limits = { ...NO_OTHER_LIMITS, ...request };
  const wrong =
    wrongLimits(request.mode, limits) ??
    wrongCredit(request) ??
    wrongCapture(request.captureDays ?? null) ??
    wrongCap({ mode: request.mode, accountId, cap }) ??
    wrongAccount(accounts, request.id, accountId);
  if (wrong !== null) throw new RangeError(wrong);
  const credit = request.mode === 'credit' ? request.credit : 0n;

  sql
    .cold(`INSERT INTO keys (id, version, mode, label, status, expires_at_ms, provider_scope, budget, period, account_id,
      cap, created_at_ms, prefix, capture_days, inherited, ${LIMIT_COLUMNS.join(', ')})
      VALUES (?, 1, ?, ?, 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(
      request.id,
      request.mode,
      request.label,
      request.expiresAtMs,
      request.providerScope,
      request.budget,
      request.period,
      accountId,
      cap,
      nowMs,
      request.secret.prefix,
      request.captureDays ?? null,
      inheritedText(accounts.inheritedFrom(accountId)),
      ...limitValues(limits),
    );
  sql
    .cold('INSERT INTO accounts (key_id, mode, purchased, period_start_ms, day_start_ms) VALUES (?, ?, ?, ?, ?)')
    .run(request.id, request.mode, credit, periodStartMs(request.period, nowMs), dayStartMs(nowMs));
  insertSecret(accounts, request.id, request.secret.digest, request.secret.prefix);
  if (credit > 0n) addEntry(accounts, { nodeId: request.id, kind: 'purchase', id: FIRST_PURCHASE, amount: credit });
  const account = accounts.get(request.id);
  if (account === undefined) throw new Error(`key ${request.id} was not stored`);
  return account.key;
}

function wrongAccount(accounts: KeyCache, keyId: string, accountId: string | null): string | null {
  if (accounts.tree(keyId) !== undefined) return `there is an account ${keyId} already`;
  if (accountId === null) return null;
  const status = accounts.tree(accountId)?.nodes.get(accountId)?.account.status;
  if (status === undefined) return `there is no account ${accountId}`;
  return status === 'closed' ? `account ${accountId} is closed` : null;
}

export function changeKey(accounts: KeyCache, keyId: string, change: KeyChange): KeyChangeOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const { key } = account;
  const decision = decideChange(key, change);
  if (decision.kind !== 'change') return decision;
  account.key = decision.key;
  saveKey(accounts, account.key);
  const counts = key.mode === 'token_budget' || key.accountId !== null;
  if (counts && account.key.period !== key.period) countPeriodAnew(accounts, account);
  return { kind: 'changed', key: account.key };
}

export function addSecret(accounts: KeyCache, keyId: string, digest: string, prefix: string): KeyChangeOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const holder = findKey(accounts, digest);
  if (holder?.id === keyId) return { kind: 'changed', key: account.key };
  if (holder !== null) return { kind: 'refused', reason: 'another key has this secret' };
  if (account.key.status === 'revoked') return { kind: 'refused', reason: REVOKED_IS_FINAL };
  insertSecret(accounts, keyId, digest, prefix);
  return changedSecrets(accounts, account, prefix);
}

export function revokeSecret(accounts: KeyCache, keyId: string, prefix: string): KeyChangeOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const prefixes = secretPrefixes(accounts, keyId);
  const rest = prefixes.filter((known) => known !== prefix);
  const newest = rest[0];
  if (newest === undefined)
    return { kind: 'refused', reason: 'it is the only secret of the key: revoke the key instead' };
  // A secret that is not there was revoked before.
  if (rest.length === prefixes.length) return { kind: 'changed', key: account.key };
  accounts.sql.cold('DELETE FROM secrets WHERE key_id = ? AND prefix = ?').run(keyId, prefix);
  return changedSecrets(accounts, account, newest);
}

export function addCredit(accounts: KeyCache, keyId: string, given: Purchase): CreditOutcome {
  const account = accounts.get(keyId);
  if (account === undefined) return UNKNOWN_KEY;
  const refused = (reason: string): CreditOutcome => ({ kind: 'refused', reason });
  if (account.key.mode !== 'credit') return refused('a token-budget key has no credit');
  expirePromotions(accounts, account);
  const wrong = purchase(accounts, account, given, () => wrongPurchase(account, given.amountNanos));
  if (wrong !== null) return refused(wrong);
  const balance = account.key.accountId === null ? account.purchased - account.used : 0n;
  return { kind: 'added', key: account.key, balance };
}

export function getKey(accounts: KeyCache, keyId: string): KeySummary | null {
  const account = accounts.get(keyId);
  if (account !== undefined) expirePromotions(accounts, account);
  return account === undefined ? null : keySummary(account, accounts.nowMs, secretPrefixes(accounts, keyId));
}

/** Newest first. */
function secretPrefixes(accounts: KeyCache, keyId: string): readonly string[] {
  return accounts.sql
    .cold('SELECT prefix FROM secrets WHERE key_id = ? ORDER BY number DESC')
    .all(keyId)
    .map((row) => text(row, 'prefix'));
}

function insertSecret(accounts: KeyCache, keyId: string, digest: string, prefix: string): void {
  accounts.sql
    .cold(`INSERT INTO secrets (digest, key_id, prefix, number)
      SELECT ?, ?, ?, coalesce(max(number), 0) + 1 FROM secrets WHERE key_id = ?`)
    .run(digest, keyId, prefix, keyId);
}

function changedSecrets(accounts: KeyCache, account: KeyState, prefix: string): KeyChangeOutcome {
  account.key = { ...account.key, version: account.key.version + 1, prefix };
  saveKey(accounts, account.key);
  return { kind: 'changed', key: account.key };
}

export function saveKey(accounts: KeyCache, key: KeyRecord): void {
  accounts.sql
    .cold(`UPDATE keys SET version = ?, label = ?, status = ?, expires_at_ms = ?, provider_scope = ?, budget = ?,
      period = ?, account_id = ?, cap = ?, prefix = ?, capture_days = ?, inherited = ?, ${LIMIT_COLUMNS.map((name) => `${name} = ?`).join(', ')}
      WHERE id = ?`)
    .run(
      key.version,
      key.label,
      key.status,
      key.expiresAtMs,
      key.providerScope,
      key.budget,
      key.period,
      key.accountId,
      key.cap,
      key.prefix,
      key.captureDays,
      inheritedText(key.inherited),
      ...limitValues(key),
      key.id,
    );
}

/** The charges that fall into the period as the key has it now. */
export function countPeriodAnew(accounts: KeyCache, account: KeyState): void {
  const startMs = periodStartMs(account.key.period, accounts.nowMs);
  const row = accounts.sql.chargedSince.get(account.key.id, startMs);
  accounts.markDirty(account);
  account.periodStartMs = startMs;
  account.periodUsed = row === undefined ? 0n : amount(row, 'used');
}

export function expiringKeys(
  sql: ColdStatements,
  after: KeyExpiry,
  untilMs: number,
  limit: number,
): readonly KeyExpiry[] {
  const rows = sql(`SELECT id, expires_at_ms FROM keys WHERE expires_at_ms IS NOT NULL AND status <> 'revoked'
    AND (expires_at_ms, id) > (?, ?) AND expires_at_ms <= ? ORDER BY expires_at_ms, id LIMIT ?`);
  return rows
    .all(after.atMs, after.keyId, untilMs, limit)
    .map((row) => ({ atMs: integer(row, 'expires_at_ms'), keyId: text(row, 'id') }));
}
