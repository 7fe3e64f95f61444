/** What runs in the background: holds of dead owners are ended, and rows that are no longer needed are removed. */
import { totalTokens } from '../../core/usage.ts';
import { text } from '../../storage/columns.ts';
import { CLAIM_KEEP_MS, type Pruned, RATE_WINDOW_MS, type Recovered, VOIDED_KEEP_MS } from '../operations.ts';
import type { Mark, MarkedCall, UsageRecord } from '../port.ts';

import { charge, voidHold } from './hold.ts';
import type { Hold, KeyCache, KeyState } from './key-cache.ts';
import { expireAll } from './promotions.ts';
import { pruneResponses } from './responses.ts';

/**
 * Declares owners dead whose lease is over, then ends holds that have no living owner or are past their expiry: what
 * was marked is charged once, what was not is voided.
 */
export function recover(keys: KeyCache, limit: number): Recovered {
  const { sql, steadyMs } = keys;
  expireAll(keys);
  keys.persistAll();
  for (const row of sql.cold('DELETE FROM owners WHERE lease_until_ms <= ? RETURNING id').all(steadyMs)) {
    keys.owners.delete(text(row, 'id'));
  }
  const found = sql
    .cold(`SELECT key_id, id FROM holds
      WHERE expires_at_ms <= ? OR owner NOT IN (SELECT id FROM owners) LIMIT ?`)
    .all(steadyMs, limit);
  let charged = 0;
  for (const row of found) {
    const state = keys.get(text(row, 'key_id'));
    const hold = state?.holds.get(text(row, 'id'));
    if (state === undefined || hold === undefined) throw new Error(`hold ${text(row, 'id')} has no key`);
    if (recoverHold(keys, state, hold)) charged++;
  }
  return { charged, voided: found.length - charged, more: found.length === limit };
}

/** Whether it was charged. */
function recoverHold(keys: KeyCache, state: KeyState, hold: Hold): boolean {
  if (hold.markCharge === null) {
    voidHold(keys, state, hold);
    return false;
  }
  const usage = recoveredUsage(state, hold, hold.markCharge);
  charge(keys, state, hold, {
    keyId: hold.keyId,
    holdId: hold.id,
    charge: hold.markCharge,
    chargeTokens: BigInt(totalTokens(usage.tokens)),
    usage,
    reply: null,
    noReplyReason: 'charged_incomplete',
    flag: 'recovered',
  });
  return true;
}

function recoveredUsage(state: KeyState, hold: Hold, marked: bigint): UsageRecord {
  // Written by `mark`, with amounts as text.
  const { tokens, call, durationMs } = JSON.parse(hold.markDetail ?? '') as Pick<Mark, 'tokens'> & {
    call:
      | (Omit<MarkedCall, 'costNanos' | 'providerCostNanos'> & { costNanos: string; providerCostNanos: string })
      | null;
    /** Absent in marks of 0.1. */
    durationMs?: number;
  };
  return {
    requestId: call?.requestId ?? hold.id,
    model: call?.model ?? '',
    provider: call?.provider ?? '',
    format: call?.format ?? '',
    streamed: call?.streamed ?? false,
    outcome: 'broken',
    source: 'counted',
    tokens,
    costNanos: call ? BigInt(call.costNanos) : state.key.mode === 'credit' ? marked : 0n,
    providerCostNanos: BigInt(call?.providerCostNanos ?? '0'),
    attempts: call?.attempts ?? 1,
    firstByteMs: call?.firstByteMs ?? null,
    // Until it was known to run, not until it was found; its arrival, from which the first byte counts, was before the hold.
    durationMs: Math.max(durationMs ?? 0, call?.firstByteMs ?? 0),
  };
}

/** Rows are old in the order in which they were written, so only the first ones need a look. */
const OLD_CLAIMS = `DELETE FROM claims WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, ended_at_ms FROM claims ORDER BY rowid LIMIT ?) WHERE ended_at_ms <= ?)`;
const OLD_VOIDED = `DELETE FROM voided WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, at_ms FROM voided ORDER BY rowid LIMIT ?) WHERE at_ms <= ?)`;
const oldRates = (table: string): string => `DELETE FROM ${table} WHERE (key_id, number) IN (
  SELECT key_id, number FROM ${table} WHERE newest_ms <= ? LIMIT ?)`;
const OLD_RATES = oldRates('rates');
const OLD_TOKEN_RATES = oldRates('token_rates');
/** What no rollup counts yet is never old; and the newest record stays, or its number would be given again. */
const OLD_USAGE = `DELETE FROM usage WHERE number IN (
  SELECT number FROM (SELECT number, at_ms FROM usage ORDER BY number LIMIT ?)
    WHERE at_ms <= ? AND number <= (SELECT number FROM usage_watermark) AND number < (SELECT max(number) FROM usage))`;

export function prune(keys: KeyCache, limit: number, usageKeepMs: number | null): Pruned {
  const { sql, nowMs, steadyMs } = keys;
  keys.flush(true);
  const counts = [
    sql.cold(OLD_CLAIMS).run(limit, nowMs - CLAIM_KEEP_MS).changes,
    sql.cold(OLD_VOIDED).run(limit, nowMs - VOIDED_KEEP_MS).changes,
    sql.cold(OLD_RATES).run(steadyMs - RATE_WINDOW_MS, limit).changes,
    sql.cold(OLD_TOKEN_RATES).run(steadyMs - RATE_WINDOW_MS, limit).changes,
    usageKeepMs === null ? 0 : sql.cold(OLD_USAGE).run(limit, nowMs - usageKeepMs).changes,
  ].map(Number);
  const responses = pruneResponses(sql.cold, nowMs);
  return {
    removed: counts.reduce((sum, rows) => sum + rows, responses.removed),
    more: counts.some((rows) => rows >= limit) || responses.more,
  };
}
