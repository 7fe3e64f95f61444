/** Usage reports: what can be asked for, and what comes back. */
import type { ZoneOffset } from './time-zone.ts';

export const USAGE_DIMENSIONS = ['day', 'hour', 'key', 'label', 'account', 'model', 'provider', 'format'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Of the days of a time zone; weeks begin on Monday. */
export const USAGE_PERIODS = ['today', 'yesterday', 'this_week', 'last_week', 'this_month', 'last_month'] as const;
export type UsagePeriod = (typeof USAGE_PERIODS)[number];

/** In the order of the columns of the rollups. */
export const USAGE_SUMS = [
  'charges',
  'requests',
  'broken',
  'charged_nanos',
  'charged_tokens',
  'cost_nanos',
  'provider_cost_nanos',
  'input',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'output',
  'reasoning',
] as const;
export type UsageSum = (typeof USAGE_SUMS)[number];
export type UsageSums = Readonly<Record<UsageSum, bigint>>;

export interface UsageQuery {
  /** Whole hours; `untilMs` is not part of it. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly by: readonly UsageDimension[];
  readonly filter: UsageFilter;
  /** Only what these keys were charged; absent for all keys. */
  readonly keys?: ReadonlySet<string>;
  /** Of the time zone whose days are meant, within the time; absent for UTC. A day is named by the midnight of UTC on its date. */
  readonly offsets?: readonly ZoneOffset[];
  /** The account that each counts for, such as the root of its tree; absent where each counts for itself. Not together with `top`. */
  readonly accountOf?: ReadonlyMap<string, string>;
  /** More rows than this are not read. */
  readonly rowsMax: number;
  /** Only the groups with the most of something; the total is of all. */
  readonly top?: UsageTop;
}

/** By what groups are ranked. */
export const USAGE_ORDERS = ['cost', 'requests', 'tokens'] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

/** The sums that make the order. */
export const ORDER_SUMS: Readonly<Record<UsageOrder, readonly UsageSum[]>> = {
  cost: ['cost_nanos'],
  requests: ['charges'],
  tokens: ['input', 'cache_read', 'cache_write', 'cache_write_1h', 'output'],
};

export function inOrder(order: UsageOrder, sums: UsageSums): number {
  return Number(ORDER_SUMS[order].reduce((sum, name) => sum + sums[name], 0n));
}

/** The time is no part of a group here: by day and key, the rows of the first keys for each day. */
interface UsageTop {
  readonly count: number;
  readonly order: UsageOrder;
}

/** Those of an account, or of several, are named by their keys. */
export type UsageFilter = Readonly<Partial<Record<Exclude<UsageDimension, 'day' | 'hour' | 'account'>, string>>>;

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface UsageFigures {
  readonly sums: UsageSums;
  /** Null where no request of the group says. */
  readonly firstByteMs: Percentiles | null;
  readonly durationMs: Percentiles | null;
}

/** The value of each dimension that was asked for, in that order: a time in milliseconds, or a text; null means none. */
export type UsageGroup = readonly (string | number | null)[];

export interface UsageRow extends UsageFigures {
  readonly group: UsageGroup;
}

export type UsageOutcome =
  | {
      readonly kind: 'usage';
      /** In the order of their groups. */
      readonly rows: readonly UsageRow[];
      readonly total: UsageFigures;
      /** Charges are missing that are still being added to the rollups. */
      readonly catchingUp: boolean;
    }
  | { readonly kind: 'too_many_rows' };

/** What a step of adding charges to the rollups came to. */
export interface RolledUp {
  readonly charges: number;
  readonly more: boolean;
}
