/**
 * The ledger as anybody would write it who needs neither speed nor durability: lists in memory, every sum counted anew.
 * It follows the rulings, shares no code with the stores, and says which outcome each operation must have.
 */
import type { KeyStatus } from '../../src/core/key.ts';
import type { Operation, Result } from '../../src/ledger/operations.ts';
import type { KeySummary } from '../../src/ledger/port.ts';
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
import { admit } from './model-admission.ts';
import { extend, markHolds, recover, settle, voidHold } from './model-holds.ts';
import { addCredit, addSecret, changeKey, createKey, revokeSecret } from './model-keys.ts';
import { pruneLimited, setBack, takeSurvivors } from './model-limits.ts';
import { correct, findCharge, given, refund } from './model-money.ts';
import {
  inputOf,
  LARGEST,
  type Limited,
  type ModelAccount,
  type ModelClaim,
  type ModelHold,
  type ModelKey,
  type ModelRefund,
  smaller,
  sum,
} from './model-parts.ts';
import type { Survivors } from './world.ts';

const DAY_MS = 86_400_000;

export class Model {
  nowMs: number;
  readonly keys = new Map<string, ModelKey>();
  readonly accounts = new Map<string, ModelAccount>();
  /** What left keys that joined an account. */
  readonly transfersOut = new Map<string, bigint>();
  readonly refunds: ModelRefund[] = [];
  /** Owner → end of its lease. */
  readonly owners = new Map<string, number>();
  recoveries = 0;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** One process has the books for itself: whoever held something before is dead, and its clock may be another. */
  restart(nowMs: number, survivors: Survivors): string | null {
    const wrong = this.#forget(survivors);
    this.nowMs = nowMs;
    this.owners.clear();
    for (const [, limited] of this.#limited()) setBack(limited, nowMs);
    for (const { hold } of this.live()) hold.heldAtMs = Math.min(hold.heldAtMs, nowMs);
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
        return admit(this, operation.owner, operation.request);
      case 'extend':
        return extend(this, operation);
      case 'mark':
        return markHolds(this, operation);
      case 'settle':
        return settle(this, operation.request);
      case 'void':
        return voidHold(this, operation.keyId, operation.holdId);
      case 'recover':
        return recover(this);
      case 'registerOwner':
        this.owners.set(operation.owner, this.nowMs + operation.leaseMs);
        return null;
      case 'heartbeat':
        if (!this.owners.has(operation.owner)) return { kind: 'owner_lost' };
        this.owners.set(operation.owner, this.nowMs + operation.leaseMs);
        return { kind: 'alive', untilMs: this.nowMs + operation.leaseMs };
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

  /** What a recovery would have to end now: holds of owners that are dead or whose lease is over, and expired ones. */
  due(): { readonly key: ModelKey; readonly hold: ModelHold }[] {
    return this.live().filter(
      ({ hold }) => hold.expiresAtMs <= this.nowMs || (this.owners.get(hold.owner) ?? 0) <= this.nowMs,
    );
  }

  /** What is pruned is nothing that anybody asks for; it only matters when a clock is set back later. */
  #prune(): Result {
    for (const [, limited] of this.#limited()) pruneLimited(limited, this.nowMs);
    for (const key of this.keys.values()) {
      for (const name of [...key.claims.keys()]) this.claimOf(key, name);
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
      // Not compared: the lines are for people.
      flaggedCharges: [],
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
  claimOf(key: ModelKey, name: string): ModelClaim | undefined {
    const claim = key.claims.get(name);
    if (claim?.endedAtMs == null || claim.endedAtMs + DAY_MS > this.nowMs) return claim;
    key.claims.delete(name);
    return undefined;
  }
}
