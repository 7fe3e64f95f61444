/** Admission: key state, key version, rate limits, claim and balance, decided together, first failure wins. */
import { type KeyRecord, keyStatus } from '../../core/key.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import { type OwnerLost, RATE_WINDOW_MS } from '../operations.ts';
import type { AdmitOutcome, AdmitRequest, HoldRequest, RateState } from '../port.ts';
import { PARALLEL_RETRY_MS } from '../rules/limits.ts';
import { type Account, type Hold, rollOverAll } from './account.ts';
import type { AccountCache } from './account-cache.ts';
import { decideHold, decideHoldAlong } from './balance.ts';
import { findObstacle } from './claim.ts';
import { amount, text } from './columns.ts';
import { expirePromotions, isDue } from './promotions.ts';
import { NO_NODES, type Path, reserveAt } from './tree-cache.ts';

/**
 * With `inMemory`, nothing is written but a slot of the rate limit; only for a request without a claim.
 *
 * Saves 17 of 113 µs (W1, 1ac33ab); without it: a row and its place in a batch of `engine.apply` for every hold.
 */
export function admit(
  accounts: AccountCache,
  owner: string,
  request: AdmitRequest,
  inMemory = false,
): AdmitOutcome | OwnerLost {
  const { keyId, hold, claim } = request;
  const account = accounts.get(keyId);
  // A key that never existed and one that was removed are refused alike.
  if (account === undefined) return { kind: 'key_refused', status: 'revoked' };
  if (hold !== null) {
    checkHold(hold);
    const earlier = heldEarlier(accounts, account, hold.id);
    if (earlier !== null) return { kind: 'admitted', rate: rateNow(accounts, account), ...earlier };
  }

  const status = keyStatus(account.key, accounts.nowMs);
  if (status !== 'active') return { kind: 'key_refused', status };
  if (account.key.version !== request.keyVersion) return { kind: 'key_changed', key: account.key };
  if (account.path !== null) {
    const closed = account.path.nodes.find((node) => node.account.status !== 'active')?.account.status;
    if (closed !== undefined && closed !== 'active') return { kind: 'account_refused', status: closed };
  }
  if (hold !== null && !accounts.owners.has(owner)) return { kind: 'owner_lost' };

  // What expires is written, which memory alone cannot do.
  if (inMemory && isDue(account, accounts.nowMs)) throw new Error('promotional credit has expired');
  const refused = takeRateSlots(accounts, account, request);
  if (refused !== null) return refused;
  const rate = rateNow(accounts, account);
  if (hold === null) return { kind: 'admitted', rate, held: 0n };

  if (claim !== null) {
    const obstacle = findObstacle(accounts, keyId, claim, rate);
    if (obstacle !== null) return obstacle;
  }
  expirePromotions(accounts, account);
  rollOverAll(account, accounts.nowMs);
  const decision =
    account.path === null
      ? decideHold(account, hold, accounts.nowMs)
      : decideHoldAlong(account, account.path, hold, accounts.nowMs);
  if (decision.kind !== 'carries') return { ...decision, rate };
  accounts.countTokens(account, account.path?.nodes ?? NO_NODES, hold.inputTokens ?? 0);
  if (claim !== null) accounts.sql.addClaim.run(keyId, claim.name, claim.fingerprint, hold.id);
  const held = placeHold(accounts, account, owner, hold, decision, claim?.name ?? null);
  if (!inMemory) accounts.persist(account, held);
  if (account.path === null) return { kind: 'admitted', rate, held: decision.amount };
  return { kind: 'admitted', rate, held: decision.amount, heldTokens: decision.tokens };
}

function checkHold({ amount, amountMin, tokens = 0n, tokensMin = tokens, inputTokens = 0, ttlMs }: HoldRequest): void {
  if (amountMin < 0n || amount < amountMin || amount > AMOUNT_MAX) {
    throw new RangeError(`a hold of ${amount}, at least ${amountMin}, is out of range`);
  }
  if (tokensMin < 0n || tokens < tokensMin || tokens > AMOUNT_MAX) {
    throw new RangeError(`a hold of ${tokens} tokens, at least ${tokensMin}, is out of range`);
  }
  if (!Number.isSafeInteger(inputTokens) || inputTokens < 0) {
    throw new RangeError(`an input of ${inputTokens} tokens is out of range`);
  }
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 0) throw new RangeError(`a lifetime of ${ttlMs} is out of range`);
}

/**
 * What this hold took when it was admitted before (its acknowledgement was lost); null when it is new. One that was voided
 * is not admitted any more, whether or not it was before: whoever sent its admission has given it up.
 */
function heldEarlier(
  accounts: AccountCache,
  account: Account,
  holdId: string,
): { readonly held: bigint; readonly heldTokens?: bigint } | null {
  const live = account.holds.get(holdId);
  if (live !== undefined)
    return live.path === null ? { held: live.amount } : { held: live.amount, heldTokens: live.tokens };
  if (holdId > account.newestEnded) return null;
  const keyId = account.key.id;
  if (accounts.sql.voided.get(keyId, holdId) !== undefined) throw new Error(`the hold ${holdId} was voided`);
  const entry = accounts.sql.entry.get(keyId, 'charge', holdId);
  if (entry === undefined) return null;
  const held = amount(entry, 'held');
  return text(entry, 'path') === '' ? { held } : { held, heldTokens: amount(entry, 'held_tokens') };
}

/**
 * The limits on requests and tokens per minute and on parallel requests, from the key upwards; where none refuses, a slot for
 * the request is taken at every level that limits them.
 */
function takeRateSlots(accounts: AccountCache, account: Account, request: AdmitRequest): AdmitOutcome | null {
  const { nowMs } = accounts;
  const { key, window, path } = account;
  const { hold } = request;
  const limit = request.rateCounted === true ? null : key.rpmLimit;
  if (limit !== null) {
    window.advance(nowMs);
    const retryAfterMs = window.waitMs(limit, nowMs);
    if (retryAfterMs > 0) return { kind: 'rate_limited', rate: window.state(limit, nowMs), retryAfterMs };
  }
  if (hold !== null && (key.tpmLimit !== null || key.parallelLimit !== null)) {
    const refused = decideLoad(accounts, key, account.liveHolds, hold);
    if (refused !== null) return { ...refused, account: false, rate: rateNow(accounts, account) };
  }
  if (path !== null) {
    const refused = refusedAbove(accounts, path, request);
    if (refused !== null) return { ...refused, rate: rateNow(accounts, account) };
    if (request.rateCounted !== true) takeNodeSlots(accounts, path);
  }
  if (limit !== null) accounts.rates.takeRequest(key.id, window, nowMs);
  return null;
}

type WithoutRate<T> = T extends { readonly rate: unknown } ? Omit<T, 'rate'> : never;
type AboveRefusal = WithoutRate<
  Extract<AdmitOutcome, { kind: 'account_rate_limited' | 'tokens_limited' | 'parallel_limited' }>
>;

/** By the first account that refuses. */
function refusedAbove(
  accounts: AccountCache,
  { nodes }: Path,
  { hold, rateCounted }: AdmitRequest,
): AboveRefusal | null {
  const { nowMs } = accounts;
  for (const { account, window, liveHolds } of nodes) {
    if (account.rpmLimit !== null && rateCounted !== true) {
      window.advance(nowMs);
      const retryAfterMs = window.waitMs(account.rpmLimit, nowMs);
      if (retryAfterMs > 0) return { kind: 'account_rate_limited', retryAfterMs };
    }
    if (hold !== null && (account.tpmLimit !== null || account.parallelLimit !== null)) {
      const refused = decideLoad(accounts, account, liveHolds, hold);
      if (refused !== null) return { ...refused, account: true };
    }
  }
  return null;
}

function takeNodeSlots(accounts: AccountCache, { nodes }: Path): void {
  for (const { account, window } of nodes) {
    if (account.rpmLimit !== null) accounts.rates.takeRequest(account.id, window, accounts.nowMs);
  }
}

type LoadDecision = Omit<AboveRefusal & { kind: 'tokens_limited' | 'parallel_limited' }, 'account'>;

/** By the limits of a key or an account that has at least one of these. */
function decideLoad(
  accounts: AccountCache,
  { id, tpmLimit, parallelLimit }: Pick<KeyRecord, 'id' | 'tpmLimit' | 'parallelLimit'>,
  liveHolds: number,
  { inputTokens = 0 }: HoldRequest,
): LoadDecision | null {
  if (tpmLimit !== null) {
    const tooLarge = inputTokens > tpmLimit;
    const { nowMs } = accounts;
    const retryAfterMs = tooLarge
      ? RATE_WINDOW_MS
      : accounts.rates.tokensOf(id, nowMs).waitMs(tpmLimit, inputTokens, nowMs);
    if (retryAfterMs > 0) return { kind: 'tokens_limited', retryAfterMs, tooLarge };
  }
  if (parallelLimit === null || liveHolds < parallelLimit) return null;
  return { kind: 'parallel_limited', retryAfterMs: PARALLEL_RETRY_MS, tooLarge: false };
}

function rateNow(accounts: AccountCache, account: Account): RateState | null {
  const limit = account.key.rpmLimit;
  if (limit === null) return null;
  account.window.advance(accounts.nowMs);
  return account.window.state(limit, accounts.nowMs);
}

function placeHold(
  accounts: AccountCache,
  account: Account,
  owner: string,
  { id, ttlMs }: HoldRequest,
  { amount, tokens }: { readonly amount: bigint; readonly tokens: bigint },
  claimName: string | null,
): Hold {
  const heldAtMs = accounts.nowMs;
  const hold: Hold = {
    keyId: account.key.id,
    id,
    owner,
    amount,
    tokens,
    path: account.path === null ? null : account.path.text,
    waiting: false,
    heldAtMs,
    expiresAtMs: heldAtMs + ttlMs,
    claimName,
    markNumber: 0,
    markCharge: null,
    markDetail: null,
    persisted: false,
  };
  account.holds.set(id, hold);
  account.reserved += amount;
  account.liveHolds = account.holds.size;
  if (account.path !== null) {
    reserveAt(account.path.nodes, account.key.mode === 'credit', { amount, tokens, holds: 1 });
    account.path.tree.holding.set(account.key.id, account);
  }
  return hold;
}
