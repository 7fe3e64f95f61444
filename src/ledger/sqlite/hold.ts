/** The life of a hold after its admission: extended, marked, and ended exactly once. */
import { inputTokens } from '../../core/usage.ts';
import type { Recovered } from '../operations.ts';
import type {
  ExtendOutcome,
  Mark,
  MarkedCall,
  SettleOutcome,
  SettleRequest,
  UsageRecord,
  VoidOutcome,
} from '../port.ts';
import { accountTimeMs, rollOver } from '../rules/account.ts';
import { bookCharge, saturate } from './account.ts';
import type { Account, Books, Hold } from './account-cache.ts';
import { decideExtension } from './balance.ts';
import { endClaim } from './claim.ts';
import { amount, text } from './columns.ts';

/** How much one more hold moves the running average of how long holds live: an eighth. */
const AVERAGE_WEIGHT = 8;

export function extend(books: Books, keyId: string, holdId: string, amountWanted: bigint): ExtendOutcome {
  const account = books.account(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return { kind: 'ended' };
  rollOver(account, books.nowMs);
  const decision = decideExtension(account, hold.amount, amountWanted);
  if (decision.kind !== 'extended' || decision.held === hold.amount) return decision;
  const more = decision.held - hold.amount;
  books.remember(hold);
  if (hold.filed) {
    books.touch(account);
    books.sql.raiseHold.run(decision.held, keyId, holdId);
    account.filedReserved += more;
  }
  account.reserved += more;
  hold.amount = decision.held;
  return decision;
}

/** A mark for a hold that has ended says nothing any more. */
export function mark(books: Books, marks: readonly Mark[]): null {
  for (const { keyId, holdId, charge, tokens, call } of marks) {
    if (charge < 0n) throw new RangeError(`a mark of ${charge} is out of range`);
    const account = books.account(keyId);
    const hold = account?.holds.get(holdId);
    if (account === undefined || hold === undefined) continue;
    books.remember(hold);
    const clamped = charge > hold.amount;
    hold.markCharge = clamped ? hold.amount : charge;
    hold.markDetail = JSON.stringify({ tokens, call: call ?? null }, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    if (hold.filed) books.sql.markHold.run(hold.markCharge, hold.markDetail, keyId, holdId);
    else books.file(account, hold);
  }
  return null;
}

export function settle(books: Books, request: SettleRequest): SettleOutcome {
  const { keyId, holdId } = request;
  if (request.charge < 0n) throw new RangeError(`a charge of ${request.charge} is out of range`);
  const account = books.account(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return ended(books, keyId, holdId);
  return { kind: 'settled', charged: charge(books, account, hold, request) };
}

function voidHold(books: Books, account: Account, hold: Hold): void {
  release(books, account, hold);
  books.sql.addVoided.run(hold.keyId, hold.id, hold.amount, books.nowMs);
  if (hold.claimName !== null) books.sql.deleteClaim.run(hold.keyId, hold.claimName);
}

export function voidById(books: Books, keyId: string, holdId: string): VoidOutcome {
  const account = books.account(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return ended(books, keyId, holdId);
  voidHold(books, account, hold);
  return { kind: 'voided' };
}

/**
 * Declares owners dead whose lease is over, then ends holds that have no living owner or are past their expiry: what
 * was marked is charged once, what was not is voided.
 */
export function recover(books: Books, limit: number): Recovered {
  const { sql, nowMs } = books;
  books.fileAll();
  for (const row of sql.cold('DELETE FROM owners WHERE lease_until_ms <= ? RETURNING id').all(nowMs)) {
    books.owners.delete(text(row, 'id'));
  }
  const found = sql
    .cold(`SELECT key_id, id FROM holds
      WHERE expires_at_ms <= ? OR owner NOT IN (SELECT id FROM owners) LIMIT ?`)
    .all(nowMs, limit);
  let charged = 0;
  for (const row of found) {
    const account = books.account(text(row, 'key_id'));
    const hold = account?.holds.get(text(row, 'id'));
    if (account === undefined || hold === undefined) throw new Error(`hold ${text(row, 'id')} has no account`);
    if (recoverHold(books, account, hold)) charged++;
  }
  return { charged, voided: found.length - charged, more: found.length === limit };
}

/** Whether it was charged. */
function recoverHold(books: Books, account: Account, hold: Hold): boolean {
  if (hold.markCharge === null) {
    voidHold(books, account, hold);
    return false;
  }
  charge(books, account, hold, {
    keyId: hold.keyId,
    holdId: hold.id,
    charge: hold.markCharge,
    usage: recoveredUsage(books, account, hold, hold.markCharge),
    reply: null,
    noReplyReason: 'charged_incomplete',
    flag: 'recovered',
  });
  return true;
}

function recoveredUsage(books: Books, account: Account, hold: Hold, marked: bigint): UsageRecord {
  // Written by `mark`, with amounts as text.
  const { tokens, call } = JSON.parse(hold.markDetail ?? '') as Pick<Mark, 'tokens'> & {
    call:
      | (Omit<MarkedCall, 'costNanos' | 'providerCostNanos'> & { costNanos: string; providerCostNanos: string })
      | null;
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
    costNanos: call ? BigInt(call.costNanos) : account.key.mode === 'credit' ? marked : 0n,
    providerCostNanos: BigInt(call?.providerCostNanos ?? '0'),
    attempts: call?.attempts ?? 1,
    durationMs: books.nowMs - hold.heldAtMs,
  };
}

/** Ends a live hold with a charge; returns what was charged. */
function charge(books: Books, account: Account, hold: Hold, request: SettleRequest): bigint {
  const { sql, nowMs } = books;
  const clamped = request.charge > hold.amount;
  const charged = clamped ? hold.amount : request.charge;
  const flag = clamped ? (request.flag === null ? 'clamped' : `${request.flag}, clamped`) : request.flag;
  release(books, account, hold);
  rollOver(account, nowMs);
  const atMs = accountTimeMs(account, nowMs);
  bookCharge(account, charged);
  sql.charges.add([hold.keyId, 'charge', hold.id, charged, hold.amount, atMs, flag]);
  if (request.usage !== null) recordUsage(books, account, hold, request.usage, atMs);
  if (hold.claimName !== null) endClaim(books, hold.keyId, hold.claimName, request.reply, request.noReplyReason);
  return charged;
}

function recordUsage(books: Books, account: Account, hold: Hold, usage: UsageRecord, atMs: number): void {
  const { tokens } = usage;
  account.inputTokens = saturate(account.inputTokens + BigInt(inputTokens(tokens)));
  account.outputTokens = saturate(account.outputTokens + BigInt(tokens.output));
  account.requests++;
  books.sql.usage.add([
    hold.keyId,
    atMs,
    hold.id,
    usage.requestId,
    usage.model,
    usage.provider,
    usage.format,
    usage.streamed ? 1 : 0,
    usage.outcome,
    usage.source,
    tokens.input,
    tokens.cacheRead,
    tokens.cacheWrite,
    tokens.cacheWrite1h,
    tokens.output,
    tokens.reasoning,
    saturate(usage.costNanos),
    saturate(usage.providerCostNanos),
    usage.attempts,
    Math.round(usage.durationMs),
  ]);
}

function release(books: Books, account: Account, hold: Hold): void {
  books.touch(account);
  books.remember(hold);
  if (hold.filed) {
    books.sql.deleteHold.run(hold.keyId, hold.id);
    account.filedReserved -= hold.amount;
    account.filedHolds--;
  }
  account.holds.delete(hold);
  if (hold.id > account.newestEnded) account.newestEnded = hold.id;
  account.reserved -= hold.amount;
  account.liveHolds = account.holds.size;
  const livedMs = books.nowMs - hold.heldAtMs;
  account.holdMs =
    account.holdMs === 0 ? livedMs : account.holdMs + Math.trunc((livedMs - account.holdMs) / AVERAGE_WEIGHT);
}

/** How a hold ended that is not live. One that nobody knows any more was voided long ago. */
function ended(
  books: Books,
  keyId: string,
  holdId: string,
): { readonly kind: 'already_settled'; readonly charged: bigint } | { readonly kind: 'already_voided' } {
  books.sql.charges.write();
  const entry = books.sql.entry.get(keyId, 'charge', holdId);
  if (entry === undefined) return { kind: 'already_voided' };
  return { kind: 'already_settled', charged: amount(entry, 'amount') };
}
