/** The part of the ledger's port that is about keys, as an operator makes and changes them. */
import type { KeyRecord, KeyStatus, NEW_KEY } from '../core/key.ts';
import type { RateLimits, Restrictions } from '../core/limits.ts';
import { change, hot, lookup, report } from './operation.ts';
import type { PurchaseDetails, Refused } from './port-money.ts';

export const KEY_OPERATIONS = {
  createKey: change<(request: NewKey) => KeyRecord>().takes('request'),
  /** All of them or none. */
  createKeys: change<(requests: readonly NewKey[]) => readonly KeyRecord[]>().takes('requests'),
  /** The key that a secret with this digest belongs to, whatever its state; null when there is none. */
  findKey: hot<(digest: string) => KeyRecord | null>().takes('digest'),
  /** Newest first; without a query, all of them. */
  listKeys: report<(query?: KeyListQuery) => readonly KeySummary[]>().takes('query'),
  /** The ids of the keys of an account, and with `below` of the accounts below it; null: of those without one. */
  keyIds: report<(accountId: string | null, below?: boolean) => readonly string[]>().takes('accountId', 'below'),
  /** Those that expire next after a moment, in the order in which they do; revoked ones are left out. */
  expiringKeys: lookup<(after: KeyExpiry, untilMs: number, limit: number) => readonly KeyExpiry[]>().takes(
    'after',
    'untilMs',
    'limit',
  ),
  getKey: lookup<(keyId: string) => KeySummary | null>().takes('keyId'),
  changeKey: change<(keyId: string, change: VersionedKeyChange) => KeyChangeOutcome>().takes('keyId', 'change'),
  addSecret: change<(keyId: string, digest: string, prefix: string) => KeyChangeOutcome>().takes(
    'keyId',
    'digest',
    'prefix',
  ),
  revokeSecret: change<(keyId: string, prefix: string) => KeyChangeOutcome>().takes('keyId', 'prefix'),
  /** `entryId` makes it safe to send again. */
  addCredit: change<
    (
      keyId: string,
      entryId: string,
      amountNanos: bigint,
      note: string | null,
      details?: PurchaseDetails,
    ) => CreditOutcome
  >().takes('keyId', 'entryId', 'amountNanos', 'note', '...'),
};

/** Which keys are listed; what is absent does not matter. */
export interface KeyListQuery {
  /** Those that come after this key. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  readonly status?: KeyStatus | undefined;
  readonly mode?: KeyRecord['mode'] | undefined;
  /** Null: those that have none. */
  readonly accountId?: string | null | undefined;
  /** Also those of the accounts below `accountId`. */
  readonly below?: boolean | undefined;
  readonly label?: string | undefined;
  /** A part of the label, of the id, or of the beginning of a secret, in any case of letters. */
  readonly search?: string | undefined;
}

/** Of a key or an account; absent where there are none. */
export type OtherLimits = Omit<RateLimits, 'rpmLimit'> & Restrictions;

export interface NewKey
  extends Pick<KeyRecord, 'id' | 'mode' | 'label' | 'providerScope' | 'expiresAtMs' | 'budget' | 'period'>,
    Pick<KeyRecord, 'rpmLimit' | 'models'>,
    Partial<Omit<OtherLimits, 'models'> & Pick<KeyRecord, keyof typeof NEW_KEY>> {
  /** First purchase of a credit key that belongs to no account, in nanos; written as an entry like any other. */
  readonly credit: bigint;
  readonly secret: { readonly digest: string; readonly prefix: string };
}

/** When a key expires. Of several that expire at once, the order is that of their ids. */
export interface KeyExpiry {
  readonly atMs: number;
  readonly keyId: string;
}

export interface KeySummary extends Summary {
  readonly status: KeyStatus;
  readonly secretPrefixes: readonly string[];
}

/** What else a record says is decided by other operations, or never changes. */
export type KeyChange = Partial<
  Omit<KeyRecord, 'id' | 'version' | 'mode' | 'accountId' | 'inherited' | 'createdAtMs' | 'prefix'>
>;

export interface VersionedKeyChange extends KeyChange {
  /** The change is made only to this version of the key. */
  readonly ifVersion?: number;
}

export type KeyChangeOutcome =
  | { readonly kind: 'changed'; readonly key: KeyRecord }
  | { readonly kind: 'unknown_key' }
  | OtherVersion
  /** A revoked key stays revoked; a credit key has no budget. */
  | Refused;

/** Another version than `ifVersion` says: somebody has changed the key or the account meanwhile. */
export interface OtherVersion {
  readonly kind: 'other_version';
  readonly version: number;
}

export type CreditOutcome =
  | { readonly kind: 'added'; readonly key: KeyRecord; readonly balance: bigint }
  | { readonly kind: 'unknown_key' }
  | Refused;

export interface Summary {
  readonly key: KeyRecord;
  /** Credit keys, in nanos; all 0 for token-budget keys. */
  readonly purchased: bigint;
  readonly used: bigint;
  readonly lastCost: bigint;
  readonly todaySpend: bigint;
  /** In the key's unit. */
  readonly reserved: bigint;
  readonly liveHolds: number;
  /** Token-budget keys: tokens charged in the current period. */
  readonly periodUsed: bigint;
  readonly periodEndsAtMs: number | null;
  /** Lifetime sums over usage records, both modes. */
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly requests: number;
  /** Of a key of an account, where its levels were asked for. */
  readonly path?: PathFigures;
}

/** What the levels above a key leave it. */
export interface PathFigures {
  /** Of the root, which pays, in nanos. */
  readonly purchased: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
  readonly liveHolds: number;
  /** What the level that leaves the least leaves now, in the key's unit; null where no level has a limit. */
  readonly remaining: bigint | null;
  /** Whether that level is an account above the key. */
  readonly accountBinds: boolean;
}
