/** What an operator may do to accounts, and to keys of accounts; the same in every backend. Pure. */
import { ACCOUNT_LEVELS_MAX, type AccountRecord, type Cap } from '../../core/account.ts';
import type { KeyRecord } from '../../core/key.ts';
import { type RateLimits, type Restrictions, wrongRateLimits, wrongRestrictions } from '../../core/limits.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import type { AccountChange, AccountOutcome, NewAccount, OtherVersion, VersionedAccountChange } from '../port.ts';
import { REVOKED_IS_FINAL } from './key-rules.ts';
import { NO_OTHER_LIMITS } from './limits.ts';
import { accountValues, sameValues } from './row-mapping.ts';
import { heightOf, type NodeTotals, pathFrom, type TreeNodes } from './tree.ts';

export const TRANSFER_KINDS = { out: 'transfer_out', in: 'transfer_in' } as const;
const CLOSED_IS_FINAL = 'the account is closed, which is final';

/** Why this account cannot be made; null when it can. `tree`: the one that its parent belongs to; null for a root. */
export function wrongNewAccount(request: NewAccount, tree: TreeNodes | null): string | null {
  const wrong = wrongAccountLimits({ ...NO_OTHER_LIMITS, ...request });
  if (wrong !== null || tree === null || request.parentId === null) return wrong;
  const path = pathFrom(tree, request.parentId);
  if (path[0]?.account.status === 'closed') return CLOSED_IS_FINAL;
  return path.length >= ACCOUNT_LEVELS_MAX ? tooDeep() : null;
}

/** An account that is made again under its id: what was made before counts, where it was the same. */
export function createdBefore(known: AccountRecord, request: NewAccount): AccountOutcome {
  if (known.parentId === request.parentId && known.name === request.name) return { kind: 'account', account: known };
  return { kind: 'refused', reason: `there is an account ${request.id} already` };
}

export function newAccountRecord(request: NewAccount, rootId: string, nowMs: number): AccountRecord {
  return { ...NO_OTHER_LIMITS, ...request, version: 1, rootId, status: 'active', createdAtMs: nowMs };
}

type AccountDecision = { readonly kind: 'change'; readonly account: AccountRecord } | AccountOutcome | OtherVersion;

/** `inUse`: whether an account below it is open, or a key of it is not revoked. */
export function decideAccountChange(
  node: NodeTotals,
  { ifVersion, ...change }: VersionedAccountChange,
  inUse: boolean,
): AccountDecision {
  const { account } = node;
  if (ifVersion !== undefined && ifVersion !== account.version) {
    return { kind: 'other_version', version: account.version };
  }
  const next = { ...account, ...change };
  if (sameValues(accountValues(account), accountValues(next))) return { kind: 'account', account };
  const refused = (reason: string): AccountOutcome => ({ kind: 'refused', reason });
  if (account.status === 'closed') return refused(CLOSED_IS_FINAL);
  const wrong = wrongAccountLimits(next) ?? wrongCaps(node, change);
  if (wrong !== null) return refused(wrong);
  if (next.status === 'closed') {
    if (node.liveHolds > 0) return refused('requests below the account are in flight: try again when they have ended');
    if (inUse) return refused('the account has open accounts or keys below it: close and revoke those first');
  }
  return { kind: 'change', account: { ...next, version: account.version + 1 } };
}

/** Why the account cannot be moved below this parent; null when it can. */
export function wrongMove(tree: TreeNodes, node: NodeTotals, parent: NodeTotals | undefined): string | null {
  if (parent === undefined) return 'accounts move below their own root only';
  if (node.account.parentId === null) return 'a root cannot be moved';
  if (node.account.status === 'closed' || parent.account.status === 'closed') return CLOSED_IS_FINAL;
  const path = pathFrom(tree, parent.account.id);
  if (path.some(({ account }) => account.id === node.account.id)) return 'an account cannot be below itself';
  if (path.length + heightOf(tree, node.account.id) > ACCOUNT_LEVELS_MAX) return tooDeep();
  return node.liveHolds > 0 ? 'requests below the account are in flight: try again when they have ended' : null;
}

/** Why the key cannot come to this account, from another one or from none; null when it can. */
export function wrongPlace(key: KeyRecord, liveHolds: number, node: NodeTotals): string | null {
  if (key.status === 'revoked') return REVOKED_IS_FINAL;
  if (node.account.status === 'closed') return CLOSED_IS_FINAL;
  return liveHolds > 0 ? 'requests of the key are in flight: try again when they have ended' : null;
}

export const TRANSFER_TAKEN = 'another transfer to this root has the same id: give it one of its own';

/** Why the account buys no credit; null when it may. */
export function wrongBuyingAccount({ parentId, status }: AccountRecord): string | null {
  if (parentId !== null) return 'credit is bought by the root of the tree: add it there';
  return status === 'closed' ? CLOSED_IS_FINAL : null;
}

function wrongAccountLimits(
  limits: RateLimits & Restrictions & Pick<AccountRecord, 'creditCap' | 'tokenCap'>,
): string | null {
  const wrong = wrongRateLimits(limits) ?? wrongRestrictions(limits);
  if (wrong !== null) return wrong;
  const { creditCap, tokenCap } = limits;
  const outOfRange = (cap: Cap | null): boolean => cap !== null && (cap.amount < 0n || cap.amount > AMOUNT_MAX);
  if (outOfRange(creditCap)) return 'the credit cap is out of range';
  return outOfRange(tokenCap) ? 'the token cap is out of range' : null;
}

function wrongCaps(node: NodeTotals, { creditCap, tokenCap }: AccountChange): string | null {
  if (creditCap && creditCap.amount < node.reserved) return 'the credit cap is less than what requests in flight hold';
  if (tokenCap && tokenCap.amount < node.reservedTokens)
    return 'the token cap is less than what requests in flight hold';
  return null;
}

function tooDeep(): string {
  return `a tree has at most ${ACCOUNT_LEVELS_MAX} levels of accounts`;
}
