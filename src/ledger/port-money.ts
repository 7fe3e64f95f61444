/** The part of the ledger's port that is about money beside charges: whoever pays is a root, or a key that pays for itself. */
import { change, lookup, report } from './operation.ts';

/** What an entry says beside its amount. */
export interface EntryDetails {
  /** Who books it, as the audit trail names them. */
  readonly actor?: string | null;
}

export interface PurchaseDetails extends EntryDetails {
  /** Makes it promotional credit: spent before what was purchased, and gone at this time, but for what is held then. */
  readonly expiresAtMs?: number | null;
}

export const MONEY_OPERATIONS = {
  /** `entryId` makes it safe to send again. */
  correct: change<(request: Correction) => CorrectionOutcome>().takes('request'),
  /** The charge of a request; null where nothing was charged for it. */
  findCharge: report<(requestId: string) => FoundCharge | null>().takes('requestId'),
  /**
   * Gives back what a request was charged, or a part of it; all refunds of a request together never exceed that. It goes to
   * whoever paid: it raises what was purchased, and leaves `used` and caps as they are. `entryId` makes it safe to send again.
   */
  refund: change<(request: Refund) => RefundOutcome>().takes('request'),
  /** From `sinceMs` until before `untilMs`. */
  statement: report<(id: string, sinceMs: number, untilMs: number) => StatementOutcome>().takes(
    'id',
    'sinceMs',
    'untilMs',
  ),
  /** What a root, or a key that pays for itself, was given in all; refunds, which only give back, are left out. */
  credited: lookup<(id: string) => Credited>().takes('id'),
  /** What is left of the promotional credit of a key or account, in the order in which it expires; null for an unknown one. */
  promotions: lookup<(id: string) => readonly OpenPromotion[] | null>().takes('id'),
};

export interface Correction extends EntryDetails {
  /** A root, or a key that pays for itself. */
  readonly payerId: string;
  readonly entryId: string;
  /** With its sign. What is taken away must be free: neither used, nor held, nor promotional. */
  readonly amountNanos: bigint;
  readonly note: string | null;
}

export interface Refund extends EntryDetails {
  readonly keyId: string;
  /** The id of the request, which is that of its charge. */
  readonly chargeId: string;
  readonly entryId: string;
  /** Null gives back all that is left of the charge. */
  readonly amountNanos: bigint | null;
  readonly note: string | null;
}

export interface FoundCharge {
  readonly keyId: string;
  readonly chargeId: string;
  readonly charged: bigint;
  readonly refunded: bigint;
  readonly atMs: number;
  /** Its gateway had died: it was charged by its last mark. */
  readonly recovered: boolean;
}

export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
}

export interface Credited {
  /** Also promotional credit. */
  readonly bought: bigint;
  /** By corrections, and by keys that joined an account. */
  readonly otherwise: bigint;
}

/** Promotional credit of which something is left. */
export interface OpenPromotion {
  readonly id: string;
  readonly amount: bigint;
  readonly left: bigint;
  /** In the past where requests in flight still hold what is left. */
  readonly expiresAtMs: number;
}

export type CorrectionOutcome =
  | { readonly kind: 'corrected'; readonly balance: bigint }
  | { readonly kind: 'unknown_payer' }
  | Refused;

export type RefundOutcome =
  | {
      readonly kind: 'refunded';
      readonly payerId: string;
      readonly amount: bigint;
      /** By all refunds of the request together. */
      readonly refunded: bigint;
      readonly charged: bigint;
      readonly balance: bigint;
    }
  | { readonly kind: 'unknown_charge' }
  | Refused;

/**
 * What happened to the money of a root, or of a key while it paid for itself, in a time; of an account below a root, what was
 * spent through it. Once the time is over, nothing that comes later changes it.
 */
export interface Statement {
  readonly kind: 'statement';
  /** A key, a root, or an account below one. */
  readonly of: 'key' | 'root' | 'account';
  readonly name: string | null;
  /** Null for an account below a root: it has no balance of its own. */
  readonly opening: bigint | null;
  readonly closing: bigint | null;
  /** Everything but charges, in the order of time. */
  readonly entries: readonly StatementEntry[];
  readonly usage: readonly StatementUsage[];
  /** When it was made, by the ledger's time. */
  readonly nowMs: number;
}

export interface StatementEntry {
  readonly kind: 'purchase' | 'promotion' | 'refund' | 'correction' | 'expired' | 'transfer_out' | 'transfer_in';
  readonly id: string;
  /** With its sign: what it adds to the balance. */
  readonly amount: bigint;
  readonly atMs: number;
  readonly note: string | null;
  readonly actor: string | null;
  /** The request that was refunded. */
  readonly chargeId: string | null;
  readonly expiresAtMs: number | null;
  /** The other side of a transfer; of what has expired, the promotion. */
  readonly otherId: string | null;
}

/** What one key was charged for one model. */
export interface StatementUsage {
  readonly keyId: string;
  /** Null where nothing is known of the call. */
  readonly model: string | null;
  readonly charges: number;
  readonly amount: bigint;
  /** How many of the charges have a usage record: the tokens are theirs. */
  readonly recorded: number;
  readonly tokens: Readonly<Record<TokenClass, bigint>>;
}

/** As the columns of usage records have them. */
export type TokenClass = 'input' | 'cache_read' | 'cache_write' | 'cache_write_1h' | 'output' | 'reasoning';

export type StatementOutcome = Statement | { readonly kind: 'unknown_payer' } | Refused;
