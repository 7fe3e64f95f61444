/** The life of a hold after its admission: extended, marked, and ended exactly once. */
import { inputTokens } from '../../core/usage.ts';
import { Refusal } from '../../storage/errors.ts';
import type {
  ExtendOutcome,
  ExtendRequest,
  Mark,
  SettleOutcome,
  SettleRequest,
  UsageRecord,
  VoidOutcome,
} from '../port.ts';
import { countTokens } from './admit.ts';
import { decideExtension } from './balance.ts';
import { endClaim } from './claim.ts';
import { bookCharge, type Hold, type KeyState, nodesOf, reserve, rollOverAll, saturate } from './key-state.ts';
import { expirePromotions, spendPromotions } from './promotions.ts';
import type { WorkingSet } from './working-set.ts';

/** How much one more hold moves the running average of how long holds live: an eighth. */
const AVERAGE_WEIGHT = 8;

export function extend(keys: WorkingSet, request: ExtendRequest): ExtendOutcome {
  const { keyId, holdId } = request;
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return { kind: 'ended' };
  rollOverAll(state, keys.nowMs);
  expirePromotions(keys, state);
  const decision = decideExtension(keys, state, hold, request);
  const waiting = decision.kind === 'temporarily_held';
  const amount = decision.kind === 'extended' ? decision.held : hold.amount;
  const tokens = decision.kind === 'extended' ? (decision.heldTokens ?? hold.tokens) : hold.tokens;
  if (amount === hold.amount && tokens === hold.tokens && waiting === hold.waiting) return decision;
  keys.holdChanges(hold);
  const nodes = nodesOf(state, hold);
  const moreAmount = amount - hold.amount;
  const moreTokens = tokens - hold.tokens;
  reserve(state, nodes, moreAmount, moreTokens, 0);
  hold.amount = amount;
  hold.tokens = tokens;
  hold.waiting = waiting;
  keys.holdExtended(state, hold, moreAmount, moreTokens);
  return decision;
}

/** A mark for a hold that has ended no longer counts, and neither does one that arrives after a newer one. */
export function mark(keys: WorkingSet, number: number, marks: readonly Mark[]): null {
  for (const { charge } of marks) if (charge < 0n) throw new Refusal(`a mark of ${charge} is out of range`);
  for (const { keyId, holdId, charge, tokens, call } of marks) {
    const state = keys.get(keyId);
    const hold = state?.holds.get(holdId);
    if (state === undefined || hold === undefined || number < (hold.mark?.number ?? 0)) continue;
    keys.holdChanges(hold);
    const clamped = charge > hold.amount ? hold.amount : charge;
    const durationMs = livedMsOf(keys, hold);
    hold.mark = { number, charge: clamped, tokens, call: call ?? null, durationMs };
    keys.holdMarked(state, hold);
  }
  return null;
}

export function settle(keys: WorkingSet, request: SettleRequest): SettleOutcome {
  const { keyId, holdId } = request;
  if (request.charge < 0n) throw new Refusal(`a charge of ${request.charge} is out of range`);
  checkOutput(request.outputTokens ?? 0);
  if ((request.chargeTokens ?? 0n) < 0n) throw new Refusal(`${request.chargeTokens} tokens are out of range`);
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return ended(keys, state, holdId);
  return { kind: 'settled', charged: charge(keys, state, hold, request) };
}

function checkOutput(tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new Refusal(`an output of ${tokens} tokens is out of range`);
}

export function voidHold(keys: WorkingSet, state: KeyState, hold: Hold): void {
  release(keys, state, hold);
  keys.addVoided(state, hold.id, hold.amount);
  // A repeat is answered with the run, however that has ended.
  if (hold.run) {
    if (hold.claimName !== null) keys.endClaim(hold.keyId, hold.claimName, 'charged_incomplete', null);
    return;
  }
  if (hold.claimName !== null) keys.deleteClaim(hold.keyId, hold.claimName);
}

export function voidById(keys: WorkingSet, keyId: string, holdId: string): VoidOutcome {
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return ended(keys, state, holdId);
  voidHold(keys, state, hold);
  return { kind: 'voided' };
}

/** Ends a live hold with a charge; returns what was charged. */
export function charge(keys: WorkingSet, state: KeyState, hold: Hold, request: SettleRequest): bigint {
  const { nowMs } = keys;
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
  countTokens(keys, state, nodes, request.usage?.tokens.output ?? request.outputTokens ?? 0);
  const call = request.usage ?? request.call ?? null;
  const { usage } = request;
  if (usage !== null) countUsage(state, usage);
  keys.addCharge({ state, hold, amount: charged, tokens, atMs, flag, call, usage });
  if (hold.claimName !== null) endClaim(keys, hold.keyId, hold.claimName, request.reply, request.noReplyReason);
  if (request.kept) keys.keepResponse(hold.keyId, request.kept);
  if (request.run) keys.endRun(hold.keyId, request.run);
  return charged;
}

function countUsage(state: KeyState, { tokens }: UsageRecord): void {
  state.inputTokens = saturate(state.inputTokens + BigInt(inputTokens(tokens)));
  state.outputTokens = saturate(state.outputTokens + BigInt(tokens.output));
  state.requests++;
}

/** Nothing is reserved for the hold any longer, at any level of its path. */
function release(keys: WorkingSet, state: KeyState, hold: Hold): void {
  keys.markDirty(state);
  keys.holdChanges(hold);
  const nodes = nodesOf(state, hold);
  state.holds.delete(hold.id);
  reserve(state, nodes, -hold.amount, -hold.tokens, -1);
  const livedMs = livedMsOf(keys, hold);
  state.holdMs = averaged(state.holdMs, livedMs);
  for (const node of nodes) {
    keys.markNodeDirty(node);
    node.holdMs = averaged(node.holdMs, livedMs);
  }
  keys.holdReleased(state, hold);
}

function livedMsOf({ steadyMs }: WorkingSet, { steadyAtMs }: Hold): number {
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
  keys: WorkingSet,
  state: KeyState | undefined,
  holdId: string,
): { readonly kind: 'already_settled'; readonly charged: bigint } | { readonly kind: 'already_voided' } {
  if (state === undefined) return { kind: 'already_voided' };
  const end = keys.endOf(state, holdId);
  if (end?.kind === 'charged') return { kind: 'already_settled', charged: end.amount };
  if (end === null) keys.addVoided(state, holdId, 0n);
  return { kind: 'already_voided' };
}
