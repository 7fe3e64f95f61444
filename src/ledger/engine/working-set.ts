/**
 * What operations work on: the keys, accounts, holds and claims that they are about, and where they say what they changed. A
 * store loads them before its operations and saves what has changed after them, in one transaction; how is its own matter.
 */
import type { ChargedCall, KeptResponse, NewRun, RunEnd, StoredReply, UsageRecord } from '../port.ts';
import type { Promotion } from '../rules/promotions.ts';
import type { AccountNode, Hold, KeyState, Payer, RequestWindow, Tree } from './key-state.ts';

export interface WorkingSet {
  /** Of the calendar, and the one that never jumps; of the payer of the key that was asked for last. */
  readonly nowMs: number;
  readonly steadyMs: number;
  readonly rates: RateCounts;
  get(keyId: string): KeyState | undefined;
  /** Only living owners may hold balance. */
  isLiving(owner: string): boolean;
  /** Every live hold of a key, in the order of their admission; or of all keys below a root. */
  holdsOf(holder: KeyState | Tree): Iterable<Hold>;
  /** Null for one that is not known to have ended. Not for a live one. */
  endOf(state: KeyState, holdId: string): HoldEnd | null;
  claimOf(keyId: string, name: string): Claim | null;

  /** The totals are about to change, or have just done so. */
  markDirty(state: KeyState): void;
  markNodeDirty(node: AccountNode): void;
  /** With `inMemory`, the hold may be lost with the process. */
  holdPlaced(state: KeyState, hold: Hold, inMemory: boolean): void;
  /** Before any of the three that follow. */
  holdChanges(hold: Hold): void;
  /** By so much more; or whether it waits. */
  holdExtended(state: KeyState, hold: Hold, moreAmount: bigint, moreTokens: bigint): void;
  holdMarked(state: KeyState, hold: Hold): void;
  holdReleased(state: KeyState, hold: Hold): void;
  addCharge(charge: Charge): void;
  /** Once for a hold; what was held, 0 where that is not known. */
  addVoided(state: KeyState, holdId: string, held: bigint): void;
  addClaim(keyId: string, name: string, fingerprint: string, holdId: string): void;
  endClaim(keyId: string, name: string, state: Exclude<ClaimState, 'running'>, reply: StoredReply | null): void;
  deleteClaim(keyId: string, name: string): void;
  keepResponse(keyId: string, kept: KeptResponse): void;
  addRun(hold: Hold, run: NewRun): void;
  endRun(keyId: string, end: RunEnd): void;
  /** What is left of it has changed. */
  savePromotion(payerId: string, promotion: Promotion): void;
  /** The first that expires is another one. */
  savePromoMs(payer: Payer): void;
  addPromotionCharge(payerId: string, promotionId: string, hold: Hold, amount: bigint): void;
  addExpired(payerId: string, promotionId: string, amount: bigint): void;
}

export interface RateCounts {
  takeRequest(id: string, window: RequestWindow, nowMs: number): void;
  /** Of a key or account that has a limit on tokens; without what has left the window. */
  tokensOf(id: string, nowMs: number): TokenCount;
  takeTokens(id: string, count: number, nowMs: number): void;
}

interface TokenCount {
  /** How long until so many more fit under the limit, where they are not more than it; 0 when they fit now. */
  waitMs(limit: number, more: number, nowMs: number): number;
}

export type HoldEnd =
  | { readonly kind: 'voided' }
  | {
      readonly kind: 'charged';
      readonly amount: bigint;
      readonly held: bigint;
      /** Null for a hold of a key without an account. */
      readonly heldTokens: bigint | null;
    };

export type ClaimState = 'running' | 'done' | 'charged_incomplete' | 'reply_not_stored';

export interface Claim {
  readonly fingerprint: string;
  readonly state: ClaimState;
  readonly endedAtMs: number | null;
  /** Where its state is `done`. */
  readonly reply: StoredReply | null;
}

/** The end of a hold with its entry, and with its usage record where it has one. */
export interface Charge {
  readonly state: KeyState;
  readonly hold: Hold;
  readonly amount: bigint;
  readonly tokens: bigint;
  readonly atMs: number;
  readonly flag: string | null;
  readonly call: ChargedCall | null;
  readonly usage: UsageRecord | null;
}
