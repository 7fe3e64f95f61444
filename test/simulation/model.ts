/**
 * The ledger as anybody would write it who needs neither speed nor durability: lists in memory, every sum counted anew.
 * It follows the rulings, shares no code with the stores, and says which outcome each operation must have.
 */
import type { KeyStatus } from '../../src/core/key.ts';
import type { TokenCounts } from '../../src/core/usage.ts';
import type { Operation, OperationOf, Result } from '../../src/ledger/operations.ts';
import type {
  AdmitOutcome,
  AdmitRequest,
  ExtendOutcome,
  HoldRequest,
  KeySummary,
  RateState,
  SettleRequest,
} from '../../src/ledger/port.ts';
import { firstOf, nextAfter } from './calendar.ts';
import {
  accountSummary,
  addAccountCredit,
  changeAccount,
  createAccount,
  joinAccount,
  levels,
  moveAccount,
  moveKey,
  pathFigures,
} from './model-accounts.ts';
import { addCredit, addSecret, changeKey, createKey, revokeSecret } from './model-keys.ts';
import { countTokens, pruneLimited, rateState, refusalBy, setBack, takeSurvivors } from './model-limits.ts';
import { correct, findCharge, given, refund, spend } from './model-money.ts';
import {
  FAILED,
  LARGEST,
  type Limited,
  type ModelAccount,
  type ModelCharge,
  type ModelClaim,
  type ModelHold,
  type ModelKey,
  type ModelRefund,
  sum,
} from './model-parts.ts';
import type { Survivors } from './world.ts';

const DAY_MS = 86_400_000;
/** A budget with less than this left counts as used up (ruling 16). */
const REST_TOKENS = 256n;

export class Model {
  nowMs: number;
  readonly keys = new Map<string, ModelKey>();
  readonly accounts = new Map<string, ModelAccount>();
  /** What left keys that joined an account. */
  readonly transfersOut = new Map<string, bigint>();
  readonly refunds: ModelRefund[] = [];
  /** Owner → end of its lease. */
  readonly owners = new Map<string, number>();
  #recoveries = 0;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** One process has the books for itself: whoever held something before is dead, and its clock may be another. */
  restart(nowMs: number, survivors: Survivors): string | null {
    const wrong = this.#forget(survivors);
    this.nowMs = nowMs;
    this.owners.clear();
    for (const [, limited] of this.#limited()) setBack(limited, nowMs);
    return wrong;
  }

  /**
   * What a process kept to itself is gone with it: holds without a mark and a claim. Returns what should not be gone.
   */
  #forget(survivors: Survivors): string | null {
    for (const { key, hold } of this.live()) {
      if (survivors.holds.has(`${key.record.id} ${hold.id}`)) continue;
      if (hold.mark !== null || hold.claim !== null) return `hold ${hold.id} is lost, and had a mark or a claim`;
      key.holds.delete(hold.id);
    }
    for (const [id, limited] of this.#limited()) {
      const wrong = takeSurvivors(this, id, limited, survivors);
      if (wrong !== null) return wrong;
    }
    return null;
  }

  /** Keys and accounts: both may have limits. */
  #limited(): (readonly [id: string, limited: Limited])[] {
    return [...this.keys, ...this.accounts];
  }

  apply(operation: Operation): Result {
    switch (operation.op) {
      case 'findKey':
        return this.holderOf(operation.digest)?.record ?? null;
      case 'admit':
        return this.#admit(operation.owner, operation.request);
      case 'extend':
        return this.#extend(operation);
      case 'mark':
        return this.#mark(operation);
      case 'settle':
        return this.#settle(operation.request);
      case 'void':
        return this.#void(operation.keyId, operation.holdId);
      case 'recover':
        return this.#recover();
      case 'registerOwner':
        this.owners.set(operation.owner, this.nowMs + operation.leaseMs);
        return null;
      case 'heartbeat':
        if (!this.owners.has(operation.owner)) return { kind: 'owner_lost' };
        this.owners.set(operation.owner, this.nowMs + operation.leaseMs);
        return { kind: 'alive' };
      case 'ping':
        return null;
      case 'prune':
        return this.#prune();
      case 'rollUp':
        // Where a sum is kept changes nothing that anybody is told.
        return { charges: 0, more: false };
      default:
        return this.#administer(operation);
    }
  }

  #administer(operation: Exclude<Operation, { op: 'admit' | 'extend' | 'mark' | 'settle' | 'void' }>): Result {
    switch (operation.op) {
      case 'summary': {
        const key = this.keys.get(operation.keyId);
        if (key === undefined) return null;
        const { status: _, secretPrefixes: __, ...summary } = this.summary(key);
        const root = this.above(key).at(-1);
        return root === undefined ? summary : { ...summary, path: pathFigures(this, key, root) };
      }
      case 'getKey': {
        const key = this.keys.get(operation.keyId);
        return key === undefined ? null : this.summary(key);
      }
      case 'listKeys':
        return [...this.keys.values()].map((key) => this.summary(key));
      case 'createKey':
        return createKey(this, operation);
      case 'changeKey':
        return changeKey(this, operation);
      case 'addSecret':
        return addSecret(this, operation);
      case 'revokeSecret':
        return revokeSecret(this, operation);
      case 'addCredit':
        return addCredit(this, operation);
      case 'correct':
        return correct(this, operation);
      case 'refund':
        return refund(this, operation);
      case 'findCharge':
        return findCharge(this, operation);
      case 'audit':
        return this.#audit();
      case 'createAccount':
        return createAccount(this, operation);
      case 'changeAccount':
        return changeAccount(this, operation);
      case 'moveAccount':
        return moveAccount(this, operation);
      case 'moveKey':
        return moveKey(this, operation);
      case 'joinAccount':
        return joinAccount(this, operation);
      case 'addAccountCredit':
        return addAccountCredit(this, operation);
      case 'getAccount': {
        const account = this.accounts.get(operation.accountId);
        return account === undefined ? null : accountSummary(this, account);
      }
      case 'listAccounts':
        return [...this.accounts.values()].map((account) => accountSummary(this, account));
      default:
        throw new Error(`the model knows no ${operation.op}`);
    }
  }

  #admit(owner: string, request: AdmitRequest): Result {
    const { keyId, keyVersion, rateCounted, claim, hold } = request;
    const key = this.keys.get(keyId);
    if (key === undefined) return { kind: 'key_refused', status: 'revoked' };
    if (hold !== null && (hold.amountMin < 0n || hold.amount < hold.amountMin || hold.amount > LARGEST)) return FAILED;
    const earlier = hold === null ? undefined : key.holds.get(hold.id);
    const { tokens = 0n, tokensMin = tokens } = hold ?? {};
    if (hold !== null && (tokensMin < 0n || tokens < tokensMin || tokens > LARGEST)) return FAILED;
    if (earlier?.end === 'voided') return FAILED;
    if (earlier !== undefined) {
      const heldTokens = earlier.path.length === 0 ? {} : { heldTokens: earlier.tokens };
      return { kind: 'admitted', rate: rateState(this, key), held: earlier.amount, ...heldTokens };
    }
    const status = this.status(key);
    if (status !== 'active') return { kind: 'key_refused', status };
    if (key.record.version !== keyVersion) return { kind: 'key_changed', key: key.record };
    const above = this.above(key);
    const shut = above.map(({ record }) => record.status).find((each) => each !== 'active');
    if (shut !== undefined) return { kind: 'account_refused', status: shut };
    if (hold !== null && !this.owners.has(owner)) return { kind: 'owner_lost' };
    const refused = this.#limitedBy(key, above, request);
    if (refused !== null) return refused;
    for (const each of rateCounted === true ? [] : [key, ...above]) {
      if (each.record.rpmLimit !== null) each.places.push(this.nowMs);
    }
    const rate = rateState(this, key);
    if (hold === null) return { kind: 'admitted', rate, held: 0n };

    const known = claim === null ? undefined : this.#claimOf(key, claim.name);
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
      for (const level of levels(this, key)) {
        const part = level.unit === 'credit' ? 'amount' : 'tokens';
        const left = level.all - level.spent;
        const by = { rate, level: { account: level.accountId !== null, unit: level.unit } };
        const nearlyNothing = part === 'tokens' && left < least.tokens && left < REST_TOKENS;
        if (level.period !== null && (left <= 0n || nearlyNothing)) {
          const endMs = nextAfter(level.period, this.nowMs);
          return { kind: 'limit_reached', ...by, retryAfterMs: endMs === null ? DAY_MS : endMs - this.nowMs };
        }
        if (left < least[part]) return { kind: 'insufficient', ...by, available: left };
        carried[part] = smaller(carried[part], left);
        if (left - level.held < carried[part]) return { kind: 'temporarily_held', ...by, retryAfterMs: 0 };
      }
      return this.#hold(
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
    const means = this.means(key);
    if (key.record.mode === 'token_budget' && (means <= 0n || (means < hold.amountMin && means < REST_TOKENS))) {
      const endMs = nextAfter(key.record.period, this.nowMs);
      return { kind: 'limit_reached', rate, retryAfterMs: endMs === null ? DAY_MS : endMs - this.nowMs };
    }
    if (means < hold.amountMin) return { kind: 'insufficient', rate, available: means };
    const amount = smaller(hold.amount, means);
    if (means - this.reserved(key) < amount) return { kind: 'temporarily_held', rate, retryAfterMs: 0 };
    return this.#hold(key, above, owner, hold, amount, 0n, claim, rate);
  }

  /** The limits that count by the minute or at a time, from the key upwards. */
  #limitedBy(key: ModelKey, above: readonly ModelAccount[], request: AdmitRequest): AdmitOutcome | null {
    const rate = rateState(this, key);
    for (const level of [key, ...above]) {
      const refusal = refusalBy(this, level, request);
      if (refusal === null) continue;
      const account = level !== key;
      if (refusal.kind !== 'requests') return { ...refusal, account, rate };
      const { retryAfterMs } = refusal;
      if (account) return { kind: 'account_rate_limited', rate, retryAfterMs };
      if (rate !== null) return { kind: 'rate_limited', rate, retryAfterMs };
    }
    return null;
  }

  #hold(
    key: ModelKey,
    above: readonly ModelAccount[],
    owner: string,
    hold: HoldRequest,
    amount: bigint,
    tokens: bigint,
    claim: AdmitRequest['claim'],
    rate: RateState | null,
  ): Result {
    countTokens(this, [key, ...above], hold.inputTokens ?? 0);
    key.holds.set(hold.id, {
      id: hold.id,
      owner,
      amount,
      tokens,
      path: above.map(({ record }) => record.id),
      waiting: false,
      heldAtMs: this.nowMs,
      expiresAtMs: this.nowMs + hold.ttlMs,
      claim: claim?.name ?? null,
      mark: null,
      end: null,
    });
    if (claim !== null) {
      key.claims.set(claim.name, { fingerprint: claim.fingerprint, state: 'running', endedAtMs: null, reply: null });
    }
    return { kind: 'admitted', rate, held: amount, ...(above.length === 0 ? {} : { heldTokens: tokens }) };
  }

  #extend({ keyId, holdId, amount, tokens }: OperationOf<'extend'>): Result {
    const key = this.keys.get(keyId);
    const hold = key?.holds.get(holdId);
    if (key === undefined || hold === undefined || hold.end !== null) return { kind: 'ended' };
    if (hold.path.length > 0) return this.#extendAlong(key, hold, amount, tokens ?? 0n);
    const outcome = this.#extended(key, hold, amount);
    hold.waiting = outcome.kind === 'temporarily_held';
    if (outcome.kind === 'extended') hold.amount = outcome.held;
    return outcome;
  }

  #extended(key: ModelKey, hold: ModelHold, amount: bigint): ExtendOutcome {
    if (amount <= hold.amount) return { kind: 'extended', held: hold.amount };
    if (this.means(key) < amount) return { kind: 'insufficient' };
    if (this.means(key) - this.reserved(key) >= amount - hold.amount) return { kind: 'extended', held: amount };
    const others = [...key.holds.values()].filter((other) => other.end === null && other !== hold);
    // All wait for each other: the youngest gives way.
    const yields = others.every((other) => other.waiting && isOlder(other, hold));
    return { kind: yields ? 'insufficient' : 'temporarily_held' };
  }

  /** All levels or none. */
  #extendAlong(key: ModelKey, hold: ModelHold, amount: bigint, tokens: bigint): ExtendOutcome {
    const inTokens = key.record.mode === 'token_budget';
    const wanted = { amount: larger(amount, hold.amount), tokens: larger(inTokens ? amount : tokens, hold.tokens) };
    hold.waiting = false;
    for (const level of levels(this, key)) {
      const part = level.unit === 'credit' ? 'amount' : 'tokens';
      const more = wanted[part] - hold[part];
      if (more === 0n) continue;
      const left = level.all - level.spent;
      if (left < wanted[part]) return { kind: 'insufficient' };
      if (left - level.held >= more) continue;
      const others = this.live().filter(
        (other) =>
          other.hold !== hold &&
          (level.accountId === null ? other.key === key : other.hold.path.includes(level.accountId)),
      );
      if (others.every((other) => other.hold.waiting && isOlder(other.hold, hold))) return { kind: 'insufficient' };
      hold.waiting = true;
      return { kind: 'temporarily_held' };
    }
    Object.assign(hold, wanted);
    return { kind: 'extended', held: wanted.amount };
  }

  #mark({ number, marks }: OperationOf<'mark'>): Result {
    if (marks.some((mark) => mark.charge < 0n)) return FAILED;
    const live = marks.flatMap((mark) => {
      const hold = this.keys.get(mark.keyId)?.holds.get(mark.holdId);
      return hold === undefined || hold.end !== null || number < (hold.mark?.number ?? 0) ? [] : [{ mark, hold }];
    });
    for (const { mark, hold } of live) {
      hold.mark = { number, charge: smaller(mark.charge, hold.amount), tokens: mark.tokens };
    }
    return null;
  }

  #settle(request: SettleRequest): Result {
    if (request.charge < 0n || (request.chargeTokens ?? 0n) < 0n) return FAILED;
    const key = this.keys.get(request.keyId);
    const hold = key?.holds.get(request.holdId);
    if (key === undefined || hold === undefined || hold.end === 'voided')
      return this.#neverAdmitted(key, request.holdId);
    if (hold.end !== null) return { kind: 'already_settled', charged: hold.end.charged };
    const { usage, call, flag, reply } = request;
    const state = reply === null ? request.noReplyReason : 'done';
    const record = usage && { ...usage, broken: usage.outcome === 'broken' };
    const charge = { flag, call: usage ?? call ?? null, record, owedTokens: request.chargeTokens ?? 0n };
    countTokens(this, [key, ...this.above(key)], usage?.tokens.output ?? request.outputTokens ?? 0);
    return { kind: 'settled', charged: this.#charge(key, hold, request.charge, charge, state, reply) };
  }

  #charge(
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
    if (key.record.mode === 'credit') spend(this.above(key).at(-1) ?? key, hold, charged);
    hold.end = { charged };
    const tokens = key.record.mode === 'token_budget' ? charged : smaller(owedTokens, hold.tokens);
    key.charges.push({
      id: hold.id,
      amount: charged,
      tokens: hold.path.length === 0 ? 0n : tokens,
      path: hold.path,
      atMs: this.nowMs,
      flagged: flag !== null || wanted > hold.amount,
      recovery: flag === 'recovered' ? this.#recoveries : null,
      call,
      record,
    });
    const claim = hold.claim === null ? undefined : key.claims.get(hold.claim);
    if (claim !== undefined) Object.assign(claim, { state, endedAtMs: this.nowMs, reply });
    return charged;
  }

  #void(keyId: string, holdId: string): Result {
    const hold = this.keys.get(keyId)?.holds.get(holdId);
    if (hold === undefined || hold.end === 'voided') return this.#neverAdmitted(this.keys.get(keyId), holdId);
    if (hold.end !== null) return { kind: 'already_settled', charged: hold.end.charged };
    hold.end = 'voided';
    if (hold.claim !== null) this.keys.get(keyId)?.claims.delete(hold.claim);
    return { kind: 'voided' };
  }

  /** Whoever ends a hold that is unknown has given it up: its admission may still arrive. */
  #neverAdmitted(key: ModelKey | undefined, id: string): Result {
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
      key.holds.set(id, { id, ...nothing, heldAtMs: this.nowMs, end: 'voided' });
    }
    return { kind: 'already_voided' };
  }

  /** What a recovery would have to end now: holds of owners that are dead or whose lease is over, and expired ones. */
  due(): { readonly key: ModelKey; readonly hold: ModelHold }[] {
    return this.live().filter(
      ({ hold }) => hold.expiresAtMs <= this.nowMs || (this.owners.get(hold.owner) ?? 0) <= this.nowMs,
    );
  }

  #recover(): Result {
    const due = this.due();
    this.#recoveries++;
    for (const [owner, leaseUntilMs] of this.owners) if (leaseUntilMs <= this.nowMs) this.owners.delete(owner);
    for (const { key, hold } of due) {
      if (hold.mark === null) this.#void(key.record.id, hold.id);
      else {
        const { tokens, charge } = hold.mark;
        const record = { tokens, broken: true, firstByteMs: null, durationMs: this.nowMs - hold.heldAtMs };
        const owedTokens = BigInt(inputOf(tokens) + tokens.output);
        countTokens(this, [key, ...this.above(key)], tokens.output);
        const recovered = { flag: 'recovered', call: null, record, owedTokens };
        this.#charge(key, hold, charge, recovered, 'charged_incomplete', null);
      }
    }
    const voided = due.filter(({ hold }) => hold.end === 'voided').length;
    return { charged: due.length - voided, voided, more: false };
  }

  /** What is pruned is nothing that anybody asks for; it only matters when a clock is set back later. */
  #prune(): Result {
    for (const [, limited] of this.#limited()) pruneLimited(limited, this.nowMs);
    for (const key of this.keys.values()) {
      for (const name of [...key.claims.keys()]) this.#claimOf(key, name);
    }
    return { removed: 0, more: false };
  }

  #audit(): Result {
    const keys = [...this.keys.values()];
    const charges = keys.flatMap((key) => key.charges);
    return {
      ok: true,
      keys: keys.length,
      entries:
        charges.length +
        this.transfersOut.size +
        [...keys, ...this.accounts.values()].reduce(
          (count, { purchases, booked }) => count + purchases.size + booked.size,
          0,
        ),
      liveHolds: this.live().length,
      findings: [],
      flagged: charges.filter((charge) => charge.flagged).length,
    };
  }

  /** When promotional credit expired last; what a clock set back across that would make of it is open. */
  newestExpiryMs(): number {
    const all = [...this.keys.values(), ...this.accounts.values()].flatMap(({ promotions }) => promotions);
    const over = all.map(({ expiresAtMs }) => expiresAtMs).filter((atMs) => atMs <= this.nowMs);
    return Math.max(Number.NEGATIVE_INFINITY, ...over);
  }

  status({ record }: ModelKey): KeyStatus {
    const expired = record.expiresAtMs !== null && record.expiresAtMs <= this.nowMs;
    return record.status === 'active' && expired ? 'expired' : record.status;
  }

  /** What the key could spend if nothing were held. */
  means(key: ModelKey): bigint {
    const { mode, budget, period, accountId } = key.record;
    if (accountId !== null) {
      const unit = mode === 'credit' ? 'credit' : 'tokens';
      const left = levels(this, key).filter((level) => level.unit === unit);
      return left.map((level) => level.all - level.spent).reduce(smaller, LARGEST);
    }
    if (mode === 'credit') return given(this, key) - this.charged(key, 0);
    return (budget ?? LARGEST) - this.charged(key, firstOf(period, this.nowMs));
  }

  charged(key: ModelKey, sinceMs: number): bigint {
    return sum(key.charges.filter(({ atMs }) => atMs >= sinceMs).map(({ amount }) => amount));
  }

  reserved(key: ModelKey): bigint {
    return sum([...key.holds.values()].filter((hold) => hold.end === null).map((hold) => hold.amount));
  }

  /** What may be shown as the newest charge. */
  newestCharges({ charges }: ModelKey): readonly bigint[] {
    const newest = charges.at(-1);
    if (newest === undefined) return [0n];
    const equal = charges.filter((charge) => charge.recovery !== null && charge.recovery === newest.recovery);
    return [newest, ...equal].map(({ amount }) => amount);
  }

  live(): { readonly key: ModelKey; readonly hold: ModelHold }[] {
    return [...this.keys.values()].flatMap((key) =>
      [...key.holds.values()].filter((hold) => hold.end === null).map((hold) => ({ key, hold })),
    );
  }

  /** The accounts above a key, nearest first. */
  above(key: ModelKey): ModelAccount[] {
    const path: ModelAccount[] = [];
    for (let id = key.record.accountId; id !== null; ) {
      const account = this.accounts.get(id);
      if (account === undefined) throw new Error(`the model has no account ${id}`);
      path.push(account);
      id = account.record.parentId;
    }
    return path;
  }

  summary(key: ModelKey): KeySummary {
    const credit = key.record.mode === 'credit';
    const paid = credit && key.record.accountId !== null;
    const records = key.charges.flatMap(({ record }) => (record === null ? [] : [record]));
    return {
      key: key.record,
      purchased: paid ? this.charged(key, 0) + this.reserved(key) : given(this, key),
      used: credit ? this.charged(key, 0) : 0n,
      lastCost: credit ? (this.newestCharges(key)[0] ?? 0n) : 0n,
      todaySpend: credit ? this.charged(key, firstOf('day', this.nowMs)) : 0n,
      reserved: this.reserved(key),
      liveHolds: [...key.holds.values()].filter((hold) => hold.end === null).length,
      periodUsed: credit && !paid ? 0n : this.charged(key, firstOf(key.record.period, this.nowMs)),
      periodEndsAtMs: credit && key.record.cap === null ? null : nextAfter(key.record.period, this.nowMs),
      inputTokens: sum(records.map(({ tokens }) => BigInt(inputOf(tokens)))),
      outputTokens: sum(records.map(({ tokens }) => BigInt(tokens.output))),
      requests: records.length,
      status: this.status(key),
      secretPrefixes: key.secrets.map((secret) => secret.prefix).reverse(),
    };
  }

  holderOf(digest: string): ModelKey | undefined {
    return [...this.keys.values()].find((key) => key.secrets.some((secret) => secret.digest === digest));
  }

  /** A claim is kept for a day after its end; once that was noticed, it is gone for good. */
  #claimOf(key: ModelKey, name: string): ModelClaim | undefined {
    const claim = key.claims.get(name);
    if (claim?.endedAtMs == null || claim.endedAtMs + DAY_MS > this.nowMs) return claim;
    key.claims.delete(name);
    return undefined;
  }
}

function isOlder(one: ModelHold, other: ModelHold): boolean {
  return one.heldAtMs < other.heldAtMs || (one.heldAtMs === other.heldAtMs && one.id < other.id);
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function inputOf({ input, cacheRead, cacheWrite, cacheWrite1h }: TokenCounts): number {
  return input + cacheRead + cacheWrite + cacheWrite1h;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
