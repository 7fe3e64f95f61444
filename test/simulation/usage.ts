/** Usage reports against the model: a plain sum over all charges, whatever the rollups count already. */
import { isDeepStrictEqual } from 'node:util';
import type { UsageDimension, UsageOutcome, UsageQuery, UsageSum } from '../../src/core/usage-report.ts';
import type { Model } from './model.ts';
import type { ModelCharge, ModelKey } from './model-parts.ts';
import type { Random } from './random.ts';
import { show } from './show.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Grouped by anything, mostly over all there is, at times over a part. */
export function drawQuery(random: Random, nowMs: number): UsageQuery {
  const dimensions: UsageDimension[] = ['day', 'hour', 'key', 'label', 'model', 'provider', 'format'];
  const hour = Math.floor(nowMs / HOUR_MS);
  const part = random.chance(30);
  return {
    sinceMs: part ? (hour - random.between(0, 80)) * HOUR_MS : 0,
    untilMs: part ? (hour + 1 - random.between(0, 30)) * HOUR_MS : (hour + 1_000) * HOUR_MS,
    by: dimensions.filter(() => random.chance(35)),
    filter: random.chance(30) ? { model: 'one' } : {},
    rowsMax: 10_000,
  };
}

export function brokenUsage(model: Model, query: UsageQuery, found: UsageOutcome): string | null {
  if (found.kind !== 'usage' || found.catchingUp) return `no report: ${show(found)}`;
  const rows = new Map<string, Record<UsageSum, bigint>>();
  for (const key of model.keys.values()) {
    for (const charge of key.charges) {
      const group = groupOf(query, key, charge);
      if (group !== null) rows.set(group, added(rows.get(group), sumsOf(key, charge)));
    }
  }
  const reported = new Map(found.rows.map(({ group, sums }) => [JSON.stringify(group), sums]));
  const wanted = new Map([...rows].sort());
  if (!isDeepStrictEqual(new Map([...reported].sort()), wanted)) {
    return `usage by ${show(query)}\n    says    ${show([...reported])}\n    must be ${show([...wanted])}`;
  }
  const total = [...rows.values()].reduce<Record<UsageSum, bigint> | undefined>(
    (sum, row) => added(sum, row),
    undefined,
  );
  if (total !== undefined && !isDeepStrictEqual(found.total.sums, total)) return `the total is ${show(found.total)}`;
  return null;
}

function groupOf(
  { sinceMs, untilMs, by, filter }: UsageQuery,
  key: ModelKey,
  { atMs, call }: ModelCharge,
): string | null {
  const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
  if (hourMs < sinceMs || hourMs >= untilMs) return null;
  if (filter.model !== undefined && call?.model !== filter.model) return null;
  const values = {
    day: Math.floor(atMs / DAY_MS) * DAY_MS,
    hour: hourMs,
    key: key.record.id,
    label: key.record.label,
    account: key.record.accountId,
    model: call?.model ?? '',
    provider: call?.provider ?? '',
    format: call?.format ?? '',
  };
  return JSON.stringify(by.map((dimension) => values[dimension]));
}

function sumsOf(key: ModelKey, { amount, call, record }: ModelCharge): Record<UsageSum, bigint> {
  const credit = key.record.mode === 'credit';
  const tokens = record?.tokens;
  return {
    charges: 1n,
    requests: record === null ? 0n : 1n,
    broken: record?.broken === true ? 1n : 0n,
    charged_nanos: credit ? amount : 0n,
    charged_tokens: credit ? 0n : amount,
    cost_nanos: credit ? amount : (call?.costNanos ?? 0n),
    provider_cost_nanos: call?.providerCostNanos ?? 0n,
    input: BigInt(tokens?.input ?? 0),
    cache_read: BigInt(tokens?.cacheRead ?? 0),
    cache_write: BigInt(tokens?.cacheWrite ?? 0),
    cache_write_1h: BigInt(tokens?.cacheWrite1h ?? 0),
    output: BigInt(tokens?.output ?? 0),
    reasoning: BigInt(tokens?.reasoning ?? 0),
  };
}

function added(one: Record<UsageSum, bigint> | undefined, other: Record<UsageSum, bigint>): Record<UsageSum, bigint> {
  if (one === undefined) return other;
  const names = Object.keys(other) as UsageSum[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as Record<UsageSum, bigint>;
}
