/** The part of the ledger's port that is about accounts in a tree. */
import type { AccountRecord, AccountStatus } from '../core/account.ts';
import { change, lookup, report } from './operation.ts';
import type { KeyChangeOutcome, OtherLimits, OtherVersion } from './port-keys.ts';
import type { PurchaseDetails, Refused } from './port-money.ts';

/** Accounts in a tree, and which keys belong to them. Each of these can be sent again. */
export const ACCOUNT_OPERATIONS = {
  createAccount: change<(request: NewAccount) => AccountOutcome>().takes('request'),
  changeAccount: change<(accountId: string, change: VersionedAccountChange) => AccountOutcome | OtherVersion>().takes(
    'accountId',
    'change',
  ),
  /** Below another account of the same root; only while nothing is held below it. */
  moveAccount: change<(accountId: string, parentId: string) => AccountOutcome>().takes('accountId', 'parentId'),
  /** To another account of the same root; only while the key holds nothing. */
  moveKey: change<(keyId: string, accountId: string) => KeyPlaceOutcome>().takes('keyId', 'accountId'),
  /**
   * A key that paid for itself becomes one of an account, while it holds nothing: its balance crosses to the root as two
   * entries with the id `entryId`, out and in.
   */
  joinAccount: change<(keyId: string, accountId: string, entryId: string) => KeyPlaceOutcome>().takes(
    'keyId',
    'accountId',
    'entryId',
  ),
  /** To a root; `entryId` makes it safe to send again. */
  addAccountCredit: change<
    (
      accountId: string,
      entryId: string,
      amountNanos: bigint,
      note: string | null,
      details?: PurchaseDetails,
    ) => AccountCreditOutcome
  >().takes('accountId', 'entryId', 'amountNanos', 'note', '...'),
  getAccount: lookup<(accountId: string) => AccountSummary | null>().takes('accountId'),
  /** In the order of their creation; without a query, all of them. */
  listAccounts: report<(query?: AccountListQuery) => readonly AccountSummary[]>().takes('query'),
};

/** Which accounts are wanted. */
export interface AccountListQuery {
  /** Those that come after this account. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  readonly status?: AccountStatus | undefined;
  /** Those directly below this account; null: roots. */
  readonly parentId?: string | null | undefined;
  /** Those below this account, however far. */
  readonly belowId?: string | undefined;
  /** This account, and those below it. */
  readonly within?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly externalIds?: readonly string[] | undefined;
  /** A part of the name, of the id, or of the operator's own id, in any case of letters. */
  readonly search?: string | undefined;
}

export type NewAccount = Pick<
  AccountRecord,
  'id' | 'parentId' | 'name' | 'externalId' | 'labels' | 'rpmLimit' | 'creditCap' | 'tokenCap'
> &
  Partial<OtherLimits>;

export type AccountChange = Partial<Omit<AccountRecord, 'id' | 'version' | 'parentId' | 'rootId' | 'createdAtMs'>>;

export type VersionedAccountChange = AccountChange & {
  /** The change is made only to this version of the account. */
  readonly ifVersion?: number;
};

export interface UnknownAccount {
  readonly kind: 'unknown_account';
}

export type AccountOutcome = { readonly kind: 'account'; readonly account: AccountRecord } | UnknownAccount | Refused;

export type KeyPlaceOutcome = Exclude<KeyChangeOutcome, OtherVersion> | UnknownAccount;

export type AccountCreditOutcome =
  | { readonly kind: 'account_credited'; readonly account: AccountRecord; readonly balance: bigint }
  | UnknownAccount
  | Refused;

/** What has passed through an account, by the paths that it was charged on. */
export interface AccountSummary {
  readonly account: AccountRecord;
  /** Only a root buys. */
  readonly purchased: bigint;
  /** By credit keys, in nanos, for ever. */
  readonly used: bigint;
  /** In the period of the cap; without a cap, for ever. */
  readonly creditUsed: bigint;
  readonly tokensUsed: bigint;
  readonly reserved: bigint;
  readonly reservedTokens: bigint;
  readonly liveHolds: number;
  /** What its root is called. */
  readonly rootName: string;
  /** Whether it is the parent of another one. */
  readonly isParent: boolean;
}
