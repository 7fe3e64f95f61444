/** What the model keeps of a key, and what its parts share. */
import type { AccountRecord } from '../../src/core/account.ts';
import type { KeyRecord } from '../../src/core/key.ts';
import type { Period } from '../../src/core/period.ts';
import type { TokenCounts } from '../../src/core/usage.ts';
import type { ChargedCall, SettleRequest } from '../../src/ledger/port.ts';

/** What 64 bits with a sign can hold. */
export const LARGEST = 2n ** 63n - 1n;

export interface ModelHold {
  readonly id: string;
  readonly owner: string;
  amount: bigint;
  tokens: bigint;
  /** The accounts above its key, nearest first, as they were when it was admitted. */
  readonly path: readonly string[];
  waiting: boolean;
  heldAtMs: number;
  readonly expiresAtMs: number;
  readonly claim: string | null;
  mark: {
    readonly number: number;
    readonly atMs: number;
    readonly charge: bigint;
    readonly tokens: TokenCounts;
  } | null;
  /** `null` while it is live; a charge when it was settled. */
  end: 'voided' | { readonly charged: bigint } | null;
}

export interface ModelCharge {
  /** Of the hold that it ended. */
  readonly id: string;
  readonly amount: bigint;
  readonly tokens: bigint;
  readonly path: readonly string[];
  readonly atMs: number;
  readonly flagged: boolean;
  /** The recovery that made it; the order among its charges is open. */
  readonly recovery: number | null;
  readonly call: ChargedCall | null;
  /** Null for a charge without a usage record. */
  readonly record: ModelRecord | null;
}

export interface ModelRecord {
  readonly tokens: TokenCounts;
  readonly broken: boolean;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

export interface ModelClaim {
  readonly fingerprint: string;
  state: 'running' | 'done' | 'charged_incomplete' | 'reply_not_stored';
  endedAtMs: number | null;
  reply: SettleRequest['reply'];
}

export interface CountedTokens {
  readonly atMs: number;
  readonly tokens: number;
}

/** What limits count of a key or an account. */
export interface Limited {
  /** When requests took their place in the limit on requests per minute. */
  places: number[];
  /** What the limit on tokens per minute counts. */
  counted: CountedTokens[];
}

/** Whoever may have a balance: a root, or a key that pays for itself. */
export interface ModelPayer {
  /** What was bought, and for an account what keys brought along, by name. */
  readonly purchases: Map<string, bigint>;
  /** What else was added or, with its sign, taken away, by kind and id. */
  readonly booked: Map<string, bigint>;
  readonly promotions: ModelPromotion[];
  /** What has expired of them. */
  expired: bigint;
}

/** Promotional credit. */
export interface ModelPromotion {
  readonly id: string;
  readonly expiresAtMs: number;
  left: bigint;
}

export interface ModelRefund {
  readonly payerId: string;
  readonly keyId: string;
  readonly chargeId: string;
  readonly entryId: string;
  readonly amount: bigint;
}

export interface ModelKey extends ModelPayer, Limited {
  record: KeyRecord;
  /** Oldest first. */
  secrets: { readonly digest: string; readonly prefix: string }[];
  readonly charges: ModelCharge[];
  readonly holds: Map<string, ModelHold>;
  readonly claims: Map<string, ModelClaim>;
}

export interface ModelAccount extends ModelPayer, Limited {
  record: AccountRecord;
}

/** One limit of one level of a path. */
export interface ModelLevel {
  /** Null for the key itself. */
  readonly accountId: string | null;
  readonly unit: 'credit' | 'tokens';
  /** Null for a balance. */
  readonly period: Period | null;
  /** What there is in all, what of it is spent, and what of it is held. */
  readonly all: bigint;
  readonly spent: bigint;
  readonly held: bigint;
  /** Nobody has set it: it is what 64 bits can hold. */
  readonly unset?: boolean;
}

/** The operation cannot be done and has changed nothing. What the message says is the store's own business. */
export const FAILED = { kind: 'operation_failed', message: '' } as const;
export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

/** Where nobody has set any. */
export const NO_LIMITS = {
  tpmLimit: null,
  parallelLimit: null,
  runsLimit: null,
  models: null,
  outputLimit: null,
  addresses: null,
} as const;

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

export function inputOf({ input, cacheRead, cacheWrite, cacheWrite1h }: TokenCounts): number {
  return input + cacheRead + cacheWrite + cacheWrite1h;
}
