/** A key as the operator sees it. Amounts become decimal numbers here and nowhere else. */
import { originOf } from '../core/endpoints.ts';
import { creditsFromNanos } from '../core/money.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LastAudit } from '../ledger/audits.ts';
import type { AuditReport, KeySummary, OpenPromotion } from '../ledger/port.ts';
import type { AccountView, AuditView, KeyView, LastAuditView } from './api.ts';
import { limitsView } from './limits.ts';

/** The gateway's address for clients on this machine; a wildcard address is shown as loopback. */
export function publicOrigin(host: string, port: number, secure: boolean): string {
  const shown = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host;
  return `${secure ? 'https' : 'http'}://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}

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
    provider_scope: key.providerScope,
    ...limitsView(key),
    expires_at: isoTime(key.expiresAtMs),
    capture_days: key.captureDays,
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

export function auditView(report: AuditReport): AuditView {
  return {
    ok: report.ok,
    keys: report.keys,
    entries: report.entries,
    live_holds: report.liveHolds,
    flagged: report.flagged,
    findings: report.findings,
  };
}

export function lastAuditView(last: LastAudit | null, everyMs: number | null): LastAuditView {
  return {
    every_hours: everyMs === null ? null : everyMs / HOUR_MS,
    last: last && { at: new Date(last.atMs).toISOString(), ...auditView(last), finding_count: last.findingCount },
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}
