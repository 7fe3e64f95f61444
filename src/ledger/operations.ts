/**
 * What a store is asked to do, as plain data that can cross threads and connections. Every operation can be sent again:
 * the second time it finds what the first one did.
 */
import type { KeyRecord } from '../core/key.ts';
import { DAY_MS } from '../core/time.ts';
import type { RolledUp, UsageOutcome, UsageQuery } from '../core/usage-report.ts';
import type {
  AccountCreditOutcome,
  AccountListQuery,
  AccountOutcome,
  AccountSummary,
  AdmitOutcome,
  AdmitRequest,
  AuditReport,
  ChainOutcome,
  Correction,
  CorrectionOutcome,
  CreditOutcome,
  ExtendOutcome,
  ExtendRequest,
  FoundCharge,
  ItemsOutcome,
  KeyChangeOutcome,
  KeyExpiry,
  KeyListQuery,
  KeyPlaceOutcome,
  KeySummary,
  Mark,
  NewAccount,
  NewKey,
  OpenPromotion,
  OtherVersion,
  PurchaseDetails,
  Refund,
  RefundOutcome,
  Renewal,
  SettleOutcome,
  SettleRequest,
  StatementOutcome,
  StoredDocument,
  StoredResponse,
  Summary,
  VersionedAccountChange,
  VersionedKeyChange,
  VoidOutcome,
} from './port.ts';

/** Operation name → what it takes, what it gives. */
interface OperationTypes {
  findKey: [{ readonly digest: string }, KeyRecord | null];
  admit: [{ readonly owner: string; readonly request: AdmitRequest }, AdmitOutcome | OwnerLost];
  extend: [ExtendRequest, ExtendOutcome];
  /** `number` grows with time in each process: of two marks of a hold, the one with the greater number counts. */
  mark: [{ readonly number: number; readonly marks: readonly Mark[] }, null];
  settle: [{ readonly request: SettleRequest }, SettleOutcome];
  void: [{ readonly holdId: string; readonly keyId: string }, VoidOutcome];
  summary: [{ readonly keyId: string }, Summary | null];
  ping: [unknown, null];
  getResponse: [{ readonly keyId: string; readonly id: string }, StoredResponse | null];
  findChain: [{ readonly id: string; readonly renewal: Renewal }, ChainOutcome];
  findItems: [{ readonly itemIds: readonly string[]; readonly renewal: Renewal }, ItemsOutcome];
  deleteResponse: [
    { readonly keyId: string; readonly id: string },
    { readonly kind: 'deleted' } | { readonly kind: 'unknown' },
  ];

  createKey: [{ readonly request: NewKey }, KeyRecord];
  createKeys: [{ readonly requests: readonly NewKey[] }, readonly KeyRecord[]];
  listKeys: [{ readonly query?: KeyListQuery }, readonly KeySummary[]];
  keyIds: [{ readonly accountId: string | null; readonly below: boolean }, readonly string[]];
  expiringKeys: [{ readonly after: KeyExpiry; readonly untilMs: number; readonly limit: number }, readonly KeyExpiry[]];
  getKey: [{ readonly keyId: string }, KeySummary | null];
  changeKey: [{ readonly keyId: string; readonly change: VersionedKeyChange }, KeyChangeOutcome];
  addSecret: [{ readonly keyId: string; readonly digest: string; readonly prefix: string }, KeyChangeOutcome];
  revokeSecret: [{ readonly keyId: string; readonly prefix: string }, KeyChangeOutcome];
  addCredit: [{ readonly keyId: string } & Purchase, CreditOutcome];
  createAccount: [{ readonly request: NewAccount }, AccountOutcome];
  changeAccount: [
    { readonly accountId: string; readonly change: VersionedAccountChange },
    AccountOutcome | OtherVersion,
  ];
  moveAccount: [{ readonly accountId: string; readonly parentId: string }, AccountOutcome];
  moveKey: [{ readonly keyId: string; readonly accountId: string }, KeyPlaceOutcome];
  joinAccount: [{ readonly keyId: string; readonly accountId: string; readonly entryId: string }, KeyPlaceOutcome];
  addAccountCredit: [{ readonly accountId: string } & Purchase, AccountCreditOutcome];
  correct: [{ readonly request: Correction }, CorrectionOutcome];
  findCharge: [{ readonly requestId: string }, FoundCharge | null];
  refund: [{ readonly request: Refund }, RefundOutcome];
  promotions: [{ readonly id: string }, readonly OpenPromotion[] | null];
  statement: [{ readonly id: string; readonly sinceMs: number; readonly untilMs: number }, StatementOutcome];
  getAccount: [{ readonly accountId: string }, AccountSummary | null];
  listAccounts: [{ readonly query?: AccountListQuery }, readonly AccountSummary[]];
  audit: [unknown, AuditReport];
  usageReport: [{ readonly query: UsageQuery }, UsageOutcome];
  getDocument: [{ readonly name: string }, StoredDocument | null];
  putDocument: [{ readonly name: string; readonly value: string }, null];

  /** Makes the owner live, whether it is new, living or lost. */
  registerOwner: [{ readonly owner: string; readonly leaseMs: number }, null];
  /** Moves the lease of a living owner on. An owner that was declared dead stays dead. */
  heartbeat: [{ readonly owner: string; readonly leaseMs: number }, { readonly kind: 'alive' } | OwnerLost];
  /** Declares dead whose lease is over, and ends up to `limit` holds that are past their expiry or without an owner. */
  recover: [{ readonly limit: number }, Recovered];
  /** Adds up to `limit` charges to the rollups that they do not count yet. */
  rollUp: [{ readonly limit: number }, RolledUp];
  /** Removes up to `limit` rows of each kind that are no longer needed. */
  prune: [{ readonly limit: number; readonly usageKeepMs: number | null }, Pruned];
}

/** Credit that is bought: by a key, or by a root. */
export interface Purchase extends PurchaseDetails {
  readonly entryId: string;
  readonly amountNanos: bigint;
  readonly note: string | null;
}

/** The owner was declared dead (its lease was over); it has to register again before it may hold anything. */
export interface OwnerLost {
  readonly kind: 'owner_lost';
}

export interface Recovered {
  readonly charged: number;
  readonly voided: number;
  /** Whether there may be more to recover. */
  readonly more: boolean;
}

export interface Pruned {
  readonly removed: number;
  readonly more: boolean;
}

export type OperationName = keyof OperationTypes;
export type OperationOf<N extends OperationName> = { readonly op: N } & OperationTypes[N][0];
export type Operation = { [N in OperationName]: OperationOf<N> }[OperationName];
export type Outcome<N extends OperationName = OperationName> = OperationTypes[N][1];

/** One operation of a batch could not be done and has changed nothing; the others of its batch were. */
export interface OperationFailed {
  readonly kind: 'operation_failed';
  readonly message: string;
}

export type Result = Outcome | OperationFailed;

export function isOperationFailed(result: Result): result is OperationFailed {
  return result !== null && 'kind' in result && result.kind === 'operation_failed';
}

/** How long a rate limit looks back. */
export const RATE_WINDOW_MS = 60_000;
/** How long a claim is kept after its end. */
export const CLAIM_KEEP_MS = DAY_MS;
/** How long it is remembered that a hold was voided. */
export const VOIDED_KEEP_MS = 7 * DAY_MS;
/** How long after its expiry a hold may wait for its recovery before the audit calls it an orphan. */
export const ORPHAN_GRACE_MS = 60_000;
