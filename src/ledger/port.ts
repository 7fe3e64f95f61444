/**
 * The ledger's port: operations with outcomes. An outcome is a value; an exception means that the store failed and
 * nothing is known about the operation (every operation can be sent again, see each one).
 *
 * Amounts are in the key's own unit: nanos of a credit, or tokens of a budget. A key of an account also says how many tokens
 * it is about, which the token caps of the accounts above it count in both modes.
 */
import type { AccountStatus } from '../core/account.ts';
import type { KeyRecord, KeyStatus } from '../core/key.ts';
import { DAY_MS } from '../core/time.ts';
import type { TokenCounts } from '../core/usage.ts';
import type { UsageOutcome, UsageQuery } from '../core/usage-report.ts';
import { durableHot, hot, type MethodsOf, report } from './operation.ts';
import type { ACCOUNT_OPERATIONS } from './port-accounts.ts';
import type { KEY_OPERATIONS, Summary } from './port-keys.ts';
import type { MONEY_OPERATIONS } from './port-money.ts';
import type { KeptResponse, StoredResponses } from './port-responses.ts';
import type { NewRun, RunEnd, Runs } from './port-runs.ts';

export type * from './port-accounts.ts';
export type * from './port-keys.ts';
export type * from './port-money.ts';
export type * from './port-responses.ts';
export type * from './port-runs.ts';

/** A budget with less than this left, in tokens, has reached its limit for a request that needs more. */
export const BUDGET_REST_TOKENS = 256n;
/** The most that a budget which has reached its limit may have left, in tokens. */
export const BUDGET_REST_MAX = BUDGET_REST_TOKENS - 1n;
/** `retryAfterMs` of a budget that never renews itself. */
export const NO_PERIOD_RETRY_MS = DAY_MS;

/** What the ids of entries begin with that the gateway names itself: nobody else may choose such an id. */
export const OWN_ENTRY_PREFIX = 'gateway:';

/** How often the progress of a live hold is marked, so that no more than a second of it is lost with its process. */
export const MARK_INTERVAL_MS = 800;

/** The input of a run is read under this number, before its first event. */
export const INPUT_EVENT = -1;

/** What a request does, beside its admission. */
export const REQUEST_OPERATIONS = {
  /**
   * Raises a live hold; one that is already that large stays as it is. One that only other holds keep from growing waits
   * until it is extended or ends; where all live holds of the key, or of the account that is in its way, wait, the youngest
   * is `insufficient`. What it raised is lost with the call that it was for.
   */
  extend: hot<(request: ExtendRequest) => ExtendOutcome>().takes('...'),
  settle: durableHot<(request: SettleRequest) => SettleOutcome>().takes('request'),
  void: durableHot<(holdId: string, keyId: string) => VoidOutcome>().takes('holdId', 'keyId'),
  summary: hot<(keyId: string) => Summary | null>().takes('keyId'),
};

export interface Ledger extends MethodsOf<typeof REQUEST_OPERATIONS>, StoredResponses, Runs {
  findKey: LedgerAdmin['findKey'];
  admit(request: AdmitRequest): Promise<AdmitOutcome>;
  /** The same, where memory alone can decide; null where it cannot, and nothing was done. */
  admitNow(request: AdmitRequest): AdmitOutcome | null;
  /** Progress of live holds. Never waits for a commit of its own: it rides on the next batch. */
  mark(mark: Mark): void;
  /** Resolves when the store can commit; rejects when it cannot. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What all gateways on one store share beside keys and entries: a few small texts by their names. */
export const DOCUMENT_OPERATIONS = {
  getDocument: hot<(name: string) => StoredDocument | null>().takes('name'),
  /** The last one that is put counts; whoever puts it does so again where it was lost. */
  putDocument: hot<(name: string, value: string) => null>().takes('name', 'value'),
};

export type Documents = MethodsOf<typeof DOCUMENT_OPERATIONS>;

export const REPORT_OPERATIONS = {
  audit: report<() => AuditReport>().takes(),
  usageReport: report<(query: UsageQuery) => UsageOutcome>().takes('query'),
};

/** The operator's side of the store; used by `admin/` only. */
export interface LedgerAdmin
  extends Documents,
    MethodsOf<typeof KEY_OPERATIONS>,
    MethodsOf<typeof ACCOUNT_OPERATIONS>,
    MethodsOf<typeof MONEY_OPERATIONS>,
    MethodsOf<typeof REPORT_OPERATIONS> {}

export interface AdmitRequest {
  readonly keyId: string;
  /** The version of the key that the caller decided by. */
  readonly keyVersion: number;
  /** The request has its place in the rate limit already, by an earlier admission of it; it is not counted again. */
  readonly rateCounted?: boolean;
  /**
   * Nothing of this hold was admitted or voided before, which its caller knows: the store does not look for it. Not for an
   * admission that is sent again.
   */
  readonly newHold?: boolean;
  /** Taken together with the hold, ended together with it; without a hold there is no claim. */
  readonly claim: { readonly name: string; readonly fingerprint: string } | null;
  /** Null when the request only takes its place in the rate limit (a refused body, models, usage, count_tokens). */
  readonly hold: HoldRequest | null;
}

export interface HoldRequest {
  /**
   * Chosen by the caller and unique for ever. Sending the same admission again finds its first outcome; once the hold was
   * voided, even before its admission arrived, it fails.
   */
  readonly id: string;
  readonly amount: bigint;
  /** Where the balance carries less than `amount`, a hold of the whole balance will do down to this. */
  readonly amountMin: bigint;
  /** For a key of an account: the tokens that `amount` and `amountMin` stand for. Not used for a token-budget key. */
  readonly tokens?: bigint;
  readonly tokensMin?: bigint;
  /** The likely count of the input, which limits on tokens per minute count when the hold is admitted. */
  readonly inputTokens?: number;
  /**
   * The hold must leave room for this many more of its size, or it is `temporarily_held`: for a hold that its caller can make
   * smaller, so that it does not keep others out.
   */
  readonly room?: number;
  /** The hold is that of a run, which begins with it. */
  readonly run?: NewRun;
  /** After this long the ledger may end the hold by itself, as if its owner had died. */
  readonly ttlMs: number;
}

export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  /** Until the window is empty again. */
  readonly resetMs: number;
}

/**
 * Every level is asked, from the key upwards, and the first that refuses decides; a refusal holds and counts nothing at any
 * level, but for a slot of the rate limits where something else refuses.
 */
export type AdmitOutcome =
  | {
      readonly kind: 'admitted';
      readonly rate: RateState | null;
      readonly held: bigint;
      /** Of a key of an account: how many tokens are held. */
      readonly heldTokens?: bigint;
    }
  | { readonly kind: 'key_refused'; readonly status: Exclude<KeyStatus, 'active'> }
  /** An account above the key. */
  | { readonly kind: 'account_refused'; readonly status: Exclude<AccountStatus, 'active'> }
  /**
   * The key has changed since the caller read it; decide again by this copy. Nothing was counted or held. Its secrets may
   * have changed too, so a caller that remembers which secret belongs to which key has to look its digest up again.
   */
  | { readonly kind: 'key_changed'; readonly key: KeyRecord }
  | { readonly kind: 'rate_limited'; readonly rate: RateState; readonly retryAfterMs: number }
  /** By the limit of an account; `rate` is the key's own. */
  | { readonly kind: 'account_rate_limited'; readonly rate: RateState | null; readonly retryAfterMs: number }
  /** By a limit of the key, or of an account above it; `rate` is the key's own limit on requests. */
  | ({
      readonly kind: 'tokens_limited' | 'parallel_limited' | 'runs_limited';
      readonly rate: RateState | null;
    } & LoadRefusal)
  | { readonly kind: 'replay'; readonly rate: RateState | null; readonly reply: StoredReply }
  | { readonly kind: 'in_flight'; readonly rate: RateState | null }
  | { readonly kind: 'conflict'; readonly rate: RateState | null; readonly reason: ConflictReason }
  | ({ readonly kind: 'insufficient'; readonly rate: RateState | null; readonly available: bigint } & ByLevel)
  | ({ readonly kind: 'temporarily_held'; readonly rate: RateState | null; readonly retryAfterMs: number } & ByLevel)
  | ({
      readonly kind: 'limit_reached';
      readonly rate: RateState | null;
      /** More than nothing where it is too little for a request to begin with. */
      readonly available: bigint;
      readonly retryAfterMs: number;
    } & ByLevel);

/** Why a limit on tokens per minute, on parallel requests or on runs refused. */
interface LoadRefusal {
  readonly account: boolean;
  readonly retryAfterMs: number;
  /** The input alone is more than the limit: it is never admitted. */
  readonly tooLarge: boolean;
}

/** Which level of a key of an account refused, and what it counts; absent for a key that pays for itself. */
export interface ByLevel {
  readonly level?: { readonly account: boolean; readonly unit: Unit };
}

export type Unit = 'credit' | 'tokens';

export type ConflictReason = 'other_request' | 'charged_incomplete' | 'reply_not_stored';

export interface ExtendRequest {
  readonly holdId: string;
  readonly keyId: string;
  /** In all. */
  readonly amount: bigint;
  /** Where the levels leave less than `amount`, as much as they leave will do down to this; `amount` by default. */
  readonly amountMin?: bigint;
  /** For a credit key of an account: the tokens that the amounts stand for. */
  readonly tokens?: bigint;
  readonly tokensMin?: bigint;
}

export type ExtendOutcome =
  | {
      readonly kind: 'extended';
      readonly held: bigint;
      /** Of a key of an account: how many tokens are held. */
      readonly heldTokens?: bigint;
    }
  | { readonly kind: 'insufficient' }
  | { readonly kind: 'temporarily_held' }
  | { readonly kind: 'ended' };

export interface Mark {
  readonly holdId: string;
  readonly keyId: string;
  /** What recovery would charge if the process died now; never more than the hold. */
  readonly charge: bigint;
  readonly tokens: TokenCounts;
  /** What the usage record of a recovered charge says about the call; without it, only tokens and cost are recorded. */
  readonly call?: MarkedCall;
}

export type MarkedCall = Omit<UsageRecord, 'outcome' | 'source' | 'tokens' | 'durationMs'>;

export interface StoredReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface SettleRequest {
  readonly holdId: string;
  readonly keyId: string;
  /** In the key's unit; at most what is held (the ledger clamps and flags a larger one). */
  readonly charge: bigint;
  /** For a credit key of an account: the tokens of the call; at most what is held. */
  readonly chargeTokens?: bigint;
  /** Null for a cancelled call that is no run: it is charged, but no usage record is written. */
  readonly usage: UsageRecord | null;
  /** Of a call without a usage record: the output that limits on tokens per minute count. */
  readonly outputTokens?: number;
  /** What the entry says of a call without a usage record; where there is one, the entry says the same as the record. */
  readonly call?: ChargedCall | null;
  /** What a repeat with the same claim gets. `null` with a claim: charged, not replayable. */
  readonly reply: StoredReply | null;
  /** Why a repeat cannot be replayed, where `reply` is null and the hold has a claim. */
  readonly noReplyReason: Exclude<ConflictReason, 'other_request'>;
  /** For the operator: what was odd about this charge (clamped usage, recovered hold). */
  readonly flag: string | null;
  /** Written together with the charge; an earlier response of the same id is replaced. */
  readonly kept?: KeptResponse | null;
  /** Where the hold is that of a run: its end, visible together with the charge. */
  readonly run?: RunEnd | null;
}

export interface UsageRecord {
  readonly requestId: string;
  readonly model: string;
  readonly provider: string;
  readonly format: string;
  readonly streamed: boolean;
  /** `broken`: by the provider, or with the gateway that served it. `cancelled`: a run that was ended from this side. */
  readonly outcome: 'complete' | 'broken' | 'cancelled';
  readonly source: 'reported' | 'counted';
  readonly tokens: TokenCounts;
  /** What the exchange cost the caller, in nanos, in both modes (a token budget is charged in tokens). */
  readonly costNanos: bigint;
  /** What the provider asks of the operator for it. */
  readonly providerCostNanos: bigint;
  readonly attempts: number;
  /** From the arrival of the request to the first content of the answer; null where none came. */
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

/** What the entry of a charge says about its call. */
export type ChargedCall = Pick<UsageRecord, 'model' | 'provider' | 'format' | 'costNanos' | 'providerCostNanos'>;

export type SettleOutcome =
  | { readonly kind: 'settled'; readonly charged: bigint }
  | { readonly kind: 'already_settled'; readonly charged: bigint }
  | { readonly kind: 'already_voided' };

export type VoidOutcome =
  | { readonly kind: 'voided' }
  | { readonly kind: 'already_settled'; readonly charged: bigint }
  | { readonly kind: 'already_voided' };

export interface StoredDocument {
  readonly value: string;
  readonly atMs: number;
}

export interface AuditReport {
  readonly ok: boolean;
  readonly keys: number;
  readonly entries: number;
  readonly liveHolds: number;
  /** One line each: what does not add up. Empty when `ok`. */
  readonly findings: readonly string[];
  /** Charges that the operator should look at (clamped usage, recovered holds). Not a fault of the books. */
  readonly flagged: number;
  /** One line each, with the reason; the newest of them. */
  readonly flaggedCharges: readonly string[];
}
