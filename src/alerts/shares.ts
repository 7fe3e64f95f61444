/** How much of a balance, cap or budget is used: what the levels are taken of. Pure. */
import type { Cap } from '../core/account.ts';
import { creditsFromNanos } from '../core/money.ts';
import { type Period, periodStartMs } from '../core/period.ts';
import type { AccountSummary, KeySummary, Unit } from '../ledger/port.ts';

export interface Share {
  readonly scope: 'key' | 'account';
  readonly id: string;
  readonly name: string | null;
  readonly limit: 'balance' | 'cap' | 'budget' | 'credit_cap' | 'token_cap';
  readonly unit: Unit;
  readonly used: bigint;
  readonly amount: bigint;
  readonly period: Period;
  /** What begins a new count: another period, another amount, or credit that was bought. */
  readonly epoch: string;
}

/** Where a balance is counted from: what had been bought and used when it was bought last. */
export interface BalanceBase {
  readonly bought: bigint;
  readonly used: bigint;
}

export interface BalanceCount {
  readonly base: BalanceBase;
  /** What was given since and before without being bought: it begins no new count, but levels are told again. */
  readonly otherwise: bigint;
}

/** Credit that somebody has, or null where another one pays. */
export interface Balance {
  readonly scope: 'key' | 'account';
  readonly id: string;
  readonly name: string | null;
  readonly purchased: bigint;
  readonly used: bigint;
}

export function balanceOfKey({ key, purchased, used }: KeySummary): Balance | null {
  if (key.mode !== 'credit' || key.accountId !== null) return null;
  return { scope: 'key', id: key.id, name: key.label, purchased, used };
}

export function balanceOfAccount({ account, purchased, used }: AccountSummary): Balance | null {
  if (account.parentId !== null) return null;
  return { scope: 'account', id: account.id, name: account.name, purchased, used };
}

export function balanceShare({ purchased, used, ...subject }: Balance, { base, otherwise }: BalanceCount): Share {
  return {
    ...subject,
    limit: 'balance',
    unit: 'credit',
    used: used - base.used,
    amount: purchased - base.used,
    period: 'none',
    epoch: otherwise === 0n ? `${base.bought}` : `${base.bought} ${otherwise}`,
  };
}

export function sharesOfKey({ key, periodUsed }: KeySummary, nowMs: number): readonly Share[] {
  const subject = { scope: 'key', id: key.id, name: key.label, used: periodUsed, period: key.period } as const;
  if (key.mode === 'credit') {
    if (key.accountId === null || key.cap === null) return [];
    return [{ ...subject, limit: 'cap', unit: 'credit', amount: key.cap, epoch: epochOf(key.period, key.cap, nowMs) }];
  }
  if (key.budget === null) return [];
  const epoch = epochOf(key.period, key.budget, nowMs);
  return [{ ...subject, limit: 'budget', unit: 'tokens', amount: key.budget, epoch }];
}

export function sharesOfAccount({ account, creditUsed, tokensUsed }: AccountSummary, nowMs: number): readonly Share[] {
  const share = (limit: 'credit_cap' | 'token_cap', unit: Unit, cap: Cap | null, used: bigint): readonly Share[] => {
    if (cap === null) return [];
    const { amount, period } = cap;
    const { id, name } = account;
    return [{ scope: 'account', id, name, limit, unit, used, amount, period, epoch: epochOf(period, amount, nowMs) }];
  };
  return [
    ...share('credit_cap', 'credit', account.creditCap, creditUsed),
    ...share('token_cap', 'tokens', account.tokenCap, tokensUsed),
  ];
}

export function shareData({ scope, id, name, limit, unit, used, amount, period }: Share): Record<string, unknown> {
  const shown = (value: bigint): number => (unit === 'credit' ? creditsFromNanos(value) : Number(value));
  return {
    [scope]: id,
    name,
    limit,
    unit: unit === 'credit' ? 'credits' : unit,
    used: shown(used),
    amount: shown(amount),
    period,
  };
}

function epochOf(period: Period, amount: bigint, nowMs: number): string {
  return `${periodStartMs(period, nowMs)} ${amount}`;
}
