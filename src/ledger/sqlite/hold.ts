/** The life of a hold after its admission: extended, marked, and ended exactly once. */
import { inputTokens } from '../../core/usage.ts';
import { amount } from '../../storage/columns.ts';
import type {
  ExtendOutcome,
  ExtendRequest,
  Mark,
  SettleOutcome,
  SettleRequest,
  UsageRecord,
  VoidOutcome,
} from '../port.ts';
import { accountTimeMs } from '../rules/account.ts';
import { type Account, bookCharge, type Hold, rollOverAll, saturate } from './account.ts';
import type { AccountCache } from './account-cache.ts';
import { decideExtension, decideExtensionOn } from './balance.ts';
import { endClaim } from './claim.ts';
import { expirePromotions, spendPromotions } from './promotions.ts';
import { keepResponse } from './responses.ts';
import { type HoldShare, nodesOf, type Path, reserveAt } from './tree-cache.ts';

/** How much one more hold moves the running average of how long holds live: an eighth. */
const AVERAGE_WEIGHT = 8;

export function extend(accounts: AccountCache, request: ExtendRequest): ExtendOutcome {
  const { keyId, holdId } = request;
  const account = accounts.get(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return { kind: 'ended' };
  rollOverAll(account, accounts.nowMs);
  expirePromotions(accounts, account);
  if (account.path !== null) return extendOn(accounts, account, account.path, hold, request);
  const decision = decideExtension(account, hold, request);
  const held = decision.kind === 'extended' ? decision.held : hold.amount;
  const waiting = decision.kind === 'temporarily_held';
  const more = held - hold.amount;
  if (more === 0n && waiting === hold.waiting) return decision;
  accounts.snapshot(hold);
  if (hold.persisted) {
    accounts.markDirty(account);
    accounts.sql.extendHold.run(held, waiting ? 1 : 0, keyId, holdId);
    account.persistedReserved += more;
  }
  account.reserved += more;
  hold.amount = held;
  hold.waiting = waiting;
  return decision;
}

/** Of a key of an account: at every level, or not at all. */
function extendOn(
  accounts: AccountCache,
  account: Account,
  path: Path,
  hold: Hold,
  request: ExtendRequest,
): ExtendOutcome {
  const credit = account.key.mode === 'credit';
  const decision = decideExtensionOn(account, path, hold, request);
  const waiting = decision.kind === 'temporarily_held';
  const { amount, tokens } =
    decision.kind === 'extended' ? { amount: decision.held, tokens: decision.heldTokens ?? hold.tokens } : hold;
  const more: HoldShare = { amount: amount - hold.amount, tokens: tokens - hold.tokens, holds: 0 };
  if (more.amount === 0n && more.tokens === 0n && waiting === hold.waiting) return decision;
  accounts.snapshot(hold);
  const nodes = nodesOf(account, hold);
  if (hold.persisted) {
    accounts.markDirty(account);
    accounts.sql.extendPathHold.run(amount, tokens, waiting ? 1 : 0, hold.keyId, hold.id);
    account.persistedReserved += more.amount;
    accounts.reservePersisted(account, nodes, more);
  }
  account.reserved += more.amount;
  reserveAt(nodes, credit, more);
  hold.amount = amount;
  hold.tokens = tokens;
  hold.waiting = waiting;
  return decision;
}

/** A mark for a hold that has ended no longer counts, and neither does one that arrives after a newer one. */
export function mark(accounts: AccountCache, number: number, marks: readonly Mark[]): null {
  for (const { keyId, holdId, charge, tokens, call } of marks) {
    if (charge < 0n) throw new RangeError(`a mark of ${charge} is out of range`);
    const account = accounts.get(keyId);
    const hold = account?.holds.get(holdId);
    if (account === undefined || hold === undefined || number < hold.markNumber) continue;
    accounts.snapshot(hold);
    const clamped = charge > hold.amount;
    hold.markNumber = number;
    hold.markCharge = clamped ? hold.amount : charge;
    const durationMs = livedMsOf(accounts, hold);
    hold.markDetail = JSON.stringify({ number, tokens, call: call ?? null, durationMs }, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    if (hold.persisted) accounts.sql.markHold.run(hold.markCharge, hold.markDetail, keyId, holdId);
    else accounts.persist(account, hold);
  }
  return null;
}

export function settle(accounts: AccountCache, request: SettleRequest): SettleOutcome {
  const { keyId, holdId } = request;
  if (request.charge < 0n) throw new RangeError(`a charge of ${request.charge} is out of range`);
  checkOutput(request.outputTokens ?? 0);
  if ((request.chargeTokens ?? 0n) < 0n) throw new RangeError(`${request.chargeTokens} tokens are out of range`);
  const account = accounts.get(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return ended(accounts, account, holdId);
  return { kind: 'settled', charged: charge(accounts, account, hold, request) };
}

function checkOutput(tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    throw new RangeError(`an output of ${tokens} tokens is out of range`);
}

export function voidHold(accounts: AccountCache, account: Account, hold: Hold): void {
  release(accounts, account, hold);
  accounts.sql.addVoided.run(hold.keyId, hold.id, hold.amount, accounts.nowMs);
  if (hold.claimName !== null) accounts.sql.deleteClaim.run(hold.keyId, hold.claimName);
}

export function voidById(accounts: AccountCache, keyId: string, holdId: string): VoidOutcome {
  const account = accounts.get(keyId);
  const hold = account?.holds.get(holdId);
  if (account === undefined || hold === undefined) return ended(accounts, account, holdId);
  voidHold(accounts, account, hold);
  return { kind: 'voided' };
}

/** Ends a live hold with a charge; returns what was charged. */
export function charge(accounts: AccountCache, account: Account, hold: Hold, request: SettleRequest): bigint {
  const { sql, nowMs } = accounts;
  const clamped = request.charge > hold.amount;
  const charged = clamped ? hold.amount : request.charge;
  const flag = clamped ? (request.flag === null ? 'clamped' : `${request.flag}, clamped`) : request.flag;
  expirePromotions(accounts, account);
  release(accounts, account, hold);
  rollOverAll(account, nowMs);
  const owedTokens = account.key.mode === 'credit' ? (request.chargeTokens ?? 0n) : charged;
  const tokens = owedTokens > hold.tokens ? hold.tokens : owedTokens;
  const atMs =
    hold.path === null ? accountTimeMs(account, nowMs) : chargeAlong(accounts, account, hold, charged, tokens);
  bookCharge(account, charged);
  spendPromotions(accounts, account, hold, charged);
  accounts.countTokens(account, nodesOf(account, hold), request.usage?.tokens.output ?? request.outputTokens ?? 0);
  const call = request.usage ?? request.call ?? null;
  const along = hold.path !== null;
  sql.charges.add([
    hold.keyId,
    'charge',
    hold.id,
    charged,
    hold.amount,
    atMs,
    flag,
    call?.model ?? null,
    call?.provider ?? null,
    call?.format ?? null,
    account.key.mode === 'credit' ? charged : saturate(call?.costNanos ?? 0n),
    saturate(call?.providerCostNanos ?? 0n),
    along ? tokens : 0,
    along ? hold.tokens : 0,
    along ? (account.path?.tree.rootId ?? null) : null,
    hold.path,
  ]);
  if (request.usage !== null) recordUsage(accounts, account, hold, request.usage, atMs);
  else sql.unrolled.add([hold.keyId, hold.id]);
  if (hold.claimName !== null) endClaim(accounts, hold.keyId, hold.claimName, request.reply, request.noReplyReason);
  if (request.kept) keepResponse(sql.cold, hold.keyId, request.kept, nowMs);
  return charged;
}

/** Books a charge at every account of its hold; returns when it counts. */
function chargeAlong(accounts: AccountCache, account: Account, hold: Hold, charged: bigint, tokens: bigint): number {
  const credit = account.key.mode === 'credit';
  let atMs = accountTimeMs(account, accounts.nowMs);
  for (const node of nodesOf(account, hold)) {
    atMs = Math.max(atMs, node.creditStartMs, node.tokensStartMs);
    if (credit) {
      node.used += charged;
      node.creditUsed += charged;
    }
    node.tokensUsed += tokens;
  }
  return atMs;
}

function recordUsage(accounts: AccountCache, account: Account, hold: Hold, usage: UsageRecord, atMs: number): void {
  const { tokens } = usage;
  account.inputTokens = saturate(account.inputTokens + BigInt(inputTokens(tokens)));
  account.outputTokens = saturate(account.outputTokens + BigInt(tokens.output));
  account.requests++;
  accounts.sql.usage.add([
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
    usage.firstByteMs === null ? null : Math.round(usage.firstByteMs),
  ]);
}

function release(accounts: AccountCache, account: Account, hold: Hold): void {
  accounts.markDirty(account);
  accounts.snapshot(hold);
  if (hold.persisted) {
    accounts.sql.deleteHold.run(hold.keyId, hold.id);
    account.persistedReserved -= hold.amount;
    account.persistedHolds--;
  }
  account.holds.delete(hold.id);
  if (hold.id > account.newestEnded) account.newestEnded = hold.id;
  account.reserved -= hold.amount;
  account.liveHolds = account.holds.size;
  const livedMs = livedMsOf(accounts, hold);
  account.holdMs = averaged(account.holdMs, livedMs);
  if (account.path !== null) releaseAlong(accounts, account, account.path, hold, livedMs);
}

function releaseAlong(accounts: AccountCache, account: Account, path: Path, hold: Hold, livedMs: number): void {
  const nodes = nodesOf(account, hold);
  const less: HoldShare = { amount: -hold.amount, tokens: -hold.tokens, holds: -1 };
  if (hold.persisted) accounts.reservePersisted(account, nodes, less);
  reserveAt(nodes, account.key.mode === 'credit', less);
  for (const node of nodes) {
    accounts.trees.markDirty(node);
    node.holdMs = averaged(node.holdMs, livedMs);
  }
  if (account.liveHolds === 0) path.tree.holding.delete(account.key.id);
}

function livedMsOf({ steadyMs }: AccountCache, { steadyAtMs }: Hold): number {
  return Math.max(0, steadyMs - steadyAtMs);
}

function averaged(averageMs: number, livedMs: number): number {
  return averageMs === 0 ? livedMs : averageMs + Math.trunc((livedMs - averageMs) / AVERAGE_WEIGHT);
}

/**
 * How a hold ended that is not live. One that is unknown counts as voided from now on: its admission may still be under way,
 * and must find that it was given up.
 */
function ended(
  accounts: AccountCache,
  account: Account | undefined,
  holdId: string,
): { readonly kind: 'already_settled'; readonly charged: bigint } | { readonly kind: 'already_voided' } {
  if (account === undefined) return { kind: 'already_voided' };
  const { sql, nowMs } = accounts;
  const keyId = account.key.id;
  const entry = sql.entry.get(keyId, 'charge', holdId);
  if (entry !== undefined) return { kind: 'already_settled', charged: amount(entry, 'amount') };
  sql.addUnknownVoided.run(keyId, holdId, nowMs);
  if (holdId > account.newestEnded) account.newestEnded = holdId;
  return { kind: 'already_voided' };
}
