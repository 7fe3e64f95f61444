/**
 * What operations work with: keys and accounts in hand, whose sums are decided about in memory and saved then. The embedded
 * store has them in its cache; PostgreSQL locks their rows and reads them.
 */
import type { AccountRecord } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import type { AccountSummary, Refused } from '../port.ts';
import type { KeyTotals } from '../rules/key-totals.ts';
import type { NodeTotals, TreeNodes } from '../rules/tree.ts';
import type { Reading } from './dialect.ts';
import type { ShownKey } from './key-list.ts';
import type { Work } from './work.ts';

/** Whoever pays for it is locked. If that is the key itself, what is due of its promotional credit has expired. */
export interface KeyInHand {
  readonly totals: KeyTotals;
  /** Null for a key that pays for itself. */
  readonly rootId: string | null;
  /** Never before what it has seen. */
  readonly nowMs: number;
}

/** An account in its tree, whose root is locked; what is due of the promotional credit of the root has expired. */
export interface AccountInHand {
  readonly nodes: TreeNodes;
  readonly node: NodeTotals;
  readonly root: NodeTotals;
  readonly nowMs: number;
}

export interface Books extends Reading {
  /** Whoever has it in hand decides about it; everybody else waits, and then sees what was decided. */
  key(keyId: string): Work<KeyInHand | null>;
  account(accountId: string): Work<AccountInHand | null>;
  /** The roots of these accounts, before any of them is taken in hand: several in the order of everybody. */
  lockRootsOf(accountIds: readonly string[]): Work<void>;
  /** To be looked at: nobody waits, and nothing is changed by it. */
  shownKey(keyId: string): Work<ShownKey | null>;
  shownAccount(accountId: string): Work<AccountSummary | null>;
  /** The time of a key or account, with what is due expired or counted as such; null for an unknown one. */
  timeOfPayer(id: string): Work<number | null>;
  /** False where somebody else has made it meanwhile. */
  addKey(key: KeyRecord, rootId: string | null, credit: bigint): Work<boolean>;
  /** The key belongs to another account now. */
  keyPlaced(key: KeyInHand, account: AccountInHand): Work<void>;
  /** Others than those in hand have changed. */
  keysChanged(keyIds: readonly string[]): Work<void>;
  accountAdded(account: AccountRecord): Work<void>;
  /** The accounts of a tree are below each other in another way. */
  accountMoved(account: AccountInHand): Work<void>;
  /** What was purchased and what counts for the period; and when the next of its promotions expires. */
  saveTotals(key: KeyInHand): Work<void>;
  saveSums(node: NodeTotals, nowMs: number): Work<void>;
}

export const UNKNOWN_KEY = { kind: 'unknown_key' } as const;
export const UNKNOWN_ACCOUNT = { kind: 'unknown_account' } as const;

export function refused(reason: string): Refused {
  return { kind: 'refused', reason };
}
