/**
 * What a store is asked to do, as plain data that can cross threads and connections. Every operation can be sent again:
 * the second time it finds what the first one did.
 */
import { DAY_MS } from '../core/time.ts';
import type { RolledUp } from '../core/usage-report.ts';
import { durableHot, type FieldsOf, hot, type OutcomeOf, report } from './operation.ts';
import {
  type AdmitOutcome,
  type AdmitRequest,
  DOCUMENT_OPERATIONS,
  type Mark,
  type PurchaseDetails,
  REPORT_OPERATIONS,
  REQUEST_OPERATIONS,
} from './port.ts';
import { ACCOUNT_OPERATIONS } from './port-accounts.ts';
import { KEY_OPERATIONS } from './port-keys.ts';
import { MONEY_OPERATIONS } from './port-money.ts';
import { RESPONSE_OPERATIONS } from './port-responses.ts';
import { RUN_OPERATIONS } from './port-runs.ts';

/** What the process does for its requests and the books; where it is lost, the next process does it again. */
const OWNER_OPERATIONS = {
  /** The call that a hold is for is lost with the power too, and an unsettled hold would only have been voided. */
  admit: hot<(owner: string, request: AdmitRequest) => AdmitOutcome | OwnerLost>().takes('owner', 'request'),
  /**
   * `number` grows with time in each process: of two marks of a hold, the one with the greater number counts. Where one is
   * lost, the mark before it does.
   */
  mark: hot<(number: number, marks: readonly Mark[]) => null>().takes('number', 'marks'),
  ping: durableHot<() => null>().takes(),
  /** Makes the owner live, whether it is new, living or lost. */
  registerOwner: hot<(owner: string, leaseMs: number) => null>().takes('owner', 'leaseMs'),
  /** Moves the lease of a living owner on. An owner that was declared dead stays dead. */
  heartbeat: hot<
    (owner: string, leaseMs: number) => { readonly kind: 'alive'; readonly untilMs: number } | OwnerLost
  >().takes('owner', 'leaseMs'),
  /** Declares dead whose lease is over, and ends up to `limit` holds that are past their expiry or without an owner. */
  recover: hot<(limit: number) => Recovered>().takes('limit'),
  /** Adds up to `limit` charges to the rollups that they do not count yet. */
  rollUp: report<(limit: number) => RolledUp>().takes('limit'),
  /** Removes up to `limit` rows of each kind that are no longer needed. */
  prune: hot<(limit: number, usageKeepMs: number | null) => Pruned>().takes('limit', 'usageKeepMs'),
};

/** What the port has under the same names. */
export const PORT_OPERATIONS = {
  ...REQUEST_OPERATIONS,
  ...RESPONSE_OPERATIONS,
  ...RUN_OPERATIONS,
  ...KEY_OPERATIONS,
  ...ACCOUNT_OPERATIONS,
  ...MONEY_OPERATIONS,
  ...REPORT_OPERATIONS,
  ...DOCUMENT_OPERATIONS,
};

/** All of them. A new one is a row in the part of the port that it belongs to, and a handler in each store. */
export const OPERATIONS = { ...PORT_OPERATIONS, ...OWNER_OPERATIONS };

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

type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;
export type OperationOf<N extends OperationName> = N extends OperationName
  ? { readonly op: N } & FieldsOf<Operations[N]>
  : never;
export type Operation = OperationOf<OperationName>;
export type Outcome<N extends OperationName = OperationName> = OutcomeOf<Operations[N]>;

/** One operation of a batch could not be done and has changed nothing; the others of its batch were. */
interface OperationFailed {
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
