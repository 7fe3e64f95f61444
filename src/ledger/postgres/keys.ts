/** The operator's side of a key: created, changed, given secrets and credit. Each is one transaction. */
import type { KeyRecord } from '../../core/key.ts';
import type { InheritedLimits } from '../../core/limits.ts';
import { dayStartMs, periodStartMs } from '../../core/period.ts';
import { amount, integer, type Row, text } from '../../storage/columns.ts';
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
import type { KeyTotals } from '../rules/key-totals.ts';
import { inheritedFrom, inheritedText, LIMIT_COLUMNS, limitValues, NO_OTHER_LIMITS } from '../rules/limits.ts';
import { FIRST_PURCHASE } from '../rules/money-rules.ts';
import { keyFrom, nodeFrom, totalsFrom } from '../rules/row-mapping.ts';
import type { NodeTotals } from '../rules/tree.ts';
import type { Query } from './connection.ts';
import { addEntry } from './entries.ts';
import { Refusal } from './error-mapping.ts';
import { purchase } from './payer.ts';

/** What an operation works with: the transaction, and the ledger's time. */
export interface Work {
  readonly query: Query;
  readonly nowMs: number;
}

interface Locked {
  readonly totals: KeyTotals;
  /** Null for a key that pays for itself. */
  readonly rootId: string | null;
  readonly nowMs: number;
}

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;

export async function createKey(work: Work, request: NewKey): Promise<KeyRecord> {
  await lockRoots(work.query, [request]);
  return create(work, request);
}

/** All of them or none, in the one transaction. */
export async function createKeys(work: Work, requests: readonly NewKey[]): Promise<readonly KeyRecord[]> {
  await lockRoots(work.query, requests);
  const keys: KeyRecord[] = [];
  for (const request of requests) keys.push(await create(work, request));
  return keys;
}

/** Those that pay for new keys, in the order of every batch. */
async function lockRoots(query: Query, requests: readonly NewKey[]): Promise<void> {
  const accountIds = new Set(requests.map(({ accountId = null }) => accountId).filter((id) => id !== null));
  if (accountIds.size === 0) return;
  await query(
    `SELECT 1 FROM gateway.tree_accounts WHERE id = ANY (ARRAY(SELECT root_id FROM gateway.tree_accounts
      WHERE id = ANY ($1))) ORDER BY id FOR UPDATE`,
    [[...accountIds]],
  );
}

/** Its root is locked. */
async function create({ query, nowMs }: Work, request: NewKey): Promise<KeyRecord> {
  const { id, mode, secret, accountId = null, cap = null } = request;
  const [known] = await query('SELECT 1 FROM gateway.accounts WHERE key_id = $1', [id]);
  if (known !== undefined) return createdBefore(query, request);
  const limits = { ...NO_OTHER_LIMITS, ...request };
  const wrong =
    wrongLimits(request.mode, limits) ??
    wrongCredit(request) ??
    wrongCapture(request.captureDays ?? null) ??
    wrongCap({ mode: request.mode, accountId, cap });
  if (wrong !== null) throw new Refusal(wrong);
  const place = await placeOf(query, id, accountId);
  const credit = mode === 'credit' ? request.credit : 0n;
  const [created] = await query(
    `INSERT INTO gateway.accounts (key_id, version, mode, label, status, expires_at_ms, provider_scope, budget, period,
      created_at_ms, prefix, purchased, period_start_ms, day_start_ms, seen_ms, account_id, root_id, cap, capture_days, inherited,
      ${LIMIT_COLUMNS.join(', ')})
    VALUES ($1, 1, $2, $3, 'active', $4, $5, $6, $7, $8, $9, $10, $11, $12, $8, $13, $14, $15, $16, $17, ${parameters(18)})
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
      request.captureDays ?? null,
      inheritedText(place?.inherited ?? []),
      ...limitValues(limits),
    ],
  );
  if (created === undefined) return createdBefore(query, request);
  await insertSecret(query, id, secret.digest, secret.prefix);
  if (credit > 0n)
    await addEntry(query, { nodeId: id, kind: 'purchase', id: FIRST_PURCHASE, amount: credit, atMs: nowMs });
  return keyFrom(created);
}

interface Place {
  /** That pays for the key. */
  readonly rootId: string;
  readonly inherited: readonly InheritedLimits[];
}

/** Of a new key; null for one that pays for itself. */
async function placeOf(query: Query, keyId: string, accountId: string | null): Promise<Place | null> {
  const [same] = await query('SELECT 1 FROM gateway.tree_accounts WHERE id = $1', [keyId]);
  if (same !== undefined) throw new Refusal(`there is an account ${keyId} already`);
  if (accountId === null) return null;
  const [row] = await query('SELECT root_id FROM gateway.tree_accounts WHERE id = $1', [accountId]);
  if (row === undefined) throw new Refusal(`there is no account ${accountId}`);
  const rootId = text(row, 'root_id');
  const nodes = await nodesBelow(query, rootId);
  if (nodes.get(accountId)?.account.status === 'closed') throw new Refusal(`account ${accountId} is closed`);
  return { rootId, inherited: inheritedFrom(nodes, accountId) };
}

/** All accounts of a root. */
export async function nodesBelow(query: Query, rootId: string): Promise<ReadonlyMap<string, NodeTotals>> {
  const rows = await query('SELECT * FROM gateway.tree_accounts WHERE root_id = $1', [rootId]);
  return new Map(rows.map((row) => [text(row, 'id'), nodeFrom(row)]));
}

async function createdBefore(query: Query, { id, secret }: NewKey): Promise<KeyRecord> {
  const [row] = await query(
    `SELECT a.* FROM gateway.accounts a JOIN gateway.secrets s ON s.key_id = a.key_id AND s.digest = $2
    WHERE a.key_id = $1`,
    [id, secret.digest],
  );
  if (row === undefined) throw new Refusal(`there is a key ${id} already`);
  return keyFrom(row);
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

export async function addCredit(work: Work, keyId: string, given: Purchase): Promise<CreditOutcome> {
  const locked = await lock(work, keyId);
  if (locked === null) return UNKNOWN_KEY;
  const { totals, nowMs } = locked;
  const refused = (reason: string): CreditOutcome => ({ kind: 'refused', reason });
  if (totals.key.mode !== 'credit') return refused('a token-budget key has no credit');
  const balance = totals.key.accountId === null ? totals.purchased - totals.used : 0n;
  const payer = { ...totals, id: keyId, isKey: true, createdAtMs: totals.key.createdAtMs, nowMs };
  const booked = await purchase(work.query, payer, given, () => wrongPurchase(totals, given.amountNanos));
  if (typeof booked === 'string') return refused(booked);
  return { kind: 'added', key: totals.key, balance: balance + booked };
}

export async function getKey({ query, nowMs }: Work, keyId: string): Promise<KeySummary | null> {
  const [row] = await query(`${WITH_PENDING} WHERE a.key_id = $2`, [nowMs, keyId]);
  if (row === undefined) return null;
  return keySummary(withoutPending(totalsFrom(row), row), timeOf(row, nowMs), await secretPrefixes(query, keyId));
}

/** Whoever has the lock decides about the key; every batch that needs it waits, and then sees what was decided. */
export async function lock({ query, nowMs }: Work, keyId: string): Promise<Locked | null> {
  await query('SELECT gateway.lock_payers(ARRAY[$1])', [keyId]);
  const read = async () => (await query('SELECT * FROM gateway.accounts WHERE key_id = $1', [keyId]))[0];
  let row = await read();
  if (row === undefined) return null;
  if (row.root_id === null && isDue(row, timeOf(row, nowMs))) {
    await query('SELECT gateway.expire_payer($1, true, $2)', [keyId, timeOf(row, nowMs)]);
    row = (await read()) ?? row;
  }
  const rootId = row.root_id === null ? null : text(row, 'root_id');
  return { totals: totalsFrom(row), rootId, nowMs: timeOf(row, nowMs) };
}

/** With what of its promotional credit is due and has not expired yet; `$1` is the time. */
export const WITH_PENDING = `SELECT a.*, CASE WHEN a.promo_ms <= greatest($1, a.seen_ms) AND a.root_id IS NULL
  THEN gateway.pending_expiry(a.key_id, true, greatest($1, a.seen_ms)) END AS pending FROM gateway.accounts a`;

/** As it will be when what is due has expired. */
export function withoutPending<T extends { purchased: bigint }>(totals: T, row: Row): T {
  if (row.pending !== null) totals.purchased -= amount(row, 'pending');
  return totals;
}

/** Whether promotional credit of a locked payer has to expire. */
export function isDue(row: Row, nowMs: number): boolean {
  return row.promo_ms !== null && integer(row, 'promo_ms') <= nowMs;
}

export function timeOf(row: Row, nowMs: number): number {
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

async function changedSecrets(query: Query, key: KeyRecord, prefix: string): Promise<KeyChangeOutcome> {
  const changed = { ...key, version: key.version + 1, prefix };
  await saveKey(query, changed);
  return { kind: 'changed', key: changed };
}

export async function saveKey(query: Query, key: KeyRecord): Promise<void> {
  await query(
    `UPDATE gateway.accounts SET version = $2, label = $3, status = $4, expires_at_ms = $5, provider_scope = $6,
      budget = $7, period = $8, prefix = $9, cap = $10, capture_days = $11, inherited = $12,
      (${LIMIT_COLUMNS.join(', ')}) = ROW(${parameters(13)}) WHERE key_id = $1`,
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
      key.captureDays,
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

export async function expiringKeys(
  { query }: Work,
  after: KeyExpiry,
  untilMs: number,
  limit: number,
): Promise<readonly KeyExpiry[]> {
  const rows = await query(
    `SELECT key_id, expires_at_ms FROM gateway.accounts WHERE expires_at_ms IS NOT NULL AND status <> 'revoked'
      AND (expires_at_ms, key_id) > ($1, $2) AND expires_at_ms <= $3 ORDER BY expires_at_ms, key_id LIMIT $4`,
    [after.atMs, after.keyId, untilMs, limit],
  );
  return rows.map((row) => ({ atMs: integer(row, 'expires_at_ms'), keyId: text(row, 'key_id') }));
}
