/** Holds as the model keeps them: extended, marked, and ended once, by a settlement, a void or a recovery. */

import type { OperationOf, Result } from '../../src/ledger/operations.ts';
import type { ExtendOutcome, SettleRequest } from '../../src/ledger/port.ts';
import type { Model } from './model.ts';
import { levels } from './model-accounts.ts';
import { countTokens } from './model-limits.ts';
import { spend } from './model-money.ts';
import {
  FAILED,
  inputOf,
  type ModelCharge,
  type ModelClaim,
  type ModelHold,
  type ModelKey,
  smaller,
} from './model-parts.ts';

export function extend(model: Model, request: OperationOf<'extend'>): Result {
  const key = model.keys.get(request.keyId);
  const hold = key?.holds.get(request.holdId);
  if (key === undefined || hold === undefined || hold.end !== null) return { kind: 'ended' };
  if (hold.path.length > 0) return extendAlong(model, key, hold, request);
  const outcome = extended(model, key, hold, request);
  hold.waiting = outcome.kind === 'temporarily_held';
  if (outcome.kind === 'extended') hold.amount = outcome.held;
  return outcome;
}

function extended(model: Model, key: ModelKey, hold: ModelHold, request: OperationOf<'extend'>): ExtendOutcome {
  const { amount } = request;
  if (amount <= hold.amount) return { kind: 'extended', held: hold.amount };
  const least = smaller(request.amountMin ?? amount, amount);
  const free = model.means(key) - model.reserved(key);
  const most = free <= 0n ? hold.amount : smaller(amount, hold.amount + free);
  if (most >= least) return { kind: 'extended', held: most };
  if (model.means(key) < least) return { kind: 'insufficient' };
  const others = [...key.holds.values()].filter((other) => other.end === null && other !== hold);
  // All wait for each other: the youngest gives way.
  const yields = others.every((other) => other.waiting && isOlder(other, hold));
  return { kind: yields ? 'insufficient' : 'temporarily_held' };
}

/** All levels or none. */
function extendAlong(model: Model, key: ModelKey, hold: ModelHold, request: OperationOf<'extend'>): ExtendOutcome {
  const inTokens = key.record.mode === 'token_budget';
  const asked = {
    amount: request.amount,
    tokens: inTokens ? request.amount : (request.tokens ?? 0n),
  };
  const least = {
    amount: smaller(request.amountMin ?? asked.amount, asked.amount),
    tokens: smaller((inTokens ? request.amountMin : request.tokensMin) ?? asked.tokens, asked.tokens),
  };
  const raised = { amount: larger(asked.amount, hold.amount), tokens: larger(asked.tokens, hold.tokens) };
  hold.waiting = false;
  for (const level of levels(model, key)) {
    const part = level.unit === 'credit' ? 'amount' : 'tokens';
    if (raised[part] === hold[part]) continue;
    const left = level.all - level.spent;
    const free = left - level.held;
    const most = free <= 0n ? hold[part] : smaller(raised[part], hold[part] + free);
    if (most >= least[part]) {
      raised[part] = most;
      continue;
    }
    if (left < least[part]) return { kind: 'insufficient' };
    const others = model
      .live()
      .filter(
        (other) =>
          other.hold !== hold &&
          (level.accountId === null ? other.key === key : other.hold.path.includes(level.accountId)),
      );
    if (others.every((other) => other.hold.waiting && isOlder(other.hold, hold))) return { kind: 'insufficient' };
    hold.waiting = true;
    return { kind: 'temporarily_held' };
  }
  if (inTokens) raised.amount = larger(hold.amount, smaller(raised.amount, raised.tokens));
  Object.assign(hold, raised);
  return { kind: 'extended', held: raised.amount, heldTokens: raised.tokens };
}

export function markHolds(model: Model, { number, marks }: OperationOf<'mark'>): Result {
  if (marks.some((mark) => mark.charge < 0n)) return FAILED;
  const live = marks.flatMap((mark) => {
    const hold = model.keys.get(mark.keyId)?.holds.get(mark.holdId);
    return hold === undefined || hold.end !== null || number < (hold.mark?.number ?? 0) ? [] : [{ mark, hold }];
  });
  for (const { mark, hold } of live) {
    hold.mark = { number, atMs: model.nowMs, charge: smaller(mark.charge, hold.amount), tokens: mark.tokens };
  }
  return null;
}

export function settle(model: Model, request: SettleRequest): Result {
  if (request.charge < 0n || (request.chargeTokens ?? 0n) < 0n) return FAILED;
  const key = model.keys.get(request.keyId);
  const hold = key?.holds.get(request.holdId);
  if (key === undefined || hold === undefined || hold.end === 'voided')
    return neverAdmitted(model, key, request.holdId);
  if (hold.end !== null) return { kind: 'already_settled', charged: hold.end.charged };
  const { usage, call, flag, reply } = request;
  const state = reply === null ? request.noReplyReason : 'done';
  const record = usage && { ...usage, broken: usage.outcome === 'broken' };
  const charge = { flag, call: usage ?? call ?? null, record, owedTokens: request.chargeTokens ?? 0n };
  countTokens(model, [key, ...model.above(key)], usage?.tokens.output ?? request.outputTokens ?? 0);
  return { kind: 'settled', charged: chargeHold(model, key, hold, request.charge, charge, state, reply) };
}

function chargeHold(
  model: Model,
  key: ModelKey,
  hold: ModelHold,
  wanted: bigint,
  {
    flag,
    call,
    record,
    owedTokens,
  }: Pick<ModelCharge, 'call' | 'record'> & {
    readonly flag: string | null;
    readonly owedTokens: bigint;
  },
  state: ModelClaim['state'],
  reply: SettleRequest['reply'],
): bigint {
  const charged = smaller(wanted, hold.amount);
  if (key.record.mode === 'credit') spend(model.above(key).at(-1) ?? key, hold, charged);
  hold.end = { charged };
  const tokens = key.record.mode === 'token_budget' ? charged : smaller(owedTokens, hold.tokens);
  key.charges.push({
    id: hold.id,
    amount: charged,
    tokens: hold.path.length === 0 ? 0n : tokens,
    path: hold.path,
    atMs: model.nowMs,
    flagged: flag !== null || wanted > hold.amount,
    recovery: flag === 'recovered' ? model.recoveries : null,
    call,
    record,
  });
  const claim = hold.claim === null ? undefined : key.claims.get(hold.claim);
  if (claim !== undefined) Object.assign(claim, { state, endedAtMs: model.nowMs, reply });
  return charged;
}

export function voidHold(model: Model, keyId: string, holdId: string): Result {
  const hold = model.keys.get(keyId)?.holds.get(holdId);
  if (hold === undefined || hold.end === 'voided') return neverAdmitted(model, model.keys.get(keyId), holdId);
  if (hold.end !== null) return { kind: 'already_settled', charged: hold.end.charged };
  hold.end = 'voided';
  if (hold.claim !== null) model.keys.get(keyId)?.claims.delete(hold.claim);
  return { kind: 'voided' };
}

/** Whoever ends a hold that is unknown has given it up: its admission may still arrive. */
function neverAdmitted(model: Model, key: ModelKey | undefined, id: string): Result {
  if (key !== undefined && !key.holds.has(id)) {
    const nothing = {
      owner: '',
      amount: 0n,
      tokens: 0n,
      path: [],
      waiting: false,
      expiresAtMs: 0,
      claim: null,
      mark: null,
    };
    key.holds.set(id, { id, ...nothing, heldAtMs: model.nowMs, end: 'voided' });
  }
  return { kind: 'already_voided' };
}

export function recover(model: Model): Result {
  const due = model.due();
  model.recoveries++;
  for (const [owner, leaseUntilMs] of model.owners) if (leaseUntilMs <= model.nowMs) model.owners.delete(owner);
  for (const { key, hold } of due) {
    if (hold.mark === null) voidHold(model, key.record.id, hold.id);
    else {
      const { tokens, charge, atMs } = hold.mark;
      const record = { tokens, broken: true, firstByteMs: null, durationMs: atMs - hold.heldAtMs };
      const owedTokens = BigInt(inputOf(tokens) + tokens.output);
      countTokens(model, [key, ...model.above(key)], tokens.output);
      const recovered = { flag: 'recovered', call: null, record, owedTokens };
      chargeHold(model, key, hold, charge, recovered, 'charged_incomplete', null);
    }
  }
  const voided = due.filter(({ hold }) => hold.end === 'voided').length;
  return { charged: due.length - voided, voided, more: false };
}

function isOlder(one: ModelHold, other: ModelHold): boolean {
  return one.heldAtMs < other.heldAtMs || (one.heldAtMs === other.heldAtMs && one.id < other.id);
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
