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
import { decideExtension } from './balance.ts';
import { endClaim } from './claim.ts';
import type { KeyCache } from './key-cache.ts';
import { bookCharge, type Hold, type KeyState, reserve, rollOverAll, saturate } from './key-state.ts';
import { expirePromotions, spendPromotions } from './promotions.ts';
import { keepResponse } from './responses.ts';
import { nodesOf } from './tree-cache.ts';

/** How much one more hold moves the running average of how long holds live: an eighth. */
const AVERAGE_WEIGHT = 8;

export function extend(keys: KeyCache, request: ExtendRequest): ExtendOutcome {
  const { keyId, holdId } = request;
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return { kind: 'ended' };
  rollOverAll(state, keys.nowMs);
  expirePromotions(keys, state);
  const decision = decideExtension(state, hold, request);
  const waiting = decision.kind === 'temporarily_held';
  const amount = decision.kind === 'extended' ? decision.held : hold.amount;
  const tokens = decision.kind === 'extended' ? (decision.heldTokens ?? hold.tokens) : hold.tokens;
  if (amount === hold.amount && tokens === hold.tokens && waiting === hold.waiting) return decision;
  keys.snapshot(hold);
  const nodes = nodesOf(state, hold);
  const moreAmount = amount - hold.amount;
  const moreTokens = tokens - hold.tokens;
  if (hold.persisted) {
    keys.sql.extendHold.run(amount, tokens, waiting ? 1 : 0, keyId, holdId);
    keys.reservePersisted(state, nodes, moreAmount, moreTokens, 0);
  }
  reserve(state, nodes, moreAmount, moreTokens, 0);
  hold.amount = amount;
  hold.tokens = tokens;
  hold.waiting = waiting;
  return decision;
}

/** A mark for a hold that has ended no longer counts, and neither does one that arrives after a newer one. */
export function mark(keys: KeyCache, number: number, marks: readonly Mark[]): null {
  for (const { keyId, holdId, charge, tokens, call } of marks) {
    if (charge < 0n) throw new RangeError(`a mark of ${charge} is out of range`);
    const state = keys.get(keyId);
    const hold = state?.holds.get(holdId);
    if (state === undefined || hold === undefined || number < hold.markNumber) continue;
    keys.snapshot(hold);
    const clamped = charge > hold.amount;
    hold.markNumber = number;
    hold.markCharge = clamped ? hold.amount : charge;
    const durationMs = livedMsOf(keys, hold);
    hold.markDetail = JSON.stringify({ number, tokens, call: call ?? null, durationMs }, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    if (hold.persisted) keys.sql.markHold.run(hold.markCharge, hold.markDetail, keyId, holdId);
    else keys.persist(state, hold);
  }
  return null;
}

export function settle(keys: KeyCache, request: SettleRequest): SettleOutcome {
  const { keyId, holdId } = request;
  if (request.charge < 0n) throw new RangeError(`a charge of ${request.charge} is out of range`);
  checkOutput(request.outputTokens ?? 0);
  if ((request.chargeTokens ?? 0n) < 0n) throw new RangeError(`${request.chargeTokens} tokens are out of range`);
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return ended(keys, state, holdId);
  return { kind: 'settled', charged: charge(keys, state, hold, request) };
}

function checkOutput(tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    throw new RangeError(`an output of ${tokens} tokens is out of range`);
}

export function voidHold(keys: KeyCache, state: KeyState, hold: Hold): void {
  release(keys, state, hold);
  keys.sql.addVoided.run(hold.keyId, hold.id, hold.amount, keys.nowMs);
  if (hold.claimName !== null) keys.sql.deleteClaim.run(hold.keyId, hold.claimName);
}

export function voidById(keys: KeyCache, keyId: string, holdId: string): VoidOutcome {
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return ended(keys, state, holdId);
  voidHold(keys, state, hold);
  return { kind: 'voided' };
}

/** Ends a live hold with a charge; returns what was charged. */
export function charge(keys: KeyCache, state: KeyState, hold: Hold, request: SettleRequest): bigint {
  const { sql, nowMs } = keys;
  const clamped = request.charge > hold.amount;
  const charged = clamped ? hold.amount : request.charge;
  const flag = clamped ? (request.flag === null ? 'clamped' : `${request.flag}, clamped`) : request.flag;
  expirePromotions(keys, state);
  release(keys, state, hold);
  rollOverAll(state, nowMs);
  const owedTokens = state.key.mode === 'credit' ? (request.chargeTokens ?? 0n) : charged;
  const tokens = owedTokens > hold.tokens ? hold.tokens : owedTokens;
  const nodes = nodesOf(state, hold);
  const atMs = bookCharge(state, nodes, charged, tokens, nowMs);
  spendPromotions(keys, state, hold, charged);
  keys.countTokens(state, nodes, request.usage?.tokens.output ?? request.outputTokens ?? 0);
  const call = request.usage ?? request.call ?? null;
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
    state.key.mode === 'credit' ? charged : saturate(call?.costNanos ?? 0n),
    saturate(call?.providerCostNanos ?? 0n),
    tokens,
    hold.tokens,
    hold.path === null ? null : (state.path?.tree.rootId ?? null),
    hold.path,
  ]);
  if (request.usage !== null) recordUsage(keys, state, hold, request.usage, atMs);
  else sql.unrolled.add([hold.keyId, hold.id]);
  if (hold.claimName !== null) endClaim(keys, hold.keyId, hold.claimName, request.reply, request.noReplyReason);
  if (request.kept) keepResponse(sql.cold, hold.keyId, request.kept, nowMs);
  return charged;
}

function recordUsage(keys: KeyCache, state: KeyState, hold: Hold, usage: UsageRecord, atMs: number): void {
  const { tokens } = usage;
  state.inputTokens = saturate(state.inputTokens + BigInt(inputTokens(tokens)));
  state.outputTokens = saturate(state.outputTokens + BigInt(tokens.output));
  state.requests++;
  keys.sql.usage.add([
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

/** Nothing is reserved for the hold any longer, at any level of its path. */
function release(keys: KeyCache, state: KeyState, hold: Hold): void {
  keys.markDirty(state);
  keys.snapshot(hold);
  const nodes = nodesOf(state, hold);
  if (hold.persisted) {
    keys.sql.deleteHold.run(hold.keyId, hold.id);
    keys.reservePersisted(state, nodes, -hold.amount, -hold.tokens, -1);
  }
  state.holds.delete(hold.id);
  if (hold.id > state.newestEnded) state.newestEnded = hold.id;
  reserve(state, nodes, -hold.amount, -hold.tokens, -1);
  const livedMs = livedMsOf(keys, hold);
  state.holdMs = averaged(state.holdMs, livedMs);
  for (const node of nodes) {
    keys.trees.markDirty(node);
    node.holdMs = averaged(node.holdMs, livedMs);
  }
  if (state.liveHolds === 0) state.path?.tree.holding.delete(state.key.id);
}

function livedMsOf({ steadyMs }: KeyCache, { steadyAtMs }: Hold): number {
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
  keys: KeyCache,
  state: KeyState | undefined,
  holdId: string,
): { readonly kind: 'already_settled'; readonly charged: bigint } | { readonly kind: 'already_voided' } {
  if (state === undefined) return { kind: 'already_voided' };
  const { sql, nowMs } = keys;
  const keyId = state.key.id;
  const entry = sql.entry.get(keyId, 'charge', holdId);
  if (entry !== undefined) return { kind: 'already_settled', charged: amount(entry, 'amount') };
  sql.addUnknownVoided.run(keyId, holdId, nowMs);
  if (holdId > state.newestEnded) state.newestEnded = holdId;
  return { kind: 'already_voided' };
}
