/**
 * Accounts in a tree: an organisation, its teams, their projects. The root of a tree owns the credit that every key below it
 * spends; an account below it, and the root too, may have caps on what passes.
 */
import type { RateLimits, Restrictions } from './limits.ts';
import type { Period } from './period.ts';

/** A closed account stays closed. */
export type AccountStatus = 'active' | 'suspended' | 'closed';

/** The most that may be spent in a period, below the balance that pays. */
export interface Cap {
  /** Nanos of a credit, or tokens. */
  readonly amount: bigint;
  readonly period: Period;
}

/** Everything about an account but its sums. Its limits and restrictions are those of all keys below it. */
export interface AccountRecord extends RateLimits, Restrictions {
  readonly id: string;
  /** Increases with every change of the account. */
  readonly version: number;
  /** Null for a root. */
  readonly parentId: string | null;
  /** Its own id for a root. */
  readonly rootId: string;
  readonly name: string;
  /** The operator's own id for it; no two accounts have the same. */
  readonly externalId: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: AccountStatus;
  /** On what credit keys spend. */
  readonly creditCap: Cap | null;
  /** On the tokens of all keys, whatever they pay with. */
  readonly tokenCap: Cap | null;
  readonly createdAtMs: number;
}

/** Accounts from a root downwards, the root included. A key makes one level more. */
export const ACCOUNT_LEVELS_MAX = 4;
