/** Admissions as the model decides them: key, accounts, limits, claim, and what can be held. */

import type { Result } from '../../src/ledger/operations.ts';
import type { AdmitOutcome, AdmitRequest, HoldRequest, RateState } from '../../src/ledger/port.ts';
import { nextAfter } from './calendar.ts';
import type { Model } from './model.ts';
import { levels } from './model-accounts.ts';
import { countTokens, loadRefusal, rateState, requestsRefusal } from './model-limits.ts';
import { FAILED, LARGEST, type ModelAccount, type ModelKey, smaller } from './model-parts.ts';

const DAY_MS = 86_400_000;
/** A budget with less than this left counts as used up (ruling 16). */
const REST_TOKENS = 256n;

export function admit(model: Model, owner: string, request: AdmitRequest): Result {
  const { keyId, keyVersion, rateCounted, claim, hold } = request;
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'key_refused', status: 'revoked' };
  if (hold !== null && (hold.amountMin < 0n || hold.amount < hold.amountMin || hold.amount > LARGEST)) return FAILED;
  const earlier = hold === null ? undefined : key.holds.get(hold.id);
  const { tokens = 0n, tokensMin = tokens } = hold ?? {};
  if (hold !== null && (tokensMin < 0n || tokens < tokensMin || tokens > LARGEST)) return FAILED;
  if (earlier?.end === 'voided') return FAILED;
  if (earlier !== undefined) {
    const heldTokens = earlier.path.length === 0 ? {} : { heldTokens: earlier.tokens };
    return { kind: 'admitted', rate: rateState(model, key), held: earlier.amount, ...heldTokens };
  }
  const status = model.status(key);
  if (status !== 'active') return { kind: 'key_refused', status };
  if (key.record.version !== keyVersion) return { kind: 'key_changed', key: key.record };
  const above = model.above(key);
  const shut = above.map(({ record }) => record.status).find((each) => each !== 'active');
  if (shut !== undefined) return { kind: 'account_refused', status: shut };
  if (hold !== null && !model.owners.has(owner)) return { kind: 'owner_lost' };
  const limited = limitedBy(model, key, above, request, requestsRefusal);
  if (limited !== null) return limited;
  // A repeat takes its place in requests per minute, and is asked for nothing else (ruling 75).
  const known = claim === null || hold === null ? undefined : model.claimOf(key, claim.name);
  const loaded = known === undefined ? limitedBy(model, key, above, request, loadRefusal) : null;
  if (loaded !== null) return loaded;
  for (const each of rateCounted === true ? [] : [key, ...above]) {
    if (each.record.rpmLimit !== null) each.places.push(model.nowMs);
  }
  const rate = rateState(model, key);
  if (hold === null) return { kind: 'admitted', rate, held: 0n };

  if (known !== undefined) {
    if (known.fingerprint !== claim?.fingerprint) return { kind: 'conflict', rate, reason: 'other_request' };
    if (known.state === 'running') return { kind: 'in_flight', rate };
    if (known.state !== 'done') return { kind: 'conflict', rate, reason: known.state };
    if (known.reply !== null) return { kind: 'replay', rate, reply: known.reply };
  }
  const inTokens = key.record.mode === 'token_budget';
  const carried = { amount: hold.amount, tokens: inTokens ? hold.amount : tokens };
  if (above.length > 0) {
    const least = { amount: hold.amountMin, tokens: inTokens ? hold.amountMin : tokensMin };
    for (const level of levels(model, key)) {
      const part = level.unit === 'credit' ? 'amount' : 'tokens';
      const left = level.all - level.spent;
      const by = { rate, level: { account: level.accountId !== null, unit: level.unit } };
      const nearlyNothing = part === 'tokens' && left < least.tokens && left < REST_TOKENS;
      if (level.period !== null && (left <= 0n || nearlyNothing)) {
        const endMs = nextAfter(level.period, model.nowMs);
        return {
          kind: 'limit_reached',
          ...by,
          available: left,
          retryAfterMs: endMs === null ? DAY_MS : endMs - model.nowMs,
        };
      }
      if (left < least[part]) return { kind: 'insufficient', ...by, available: left };
      carried[part] = smaller(carried[part], left);
      if (left - level.held < carried[part] * BigInt(1 + (hold.room ?? 0)))
        return { kind: 'temporarily_held', ...by, retryAfterMs: 0 };
    }
    return addHold(
      model,
      key,
      above,
      owner,
      hold,
      inTokens ? carried.tokens : carried.amount,
      carried.tokens,
      claim,
      rate,
    );
  }
  const means = model.means(key);
  if (key.record.mode === 'token_budget' && (means <= 0n || (means < hold.amountMin && means < REST_TOKENS))) {
    const endMs = nextAfter(key.record.period, model.nowMs);
    return {
      kind: 'limit_reached',
      rate,
      available: means,
      retryAfterMs: endMs === null ? DAY_MS : endMs - model.nowMs,
    };
  }
  if (means < hold.amountMin) return { kind: 'insufficient', rate, available: means };
  const amount = smaller(hold.amount, means);
  if (means - model.reserved(key) < amount * BigInt(1 + (hold.room ?? 0)))
    return { kind: 'temporarily_held', rate, retryAfterMs: 0 };
  return addHold(model, key, above, owner, hold, amount, 0n, claim, rate);
}

/** The limits that count by the minute or at a time, from the key upwards. */
function limitedBy(
  model: Model,
  key: ModelKey,
  above: readonly ModelAccount[],
  request: AdmitRequest,
  refusalBy: typeof requestsRefusal | typeof loadRefusal,
): AdmitOutcome | null {
  const rate = rateState(model, key);
  for (const level of [key, ...above]) {
    const refusal = refusalBy(model, level, request);
    if (refusal === null) continue;
    const account = level !== key;
    if (refusal.kind !== 'requests') return { ...refusal, account, rate };
    const { retryAfterMs } = refusal;
    if (account) return { kind: 'account_rate_limited', rate, retryAfterMs };
    if (rate !== null) return { kind: 'rate_limited', rate, retryAfterMs };
  }
  return null;
}

function addHold(
  model: Model,
  key: ModelKey,
  above: readonly ModelAccount[],
  owner: string,
  hold: HoldRequest,
  amount: bigint,
  tokens: bigint,
  claim: AdmitRequest['claim'],
  rate: RateState | null,
): Result {
  countTokens(model, [key, ...above], hold.inputTokens ?? 0);
  key.holds.set(hold.id, {
    id: hold.id,
    owner,
    amount,
    tokens,
    path: above.map(({ record }) => record.id),
    waiting: false,
    heldAtMs: model.nowMs,
    expiresAtMs: model.nowMs + hold.ttlMs,
    claim: claim?.name ?? null,
    mark: null,
    end: null,
  });
  if (claim !== null) {
    key.claims.set(claim.name, { fingerprint: claim.fingerprint, state: 'running', endedAtMs: null, reply: null });
  }
  return { kind: 'admitted', rate, held: amount, ...(above.length === 0 ? {} : { heldTokens: tokens }) };
}
