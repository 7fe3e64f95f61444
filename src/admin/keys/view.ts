import { originOf } from '../../core/endpoints.ts';
import { creditsFromNanos } from '../../core/money.ts';
import type { KeySummary, OpenPromotion } from '../../ledger/port.ts';
import type { AccountView } from '../accounts/schema.ts';
import { keyFieldsView } from './fields.ts';
import type { CreatedKey, KeyView } from './schema.ts';

export function keyView(summary: KeySummary, gatewayOrigin: string): KeyView {
  const { key } = summary;
  const origin = originOf(gatewayOrigin, key.mode);
  const base = {
    id: key.id,
    version: key.version,
    prefix: key.prefix,
    prefixes: summary.secretPrefixes,
    base_url: `${origin}/v1`,
    origin,
    label: key.label,
    status: summary.status,
    ...keyFieldsView(key),
    created_at: new Date(key.createdAtMs).toISOString(),
    live_holds: summary.liveHolds,
    requests: summary.requests,
    input_tokens: Number(summary.inputTokens),
    output_tokens: Number(summary.outputTokens),
    ...(key.accountId !== null && { account: key.accountId }),
  };
  if (key.mode === 'credit') {
    // What the account has that pays for a key is shown there.
    const purchased = key.accountId === null ? summary.purchased : 0n;
    const balance = key.accountId === null ? purchased - summary.used : 0n;
    return {
      ...base,
      mode: 'credit',
      ...(key.cap !== null && {
        cap: {
          amount: creditsFromNanos(key.cap),
          period: key.period,
          used: creditsFromNanos(summary.periodUsed),
        },
      }),
      credit: creditsFromNanos(purchased),
      balance: creditsFromNanos(balance),
      used: creditsFromNanos(summary.used),
      reserved: creditsFromNanos(summary.reserved),
      remaining: creditsFromNanos(atLeastZero(balance - summary.reserved)),
      today_spend: creditsFromNanos(summary.todaySpend),
    };
  }
  return {
    ...base,
    mode: 'token_budget',
    budget: key.budget === null ? null : Number(key.budget),
    period: key.period,
    period_ends_at: isoTime(summary.periodEndsAtMs),
    used: Number(summary.periodUsed),
    reserved: Number(summary.reserved),
    remaining: key.budget === null ? null : Number(atLeastZero(key.budget - summary.periodUsed - summary.reserved)),
  };
}

/** With the promotional credit that it has itself. */
export function withPromotions<Of extends KeyView | AccountView>(view: Of, open: readonly OpenPromotion[]): Of {
  const [next] = open;
  if (next === undefined) return view;
  const promotional = {
    left: creditsFromNanos(open.reduce((sum, { left }) => sum + left, 0n)),
    next_amount: creditsFromNanos(next.left),
    next_expires_at: new Date(next.expiresAtMs).toISOString(),
  };
  return { ...view, promotional };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}

/** The text of a key is never stored. */
export function withoutText(view: KeyView | CreatedKey): object {
  const { key: _text, ...rest } = { key: null, ...view };
  return rest;
}
