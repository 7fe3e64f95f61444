/** The operator's side of a key: created, changed, given secrets and credit. Each is one transaction. */
import type { KeyRecord } from '../../core/key.ts';
import type { Restrictions } from '../../core/limits.ts';
import { dayStartMs, periodStartMs } from '../../core/period.ts';
import type { Purchase } from '../operations.ts';
import type { CreditOutcome, KeyChange, KeyChangeOutcome, KeySummary, NewKey } from '../port.ts';
import type { AccountTotals } from '../rules/account.ts';
import {
  decideChange,
  FIRST_PURCHASE,
  keySummary,
  REVOKED_IS_FINAL,
  wrongCap,
  wrongCredit,
  wrongLimits,
  wrongPurchase,
} from '../rules/key-rules.ts';
import { inheritedText, LIMIT_COLUMNS, limitValues, NO_OTHER_LIMITS, restrictionsFrom } from '../rules/limits.ts';
import { nodeFrom } from '../rules/row-mapping.ts';
import type { NodeTotals } from '../rules/tree.ts';
import { amount, integer, readersOf, readKey, readTotals, text } from './columns.ts';
import type { Query, Row } from './connection.ts';
import { addEntry, findEntry } from './entries.ts';
import { Refusal } from './error-mapping.ts';

/** What an operation works with: the transaction, and the ledger's time. */
export interface Work {
  readonly query: Query;
  readonly nowMs: number;
}

interface Locked {
  readonly totals: AccountTotals;
  /** Null for a key that pays for itself. */
  readonly rootId: string | null;
  readonly nowMs: number;
}

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;

export async function createKey({ query, nowMs }: Work, request: NewKey): Promise<KeyRecord> {
  const { id, mode, secret, accountId = null, cap = null } = request;
  const [known] = await query('SELECT 1 FROM gateway.accounts WHERE key_id = $1', [id]);
  if (known !== undefined) return createdBefore(query, request);
  const limits = { ...NO_OTHER_LIMITS, ...request };
  const wrong =
    wrongLimits(request.mode, limits) ?? wrongCredit(request) ?? wrongCap({ mode: request.mode, accountId, cap });
  if (wrong !== null) throw new Refusal(wrong);
  const place = await placeOf(query, id, accountId);
  const credit = mode === 'credit' ? request.credit : 0n;
  const [created] = await query(
    `INSERT INTO gateway.accounts (key_id, version, mode, label, status, expires_at_ms, provider_scope, budget, period,
      created_at_ms, prefix, purchased, period_start_ms, day_start_ms, seen_ms, account_id, root_id, cap, inherited,
      ${LIMIT_COLUMNS.join(', ')})
    VALUES ($1, 1, $2, $3, 'active', $4, $5, $6, $7, $8, $9, $10, $11, $12, $8, $13, $14, $15, $16, ${parameters(17)})
    ON CONFLICT (key_id) DO NOTHING RETURNING *`,
    [
      id,
      mode,
      request.label,
      request.expiresAtMs,
      request.providerScope,
      request.budget,
      request.period,
      nowMs,
      secret.prefix,
      credit,
      periodStartMs(request.period, nowMs),
      dayStartMs(nowMs),
      accountId,
      place?.rootId ?? null,
      cap,
      inheritedText(place?.inherited ?? []),
      ...limitValues(limits),
    ],
  );
  if (created === undefined) return createdBefore(query, request);
  await insertSecret(query, id, secret.digest, secret.prefix);
  if (credit > 0n)
    await addEntry(query, { nodeId: id, kind: 'purchase', id: FIRST_PURCHASE, amount: credit, atMs: nowMs });
  return readKey(created);
}

interface Place {
  /** That pays for the key; locked. */
  readonly rootId: string;
  readonly inherited: readonly Restrictions[];
}

/** Of a new key; null for one that pays for itself. */
async function placeOf(query: Query, keyId: string, accountId: string | null): Promise<Place | null> {
  const [same] = await query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1', [keyId]);
  if (same !== undefined) throw new Refusal(`there is an account ${keyId} already`);
  if (accountId === null) return null;
  const [row] = await query('SELECT root_id FROM gateway.tree_accounts WHERE id = $1', [accountId]);
  if (row === undefined) throw new Refusal(`there is no account ${accountId}`);
  const rootId = text(row, 'root_id');
  await query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1 FOR UPDATE', [rootId]);
  const nodes = await nodesBelow(query, rootId);
  if (nodes.get(accountId)?.account.status === 'closed') throw new Refusal(`account ${accountId} is closed`);
  return { rootId, inherited: restrictionsFrom(nodes, accountId) };
}

/** All accounts of a root. */
export async function nodesBelow(query: Query, rootId: string): Promise<ReadonlyMap<string, NodeTotals>> {
  const rows = await query('SELECT * FROM gateway.tree_accounts WHERE root_id = $1', [rootId]);
  return new Map(rows.map((row) => [text(row, 'id'), nodeFrom(readersOf(row))]));
}

async function createdBefore(query: Query, { id, secret }: NewKey): Promise<KeyRecord> {
  const [row] = await query(
    `SELECT a.* FROM gateway.accounts a JOIN gateway.secrets s ON s.key_id = a.key_id AND s.digest = $2
    WHERE a.key_id = $1`,
    [id, secret.digest],
  );
  if (row === undefined) throw new Refusal(`there is a key ${id} already`);
  return readKey(row);
}

export async function changeKey(work: Work, keyId: string, change: KeyChange): Promise<KeyChangeOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { key } = locked.totals;
  const decision = decideChange(key, change);
  if (decision.kind !== 'change') return decision;
  await saveKey(work.query, decision.key);
  const counts = key.mode === 'token_budget' || key.accountId !== null;
  if (counts && decision.key.period !== key.period) {
    await countPeriodAnew(work.query, decision.key, locked.nowMs);
  }
  return { kind: 'changed', key: decision.key };
}

export async function addSecret(work: Work, keyId: string, digest: string, prefix: string): Promise<KeyChangeOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { key } = locked.totals;
  const [holder] = await work.query('SELECT key_id FROM gateway.secrets WHERE digest = $1', [digest]);
  if (holder !== undefined && text(holder, 'key_id') === keyId) return { kind: 'changed', key };
  if (holder !== undefined) return { kind: 'refused', reason: 'another key has this secret' };
  if (key.status === 'revoked') return { kind: 'refused', reason: REVOKED_IS_FINAL };
  await insertSecret(work.query, keyId, digest, prefix);
  return changedSecrets(work.query, key, prefix);
}

export async function revokeSecret(work: Work, keyId: string, prefix: string): Promise<KeyChangeOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const prefixes = await secretPrefixes(work.query, keyId);
  const rest = prefixes.filter((known) => known !== prefix);
  const newest = rest[0];
  if (newest === undefined)
    return { kind: 'refused', reason: 'it is the only secret of the key: revoke the key instead' };
  // A secret that is not there was revoked before.
  if (rest.length === prefixes.length) return { kind: 'changed', key: locked.totals.key };
  await work.query('DELETE FROM gateway.secrets WHERE key_id = $1 AND prefix = $2', [keyId, prefix]);
  return changedSecrets(work.query, locked.totals.key, newest);
}

export async function addCredit(
  work: Work,
  keyId: string,
  { entryId, amountNanos, note, actor }: Purchase,
): Promise<CreditOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { totals, nowMs } = locked;
  const refused = (reason: string): CreditOutcome => ({ kind: 'refused', reason });
  if (totals.key.mode !== 'credit') return refused('a token-budget key has no credit');
  const earlier =
    (await findEntry(work.query, keyId, 'purchase', entryId)) ?? (await oldPurchase(work.query, keyId, entryId));
  const balance = totals.key.accountId === null ? totals.purchased - totals.used : 0n;
  if (earlier !== undefined) {
    if (amount(earlier, 'amount') === amountNanos) return { kind: 'added', key: totals.key, balance };
    return refused('this purchase was booked before, with another amount');
  }
  const wrong = wrongPurchase(totals, amountNanos);
  if (wrong !== null) return refused(wrong);
  await work.query('UPDATE gateway.accounts SET purchased = purchased + $2, seen_ms = $3 WHERE key_id = $1', [
    keyId,
    amountNanos,
    nowMs,
  ]);
  const entry = { nodeId: keyId, id: entryId, amount: amountNanos, atMs: nowMs, note, actor };
  await addEntry(work.query, { ...entry, kind: 'purchase' });
  return { kind: 'added', key: totals.key, balance: balance + amountNanos };
}

export async function getKey({ query, nowMs }: Work, keyId: string): Promise<KeySummary | null> {
  const [row] = await query('SELECT * FROM gateway.accounts WHERE key_id = $1', [keyId]);
  if (row === undefined) return null;
  return keySummary(readTotals(row), timeOf(row, nowMs), await secretPrefixes(query, keyId));
}

export async function listKeys({ query, nowMs }: Work): Promise<readonly KeySummary[]> {
  const prefixes = new Map<string, string[]>();
  for (const row of await query('SELECT key_id, prefix FROM gateway.secrets ORDER BY key_id, number DESC')) {
    const ofKey = prefixes.get(text(row, 'key_id'));
    if (ofKey === undefined) prefixes.set(text(row, 'key_id'), [text(row, 'prefix')]);
    else ofKey.push(text(row, 'prefix'));
  }
  const rows = await query('SELECT * FROM gateway.accounts ORDER BY created_at_ms DESC, created_number DESC');
  return rows.map((row) => keySummary(readTotals(row), timeOf(row, nowMs), prefixes.get(text(row, 'key_id')) ?? []));
}

/** Whoever has the lock decides about the key; every batch that needs it waits, and then sees what was decided. */
export async function lock({ query, nowMs }: Work, keyId: string): Promise<Locked | null> {
  await query('SELECT gateway.lock_keys(ARRAY[$1])', [keyId]);
  const [row] = await query('SELECT * FROM gateway.accounts WHERE key_id = $1', [keyId]);
  if (row === undefined) return null;
  const rootId = row.root_id === null ? null : text(row, 'root_id');
  return { totals: readTotals(row), rootId, nowMs: timeOf(row, nowMs) };
}

function timeOf(row: Row, nowMs: number): number {
  return Math.max(nowMs, integer(row, 'seen_ms'));
}

/** Newest first. */
async function secretPrefixes(query: Query, keyId: string): Promise<readonly string[]> {
  const rows = await query('SELECT prefix FROM gateway.secrets WHERE key_id = $1 ORDER BY number DESC', [keyId]);
  return rows.map((row) => text(row, 'prefix'));
}

async function insertSecret(query: Query, keyId: string, digest: string, prefix: string): Promise<void> {
  await query(
    `INSERT INTO gateway.secrets (digest, key_id, prefix, number)
    SELECT $1, $2, $3, coalesce(max(number), 0) + 1 FROM gateway.secrets WHERE key_id = $2`,
    [digest, keyId, prefix],
  );
}

/** Those of earlier releases are among the charges. */
async function oldPurchase(query: Query, keyId: string, entryId: string): Promise<Row | undefined> {
  const [row] = await query(`SELECT amount FROM gateway.entries WHERE key_id = $1 AND kind = 'purchase' AND id = $2`, [
    keyId,
    entryId,
  ]);
  return row;
}

async function changedSecrets(query: Query, key: KeyRecord, prefix: string): Promise<KeyChangeOutcome> {
  const changed = { ...key, version: key.version + 1, prefix };
  await saveKey(query, changed);
  return { kind: 'changed', key: changed };
}

export async function saveKey(query: Query, key: KeyRecord): Promise<void> {
  await query(
    `UPDATE gateway.accounts SET version = $2, label = $3, status = $4, expires_at_ms = $5, provider_scope = $6,
      budget = $7, period = $8, prefix = $9, cap = $10, inherited = $11,
      (${LIMIT_COLUMNS.join(', ')}) = ROW(${parameters(12)}) WHERE key_id = $1`,
    [
      key.id,
      key.version,
      key.label,
      key.status,
      key.expiresAtMs,
      key.providerScope,
      key.budget,
      key.period,
      key.prefix,
      key.cap,
      inheritedText(key.inherited),
      ...limitValues(key),
    ],
  );
}

/** The charges that fall into the period as the key has it now. */
export async function countPeriodAnew(query: Query, key: KeyRecord, nowMs: number): Promise<void> {
  await query(
    `UPDATE gateway.accounts SET period_start_ms = $2, period_used = (
      SELECT coalesce(sum(amount), 0) FROM gateway.entries WHERE key_id = $1 AND kind = 'charge' AND at_ms >= $2
    ) WHERE key_id = $1`,
    [key.id, periodStartMs(key.period, nowMs)],
  );
}

/** Of the values of `LIMIT_COLUMNS`, the first of them with this number. */
export function parameters(first: number): string {
  return LIMIT_COLUMNS.map((_, index) => `$${first + index}`).join(', ');
}
