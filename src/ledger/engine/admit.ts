/** Admission: key state, key version, rate limits, claim and balance, decided together, first failure wins. */
import { type KeyRecord, keyStatus } from '../../core/key.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import { Refusal } from '../../storage/errors.ts';
import { type OwnerLost, RATE_WINDOW_MS } from '../operations.ts';
import type { AdmitOutcome, AdmitRequest, HoldRequest, RateState } from '../port.ts';
import { PARALLEL_RETRY_MS } from '../rules/limits.ts';
import { decideHold } from './balance.ts';
import { findRepeated } from './claim.ts';
import { type AccountNode, type Hold, type KeyState, nodesAbove, nodesOf, reserve, rollOverAll } from './key-state.ts';
import { expirePromotions, isDue } from './promotions.ts';
import type { WorkingSet } from './working-set.ts';

/**
 * With `inMemory`, nothing is written but a slot of the rate limit; only for a request without a claim.
 *
 * Saves 17 of 113 µs (W1, 1ac33ab); without it: a row and its place in a batch of `engine.apply` for every hold.
 */
export function admit(
  keys: WorkingSet,
  owner: string,
  request: AdmitRequest,
  inMemory = false,
): AdmitOutcome | OwnerLost {
  const { keyId, hold, claim } = request;
  const state = keys.get(keyId);
  // A key that never existed and one that was removed are refused alike.
  if (state === undefined) return { kind: 'key_refused', status: 'revoked' };
  if (hold !== null) {
    checkHold(hold);
    const previous = request.newHold === true ? null : previousHold(keys, state, hold.id);
    if (previous !== null) return { kind: 'admitted', rate: rateNow(keys, state), ...previous };
  }

  const status = keyStatus(state.key, keys.nowMs);
  if (status !== 'active') return { kind: 'key_refused', status };
  if (state.key.version !== request.keyVersion) return { kind: 'key_changed', key: state.key };
  for (const { account } of nodesAbove(state)) {
    if (account.status !== 'active') return { kind: 'account_refused', status: account.status };
  }
  if (hold !== null && !keys.isLiving(owner)) return { kind: 'owner_lost' };

  // What expires is written, which memory alone cannot do.
  if (inMemory && isDue(state, keys.nowMs)) throw new Refusal('promotional credit has expired');
  const refused = request.rateCounted === true ? null : rateRefusal(keys, state);
  if (refused !== null) return refused;
  // A repeat takes its place in requests per minute, and no other limit is asked.
  const repeated = hold === null || claim === null ? null : findRepeated(keys, keyId, claim);
  if (hold !== null && repeated === null) {
    const loaded = loadRefusal(keys, state, hold) ?? runsRefusal(keys, state, hold);
    if (loaded !== null) return { ...loaded, rate: rateNow(keys, state) };
  }
  if (request.rateCounted !== true) takeRateSlots(keys, state);
  const rate = rateNow(keys, state);
  if (hold === null) return { kind: 'admitted', rate, held: 0n };
  if (repeated !== null) return { ...repeated, rate };
  expirePromotions(keys, state);
  rollOverAll(state, keys.nowMs);
  const decision = decideHold(keys, state, hold);
  if (decision.kind !== 'carries') return { ...decision, rate };
  countTokens(keys, state, nodesAbove(state), hold.inputTokens ?? 0);
  if (claim !== null) keys.addClaim(keyId, claim.name, claim.fingerprint, hold.id);
  const held = placeHold(keys, state, owner, hold, decision, claim?.name ?? null);
  keys.holdPlaced(state, held, inMemory);
  if (hold.run !== undefined) keys.addRun(held, hold.run);
  if (state.path === null) return { kind: 'admitted', rate, held: decision.amount };
  return { kind: 'admitted', rate, held: decision.amount, heldTokens: decision.tokens };
}

function checkHold({ amount, amountMin, tokens = 0n, tokensMin = tokens, inputTokens = 0, ttlMs }: HoldRequest): void {
  if (amountMin < 0n || amount < amountMin || amount > AMOUNT_MAX) {
    throw new Refusal(`a hold of ${amount}, at least ${amountMin}, is out of range`);
  }
  if (tokensMin < 0n || tokens < tokensMin || tokens > AMOUNT_MAX) {
    throw new Refusal(`a hold of ${tokens} tokens, at least ${tokensMin}, is out of range`);
  }
  if (!Number.isSafeInteger(inputTokens) || inputTokens < 0) {
    throw new Refusal(`an input of ${inputTokens} tokens is out of range`);
  }
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 0) throw new Refusal(`a lifetime of ${ttlMs} is out of range`);
}

/**
 * What this hold took when it was admitted before (its acknowledgement was lost); null when it is new. One that was voided
 * is not admitted any more, whether or not it was before: whoever sent its admission has given it up.
 */
function previousHold(
  keys: WorkingSet,
  state: KeyState,
  holdId: string,
): { readonly held: bigint; readonly heldTokens?: bigint } | null {
  const live = state.holds.get(holdId);
  if (live !== undefined)
    return live.path === null ? { held: live.amount } : { held: live.amount, heldTokens: live.tokens };
  const end = keys.endOf(state, holdId);
  if (end === null) return null;
  if (end.kind === 'voided') throw new Refusal(`the hold ${holdId} was voided`);
  const { held, heldTokens } = end;
  return heldTokens === null ? { held } : { held, heldTokens };
}

/** By the limits on requests per minute, from the key upwards; null where none refuses. */
function rateRefusal(keys: WorkingSet, state: KeyState): AdmitOutcome | null {
  const { key, window } = state;
  const { steadyMs: nowMs } = keys;
  if (key.rpmLimit !== null) {
    window.advance(nowMs);
    const retryAfterMs = window.waitMs(key.rpmLimit, nowMs);
    if (retryAfterMs > 0) return { kind: 'rate_limited', rate: window.state(key.rpmLimit, nowMs), retryAfterMs };
  }
  for (const node of nodesAbove(state)) {
    if (node.account.rpmLimit === null) continue;
    node.window.advance(nowMs);
    const retryAfterMs = node.window.waitMs(node.account.rpmLimit, nowMs);
    if (retryAfterMs === 0) continue;
    const rate = key.rpmLimit === null ? null : window.state(key.rpmLimit, nowMs);
    return { kind: 'account_rate_limited', rate, retryAfterMs };
  }
  return null;
}

/** Once no rate limit refuses the request: a slot at every level that limits requests. */
function takeRateSlots(keys: WorkingSet, state: KeyState): void {
  const { key, window } = state;
  for (const { account, window: above } of nodesAbove(state)) {
    if (account.rpmLimit !== null) keys.rates.takeRequest(account.id, above, keys.steadyMs);
  }
  if (key.rpmLimit !== null) keys.rates.takeRequest(key.id, window, keys.steadyMs);
}

/** Input or output of a request of this key, at every level that limits tokens per minute. */
export function countTokens(
  { rates, steadyMs }: WorkingSet,
  { key }: KeyState,
  nodes: readonly AccountNode[],
  tokens: number,
): void {
  if (key.tpmLimit !== null) rates.takeTokens(key.id, tokens, steadyMs);
  for (const { account } of nodes) {
    if (account.tpmLimit !== null) rates.takeTokens(account.id, tokens, steadyMs);
  }
}

type LoadRefusal = Omit<
  Extract<AdmitOutcome, { kind: 'tokens_limited' | 'parallel_limited' | 'runs_limited' }>,
  'rate'
>;

/** By the limits on tokens per minute and on parallel requests, from the key upwards; null where none refuses. */
function loadRefusal(keys: WorkingSet, state: KeyState, hold: HoldRequest): LoadRefusal | null {
  const { key, liveHolds } = state;
  if (key.tpmLimit !== null || key.parallelLimit !== null) {
    const refused = decideLoad(keys, key, liveHolds, hold);
    if (refused !== null) return { ...refused, account: false };
  }
  for (const { account, liveHolds: liveAbove } of nodesAbove(state)) {
    if (account.tpmLimit === null && account.parallelLimit === null) continue;
    const refused = decideLoad(keys, account, liveAbove, hold);
    if (refused !== null) return { ...refused, account: true };
  }
  return null;
}

type LoadDecision = Omit<LoadRefusal, 'account'>;

/** By the limits of a key or an account that has at least one of these. */
function decideLoad(
  keys: WorkingSet,
  { id, tpmLimit, parallelLimit }: Pick<KeyRecord, 'id' | 'tpmLimit' | 'parallelLimit'>,
  liveHolds: number,
  { inputTokens = 0 }: HoldRequest,
): LoadDecision | null {
  if (tpmLimit !== null) {
    const tooLarge = inputTokens > tpmLimit;
    const { steadyMs: nowMs } = keys;
    const retryAfterMs = tooLarge
      ? RATE_WINDOW_MS
      : keys.rates.tokensOf(id, nowMs).waitMs(tpmLimit, inputTokens, nowMs);
    if (retryAfterMs > 0) return { kind: 'tokens_limited', retryAfterMs, tooLarge };
  }
  if (parallelLimit === null || liveHolds < parallelLimit) return null;
  return { kind: 'parallel_limited', retryAfterMs: PARALLEL_RETRY_MS, tooLarge: false };
}

/** By the limits on runs, from the key upwards. There are few of them, so they are counted. */
function runsRefusal(keys: WorkingSet, state: KeyState, hold: HoldRequest): LoadRefusal | null {
  if (hold.run === undefined) return null;
  const refused = { kind: 'runs_limited', retryAfterMs: PARALLEL_RETRY_MS, tooLarge: false } as const;
  const runsIn = (holds: Iterable<Hold>, on: (hold: Hold) => boolean): number =>
    [...holds].filter((live) => live.run && on(live)).length;
  const { key, path } = state;
  if (key.runsLimit !== null && runsIn(keys.holdsOf(state), () => true) >= key.runsLimit)
    return { ...refused, account: false };
  for (const { account } of nodesAbove(state)) {
    if (account.runsLimit === null || path === null) continue;
    const named = JSON.stringify(account.id);
    const runs = runsIn(keys.holdsOf(path.tree), (live) => live.path?.includes(named) === true);
    if (runs >= account.runsLimit) return { ...refused, account: true };
  }
  return null;
}

function rateNow(keys: WorkingSet, state: KeyState): RateState | null {
  const limit = state.key.rpmLimit;
  if (limit === null) return null;
  state.window.advance(keys.steadyMs);
  return state.window.state(limit, keys.steadyMs);
}

function placeHold(
  keys: WorkingSet,
  state: KeyState,
  owner: string,
  { id, ttlMs, run }: HoldRequest,
  { amount, tokens }: { readonly amount: bigint; readonly tokens: bigint },
  claimName: string | null,
): Hold {
  const { nowMs: heldAtMs, steadyMs: steadyAtMs } = keys;
  const hold: Hold = {
    keyId: state.key.id,
    mode: state.key.mode,
    id,
    owner,
    amount,
    tokens: state.path === null ? 0n : tokens,
    path: state.path === null ? null : state.path.text,
    waiting: false,
    heldAtMs,
    steadyAtMs,
    expiresAtMs: steadyAtMs + ttlMs,
    claimName,
    run: run !== undefined,
    mark: null,
    persisted: false,
  };
  state.holds.set(id, hold);
  reserve(state, nodesAbove(state), amount, tokens, 1);
  return hold;
}

/** A hold that only memory has becomes one that was never placed. No transaction is open, so no rollback has to restore it. */
export function takeBackHold(keys: WorkingSet, keyId: string, holdId: string): void {
  const state = keys.get(keyId);
  const hold = state?.holds.get(holdId);
  if (state === undefined || hold === undefined) return;
  state.holds.delete(holdId);
  reserve(state, nodesOf(state, hold), -hold.amount, -hold.tokens, -1);
  keys.holdReleased(state, hold);
}
