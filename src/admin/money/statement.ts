/** A statement as the API shows it, and the time that it is asked for. */

import { Currency } from '../../core/currency.ts';
import type { KeyRecord } from '../../core/key.ts';
import { decimalCredits } from '../../core/money.ts';
import type { StatementPolicy } from '../../core/policy.ts';
import { isoDay } from '../../core/time.ts';
import type { Statement, StatementUsage, TokenClass } from '../../ledger/port.ts';
import { readTime } from '../http/time.ts';
import { invalid, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import type { StatementView } from './statement-schema.ts';
import { StatementQuery } from './statement-schema.ts';

type TokenFigures = Pick<StatementView['totals'], 'recorded' | `${TokenClass}_tokens`>;

export interface StatementTime {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A month, or days; without any of it the last month that is over. */
export function readStatementTime({ month, from, to }: View<typeof StatementQuery>, nowMs: number): StatementTime {
  if (from === undefined && to === undefined) return monthOf(month ?? isoDay(startOfMonthMs(nowMs) - 1).slice(0, 7));
  if (month !== undefined) throw invalid('month', 'cannot be combined with from and to: give a month, or two days');
  if (from === undefined || to === undefined) {
    throw invalid(from === undefined ? 'from' : 'to', 'is missing: give both days, or a month');
  }
  const [sinceMs, untilMs] = [dayMs('from', from), dayMs('to', to)];
  if (sinceMs >= untilMs) throw invalid('to', `is ${JSON.stringify(to)}: must be a day after from`);
  return { sinceMs, untilMs };
}

function monthOf(month: string): StatementTime {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { sinceMs: Date.UTC(year, number - 1), untilMs: Date.UTC(year, number) };
}

function startOfMonthMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

function dayMs(field: 'from' | 'to', value: string): number {
  const atMs = /^\d{4}-\d{2}-\d{2}$/.test(value) ? readTime(value) : null;
  if (atMs === null) throw unexpected(StatementQuery, field, value);
  return atMs;
}

interface StatementContext {
  /** What keys and accounts are called now. */
  readonly names: {
    readonly keys: ReadonlyMap<string, Pick<KeyRecord, 'label' | 'accountId'>>;
    readonly accounts: ReadonlyMap<string, string>;
  };
  readonly policy: StatementPolicy | null;
}

export function statementView(
  id: string,
  { sinceMs, untilMs }: StatementTime,
  made: Statement,
  { names, policy }: StatementContext,
): StatementView {
  const sumOf = (amounts: readonly { readonly amount: bigint }[]): bigint =>
    amounts.reduce((total, { amount }) => total + amount, 0n);
  const money = policy?.currency == null ? null : new Currency(policy.currency, policy.creditPriceNanos);
  const [entries, usage] = [sumOf(made.entries), sumOf(made.usage)];
  const kinds = Map.groupBy(made.entries, ({ kind }) => kind);
  const byKind = (text: (nanos: bigint) => string): Readonly<Record<string, string>> =>
    Object.fromEntries(Array.from(kinds, ([kind, of]) => [kind, text(sumOf(of))]));
  return {
    object: 'statement',
    id,
    of: made.of,
    name: made.name,
    from: isoDay(sinceMs),
    to: isoDay(untilMs),
    closed: untilMs <= made.nowMs,
    issued_at: new Date(made.nowMs).toISOString(),
    issuer: policy && issuerOf(policy),
    currency: money && {
      code: money.code,
      credit_price: decimalCredits(money.creditPriceNanos),
      opening_balance: money.text(made.opening),
      entries: money.text(entries),
      usage: money.text(usage),
      by_kind: byKind((amount) => money.text(amount)),
      closing_balance: money.text(made.closing),
    },
    opening_balance: made.opening === null ? null : decimalCredits(made.opening),
    closing_balance: made.closing === null ? null : decimalCredits(made.closing),
    entries: made.entries.map((entry) => ({
      at: new Date(entry.atMs).toISOString(),
      kind: entry.kind,
      id: entry.id,
      amount: decimalCredits(entry.amount),
      amount_in_currency: money?.text(entry.amount) ?? null,
      reason: entry.note,
      actor: entry.actor,
      request_id: entry.chargeId,
      expires_at: entry.expiresAtMs === null ? null : new Date(entry.expiresAtMs).toISOString(),
      other: entry.otherId,
    })),
    usage: made.usage.map((row) => {
      const key = names.keys.get(row.keyId);
      return {
        key: row.keyId,
        label: key?.label ?? null,
        account: key?.accountId ?? null,
        account_name: names.accounts.get(key?.accountId ?? '') ?? null,
        model: row.model,
        charges: row.charges,
        amount: decimalCredits(row.amount),
        amount_in_currency: money?.text(row.amount) ?? null,
        ...tokensOf([row]),
      };
    }),
    totals: {
      by_kind: byKind(decimalCredits),
      entries: decimalCredits(entries),
      usage: decimalCredits(usage),
      charges: made.usage.reduce((total, { charges }) => total + charges, 0),
      ...tokensOf(made.usage),
    },
  };
}

function issuerOf({ name, address, contact, taxId, note }: StatementPolicy): StatementView['issuer'] {
  const isGiven = address.length > 0 || [name, contact, taxId, note].some((part) => part !== null);
  return isGiven ? { name, address, contact, tax_id: taxId, note } : null;
}

function tokensOf(rows: readonly StatementUsage[]): TokenFigures {
  const sum = (name: TokenClass): number => Number(rows.reduce((total, { tokens }) => total + tokens[name], 0n));
  return {
    recorded: rows.reduce((total, { recorded }) => total + recorded, 0),
    input_tokens: sum('input'),
    cache_read_tokens: sum('cache_read'),
    cache_write_tokens: sum('cache_write'),
    cache_write_1h_tokens: sum('cache_write_1h'),
    output_tokens: sum('output'),
    reasoning_tokens: sum('reasoning'),
  };
}
