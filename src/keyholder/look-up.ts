/** Everything that the page shows of one key, and nothing of any other. */
import { adviceOf } from '../core/advice.ts';
import { originOf } from '../core/endpoints.ts';
import { type KeyRecord, keyStatus } from '../core/key.ts';
import { DAY_MS, HOUR_MS, isoDay } from '../core/time.ts';
import type { UsageRow } from '../core/usage-report.ts';
import { purseOf, tokensLeft } from '../endpoints/usage.ts';
import { type Gateway, storeFailed } from '../exchange/gateway.ts';
import { mayUse } from '../exchange/restrictions.ts';
import type { LedgerAdmin, Summary } from '../ledger/port.ts';
import type { RequestView } from '../observe/request-log/view.ts';
import type { HolderSession } from './session.ts';
import type { WrittenStatement } from './statement.ts';
import type { KeyholderRequest, KeyholderView } from './view.ts';

const DAYS = 30;
const ROWS_MAX = 5_000;

export interface HolderSources {
  readonly gateway: Gateway;
  readonly ledger: Pick<LedgerAdmin, 'usageReport'>;
  /** The newest requests of a key; null where the operator keeps no log. */
  requests(keyId: string): Promise<readonly RequestView[] | null>;
  /** Of a month like 2026-10; null where the key is gone, or pays with tokens. */
  statement(keyId: string, month: string): Promise<WrittenStatement | null>;
}

/** Null where the key is gone. */
export async function lookUp(
  { gateway, ledger, requests }: HolderSources,
  key: KeyRecord,
  session: HolderSession,
  origin: string | null,
): Promise<KeyholderView | null> {
  const nowMs = gateway.clock.nowMs();
  const [summary, report, recent] = await Promise.all([
    gateway.ledger.summary(key.id),
    ledger.usageReport({
      sinceMs: (Math.floor(nowMs / DAY_MS) - DAYS + 1) * DAY_MS,
      untilMs: (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS,
      by: ['day', 'model'],
      filter: { key: key.id },
      rowsMax: ROWS_MAX,
    }),
    requests(key.id),
  ]).catch(storeFailed);
  if (summary === null) return null;
  const own = originOf(gateway.publicUrl ?? origin ?? '', key.mode);
  const model = [...gateway.catalog().models.values()].find((candidate) => mayUse(key, candidate));
  return {
    key: {
      prefix: session.prefix,
      label: key.label,
      mode: key.mode,
      status: keyStatus(key, nowMs),
      rpm_limit: key.rpmLimit,
      models: key.models,
      expires_at: isoOrNull(key.expiresAtMs),
      period: key.period,
      period_ends_at: isoOrNull(summary.periodEndsAtMs),
    },
    balance: balanceOf(summary),
    live_holds: summary.liveHolds,
    running: gateway.inFlight
      .running()
      .filter((request) => request.key_id === key.id)
      .map(({ id, model: asked, streamed, age_ms, held }) => ({ id, model: asked, streamed, age_ms, held })),
    usage: report.kind === 'usage' ? report.rows.map((row) => usageRow(row, key)) : [],
    requests: recent?.map(requestView) ?? null,
    access: { base_url: `${own}/v1`, origin: own, model: model?.id ?? '' },
    session_ends_at: new Date(session.endsAtMs).toISOString(),
  };
}

function balanceOf(summary: Summary): KeyholderView['balance'] {
  const limited_by = summary.path?.accountBinds === true ? 'account' : 'key';
  if (summary.key.mode === 'credit') {
    const { purchased, used, reserved, left } = purseOf(summary);
    return {
      all: String(purchased),
      used: String(used),
      held: String(reserved),
      left: String(left),
      today: String(summary.todaySpend),
      limited_by,
    };
  }
  const left = tokensLeft(summary);
  return {
    all: summary.key.budget === null ? null : String(summary.key.budget),
    used: String(summary.periodUsed),
    held: String(summary.reserved),
    left: left === null ? null : String(left),
    today: null,
    limited_by,
  };
}

function usageRow({ group, sums }: UsageRow, { mode }: KeyRecord): KeyholderView['usage'][number] {
  const [day, model] = group;
  return {
    day: isoDay(Number(day)),
    model: typeof model === 'string' && model !== '' ? model : null,
    requests: Number(sums.charges),
    charged: String(mode === 'credit' ? sums.charged_nanos : sums.charged_tokens),
    input_tokens: Number(sums.input + sums.cache_read + sums.cache_write + sums.cache_write_1h),
    output_tokens: Number(sums.output),
  };
}

/** Without what the operator keeps to itself: providers, attempts, what they cost. */
function requestView(view: RequestView): KeyholderRequest {
  const { usage } = view;
  return {
    id: view.id,
    received_at: view.received_at,
    endpoint: view.endpoint,
    model: view.model,
    streamed: view.streamed,
    status: view.status,
    condition: view.condition,
    message: view.message,
    advice: adviceOf(view),
    charged: view.charged,
    input_tokens: usage && usage.input + usage.cache_read + usage.cache_write + usage.cache_write_1h,
    output_tokens: usage?.output ?? null,
    duration_ms: view.duration_ms,
  };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
