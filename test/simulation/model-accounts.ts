/** Accounts in a tree, as the model keeps them: every sum is counted anew from the charges and holds of all keys. */
import { isDeepStrictEqual } from 'node:util';
import type { AccountRecord, Cap } from '../../src/core/account.ts';
import type { InheritedLimits } from '../../src/core/limits.ts';
import type { OperationOf, Result } from '../../src/ledger/operations.ts';
import type { AccountSummary, NewAccount, PathFigures } from '../../src/ledger/port.ts';
import { firstOf } from './calendar.ts';
import type { Model } from './model.ts';
import { bought, given } from './model-money.ts';
import {
  LARGEST,
  type ModelAccount,
  type ModelHold,
  type ModelKey,
  type ModelLevel,
  NO_LIMITS,
  sum,
} from './model-parts.ts';

const REFUSED = { kind: 'refused', reason: '' } as const;
const UNKNOWN = { kind: 'unknown_account' } as const;
/** Levels of accounts; a key makes one more. */
const LEVELS = 4;

interface Passed {
  readonly atMs: number;
  readonly credit: bigint;
  readonly tokens: bigint;
}

/** What was charged on paths through an account. Only credit keys spend credit; tokens count for both kinds of key. */
function passed(model: Model, id: string): Passed[] {
  return [...model.keys.values()].flatMap(({ record, charges }) =>
    charges
      .filter(({ path }) => path.includes(id))
      .map(({ atMs, amount, tokens }) => ({ atMs, tokens, credit: record.mode === 'credit' ? amount : 0n })),
  );
}

function heldBelow(model: Model, id: string): { readonly key: ModelKey; readonly hold: ModelHold }[] {
  return model.live().filter(({ hold }) => hold.path.includes(id));
}

function since(charges: readonly Passed[], cap: Cap | null, nowMs: number): Passed[] {
  return charges.filter(({ atMs }) => atMs >= firstOf(cap?.period ?? 'none', nowMs));
}

export function accountSummary(model: Model, account: ModelAccount): AccountSummary {
  const { record } = account;
  const charges = passed(model, record.id);
  const held = heldBelow(model, record.id);
  return {
    account: record,
    purchased: given(model, account),
    used: sum(charges.map(({ credit }) => credit)),
    creditUsed: sum(since(charges, record.creditCap, model.nowMs).map(({ credit }) => credit)),
    tokensUsed: sum(since(charges, record.tokenCap, model.nowMs).map(({ tokens }) => tokens)),
    reserved: sum(held.map(({ key, hold }) => (key.record.mode === 'credit' ? hold.amount : 0n))),
    reservedTokens: sum(held.map(({ hold }) => hold.tokens)),
    liveHolds: held.length,
    rootName: model.accounts.get(record.rootId)?.record.name ?? '',
    isParent: [...model.accounts.values()].some((other) => other.record.parentId === record.id),
  };
}

/** Every limit that a hold of this key meets, from the key upwards. */
export function levels(model: Model, key: ModelKey): ModelLevel[] {
  const { mode, cap, budget, period } = key.record;
  const credit = mode === 'credit';
  const all = credit ? cap : (budget ?? LARGEST);
  const spent = model.charged(key, firstOf(period, model.nowMs));
  const own: ModelLevel[] =
    all === null
      ? []
      : [
          {
            accountId: null,
            unit: credit ? 'credit' : 'tokens',
            period,
            all,
            spent,
            held: model.reserved(key),
            unset: !credit && budget === null,
          },
        ];
  if (credit) {
    const [ever, held] = [model.charged(key, 0), model.reserved(key)];
    own.push({ accountId: null, unit: 'credit', period: 'none', all: LARGEST, spent: ever, held, unset: true });
  }
  const above = model.above(key).flatMap((account): ModelLevel[] => {
    const { record } = account;
    const sums = accountSummary(model, account);
    const inCredit = { accountId: record.id, unit: 'credit', held: sums.reserved } as const;
    const { creditCap, tokenCap } = record;
    return [
      ...(credit && creditCap !== null
        ? [{ ...inCredit, period: creditCap.period, all: creditCap.amount, spent: sums.creditUsed }]
        : []),
      {
        accountId: record.id,
        unit: 'tokens',
        period: tokenCap?.period ?? 'none',
        all: tokenCap?.amount ?? LARGEST,
        spent: sums.tokensUsed,
        held: sums.reservedTokens,
        unset: tokenCap === null,
      },
      ...(credit && record.parentId === null
        ? [{ ...inCredit, period: null, all: sums.purchased, spent: sums.used }]
        : []),
    ];
  });
  return [...own, ...above];
}

/** What the levels of a key leave it: the least of those that somebody has set. */
export function pathFigures(model: Model, key: ModelKey, root: ModelAccount): PathFigures {
  const { purchased, used, reserved, liveHolds } = accountSummary(model, root);
  const unit = key.record.mode === 'credit' ? 'credit' : 'tokens';
  const [first, ...rest] = levels(model, key)
    .filter((level) => level.unit === unit && level.unset !== true)
    .map(({ all, spent, held, accountId }) => ({ left: all - spent - held, accountBinds: accountId !== null }));
  const least = rest.reduce((one, other) => (other.left < (one?.left ?? LARGEST) ? other : one), first);
  const left = least?.left ?? null;
  return {
    purchased,
    used,
    reserved,
    liveHolds,
    remaining: left !== null && left < 0n ? 0n : left,
    accountBinds: least?.accountBinds ?? false,
  };
}

/** What the accounts above a key allow, nearest first. */
export function inheritedFrom(model: Model, accountId: string | null): InheritedLimits[] {
  if (accountId === null) return [];
  return upFrom(model, accountId)
    .map(({ record: { models, outputLimit, addresses, tpmLimit } }) => {
      return { models, outputLimit, addresses, tpmLimited: tpmLimit !== null };
    })
    .filter(({ models, outputLimit, addresses, tpmLimited }) => {
      return models !== null || outputLimit !== null || addresses !== null || tpmLimited;
    });
}

/** A key that is allowed something else than before has changed. */
function inheritAnew(model: Model): void {
  for (const key of model.keys.values()) {
    const inherited = inheritedFrom(model, key.record.accountId);
    if (isDeepStrictEqual(inherited, key.record.inherited)) continue;
    key.record = { ...key.record, inherited, version: key.record.version + 1 };
  }
}

function upFrom(model: Model, id: string): ModelAccount[] {
  const account = model.accounts.get(id);
  if (account === undefined) return [];
  const { parentId } = account.record;
  return [account, ...(parentId === null ? [] : upFrom(model, parentId))];
}

function children(model: Model, id: string): ModelAccount[] {
  return [...model.accounts.values()].filter(({ record }) => record.parentId === id);
}

function height(model: Model, id: string): number {
  return 1 + Math.max(0, ...children(model, id).map(({ record }) => height(model, record.id)));
}

function isBad(limits: Omit<NewAccount, 'id' | 'parentId' | 'name' | 'externalId' | 'labels'>): boolean {
  const { creditCap, tokenCap } = limits;
  const counts = [limits.rpmLimit, limits.tpmLimit, limits.parallelLimit, limits.outputLimit];
  const caps = [creditCap, tokenCap].filter((cap) => cap !== null);
  return counts.some((limit) => (limit ?? 1) < 1) || caps.some(({ amount }) => amount < 0n || amount > LARGEST);
}

function isTaken(model: Model, id: string, externalId: string | null): boolean {
  if (externalId === null) return false;
  return [...model.accounts.values()].some(({ record }) => record.id !== id && record.externalId === externalId);
}

export function createAccount(model: Model, { request }: OperationOf<'createAccount'>): Result {
  const { id, parentId } = request;
  const known = model.accounts.get(id)?.record;
  if (known !== undefined) {
    return known.parentId === parentId && known.name === request.name ? { kind: 'account', account: known } : REFUSED;
  }
  const path = parentId === null ? [] : upFrom(model, parentId);
  if (parentId !== null && path.length === 0) return UNKNOWN;
  if (isBad(request) || isTaken(model, id, request.externalId) || model.keys.has(id)) return REFUSED;
  if (path.length >= LEVELS || path[0]?.record.status === 'closed') return REFUSED;
  const rootId = path.at(-1)?.record.id ?? id;
  const made = { version: 1, rootId, status: 'active', createdAtMs: model.nowMs } as const;
  const record: AccountRecord = { ...NO_LIMITS, ...request, ...made };
  model.accounts.set(id, {
    record,
    purchases: new Map(),
    booked: new Map(),
    promotions: [],
    expired: 0n,
    places: [],
    counted: [],
  });
  return { kind: 'account', account: record };
}

export function changeAccount(model: Model, { accountId, change: given }: OperationOf<'changeAccount'>): Result {
  const account = model.accounts.get(accountId);
  if (account === undefined) return UNKNOWN;
  const { ifVersion = account.record.version, ...change } = given;
  if (ifVersion !== account.record.version) return { kind: 'other_version', version: account.record.version };
  const next = { ...account.record, ...change };
  const text = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part));
  if (text(next) === text(account.record)) return { kind: 'account', account: account.record };
  if (account.record.status === 'closed' || isBad(next) || isTaken(model, accountId, next.externalId)) return REFUSED;
  const { reserved, reservedTokens, liveHolds } = accountSummary(model, account);
  if (change.creditCap && change.creditCap.amount < reserved) return REFUSED;
  if (change.tokenCap && change.tokenCap.amount < reservedTokens) return REFUSED;
  if (next.status === 'closed') {
    const open = children(model, accountId).some(({ record }) => record.status !== 'closed');
    const keys = [...model.keys.values()].some(
      ({ record }) => record.accountId === accountId && record.status !== 'revoked',
    );
    if (liveHolds > 0 || open || keys) return REFUSED;
  }
  account.record = { ...next, version: account.record.version + 1 };
  inheritAnew(model);
  return { kind: 'account', account: account.record };
}

export function moveAccount(model: Model, { accountId, parentId }: OperationOf<'moveAccount'>): Result {
  const account = model.accounts.get(accountId);
  const path = upFrom(model, parentId);
  const [parent] = path;
  if (account === undefined || parent === undefined) return UNKNOWN;
  const { record } = account;
  if (record.parentId === parentId) return { kind: 'account', account: record };
  const elsewhere = record.parentId === null || record.rootId !== parent.record.rootId;
  const closed = record.status === 'closed' || parent.record.status === 'closed';
  if (elsewhere || closed || path.includes(account)) return REFUSED;
  if (path.length + height(model, accountId) > LEVELS || heldBelow(model, accountId).length > 0) return REFUSED;
  account.record = { ...record, parentId, version: record.version + 1 };
  inheritAnew(model);
  return { kind: 'account', account: account.record };
}

function holdsNothing(key: ModelKey): boolean {
  return [...key.holds.values()].every((hold) => hold.end !== null);
}

function place(model: Model, key: ModelKey, accountId: string): Result {
  const inherited = inheritedFrom(model, accountId);
  key.record = { ...key.record, accountId, inherited, version: key.record.version + 1 };
  return { kind: 'changed', key: key.record };
}

export function moveKey(model: Model, { keyId, accountId }: OperationOf<'moveKey'>): Result {
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  const account = model.accounts.get(accountId);
  if (account === undefined) return UNKNOWN;
  if (key.record.accountId === accountId) return { kind: 'changed', key: key.record };
  if (model.above(key).at(-1)?.record.id !== account.record.rootId) return REFUSED;
  if (key.record.status === 'revoked' || account.record.status === 'closed' || !holdsNothing(key)) return REFUSED;
  return place(model, key, accountId);
}

export function joinAccount(model: Model, { keyId, accountId, entryId }: OperationOf<'joinAccount'>): Result {
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  const account = model.accounts.get(accountId);
  if (account === undefined) return UNKNOWN;
  if (key.record.accountId === accountId) return { kind: 'changed', key: key.record };
  if (key.record.accountId !== null) return REFUSED;
  if (key.record.status === 'revoked' || account.record.status === 'closed' || !holdsNothing(key)) return REFUSED;
  const root = model.accounts.get(account.record.rootId);
  const balance = key.record.mode === 'credit' ? model.means(key) : 0n;
  if (root === undefined || given(model, root) + balance > LARGEST) return REFUSED;
  if (balance > 0n) {
    model.transfersOut.set(`${keyId} ${entryId}`, balance);
    root.purchases.set(`in ${entryId}`, balance);
    for (const promotion of key.promotions) {
      root.promotions.push({ ...promotion, id: `gateway:${keyId} ${promotion.id}` });
      promotion.left = 0n;
    }
  }
  return place(model, key, accountId);
}

export function addAccountCredit(model: Model, operation: OperationOf<'addAccountCredit'>): Result {
  const { accountId } = operation;
  const account = model.accounts.get(accountId);
  if (account === undefined) return UNKNOWN;
  const mayBuy = account.record.parentId === null && account.record.status !== 'closed';
  if (!bought(model, account, `purchase ${operation.entryId}`, operation, mayBuy)) return REFUSED;
  const { purchased, used } = accountSummary(model, account);
  return { kind: 'account_credited', account: account.record, balance: purchased - used };
}
