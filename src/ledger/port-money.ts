/** The part of the ledger's port that is about money beside charges: whoever pays is a root, or a key that pays for itself. */

/** What an entry says beside its amount. */
export interface EntryDetails {
  /** Who books it, as the audit trail names them. */
  readonly actor?: string | null;
}

export interface LedgerMoney {
  /** `entryId` makes it safe to send again. */
  correct(request: Correction): Promise<CorrectionOutcome>;
  /** The charge of a request; null where nothing was charged for it. */
  findCharge(requestId: string): Promise<FoundCharge | null>;
  /**
   * Gives back what a request was charged, or a part of it; all refunds of a request together never exceed that. It goes to
   * whoever paid: it raises what was purchased, and leaves `used` and caps as they are. `entryId` makes it safe to send again.
   */
  refund(request: Refund): Promise<RefundOutcome>;
}

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
}

interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
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
