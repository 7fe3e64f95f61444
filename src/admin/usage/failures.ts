/** Puts the counts of failed requests beside what was charged: a report has the groups of both. */
import {
  USAGE_SUMS,
  type UsageFigures,
  type UsageGroup,
  type UsageQuery,
  type UsageSum,
} from '../../core/usage-report.ts';
import { getOrInsert } from '../../lib/get-or-insert.ts';
import type { FailedByCondition, FailureReport } from '../../observe/failures/store.ts';

/** What was charged in a group, and what failed there. */
export interface GroupFigures extends UsageFigures {
  readonly failed: FailedByCondition;
}

export interface GroupRow extends GroupFigures {
  readonly group: UsageGroup;
}

interface Charged {
  readonly rows: readonly (UsageFigures & { readonly group: UsageGroup })[];
  readonly total: UsageFigures;
}

interface WithFailures {
  readonly rows: readonly GroupRow[];
  readonly total: GroupFigures;
}

const NO_CHARGES: UsageFigures = {
  sums: Object.fromEntries(USAGE_SUMS.map((name) => [name, 0n])) as Record<UsageSum, bigint>,
  firstByteMs: null,
  durationMs: null,
};
const NONE: FailedByCondition = {};

/** The groups with the most of something. Time is no part of a group here. */
export class Ranking {
  readonly #by: UsageQuery['by'];
  readonly #groups: ReadonlyMap<string, UsageGroup>;

  constructor(by: UsageQuery['by'], values: readonly (readonly [UsageGroup, value: number])[], count: number) {
    this.#by = by;
    const sums = new Map<string, { readonly group: UsageGroup; value: number }>();
    for (const [group, value] of values) {
      getOrInsert(sums, rankedName(by, group), () => ({ group, value: 0 })).value += value;
    }
    const most = [...sums].sort((a, b) => b[1].value - a[1].value).slice(0, count);
    this.#groups = new Map(most.map(([name, { group }]) => [name, group]));
  }

  /** Those of the rows that are among them, in the order of the ranking, unless time orders them. */
  of(rows: readonly GroupRow[]): readonly GroupRow[] {
    const places = new Map([...this.#groups.keys()].map((name, place) => [name, place]));
    const placed = rows.flatMap((row) => {
      const place = places.get(rankedName(this.#by, row.group));
      return place === undefined ? [] : [{ place, row }];
    });
    if (!this.#by.some(isTime)) placed.sort((a, b) => a.place - b.place);
    return placed.map(({ row }) => row);
  }

  /** Whose charges are wanted; undefined where that does not depend on keys. */
  get keys(): ReadonlySet<string> | undefined {
    const index = this.#by.indexOf('key');
    return index < 0 ? undefined : new Set(Array.from(this.#groups.values(), (group) => String(group[index])));
  }
}

/** What failed in accounts, at the ones that they count for; and what failed of a key once, whatever it was called meanwhile. */
export function failuresOf(
  { by, accountOf }: Pick<UsageQuery, 'by' | 'accountOf'>,
  report: FailureReport,
): FailureReport {
  const index = by.indexOf('account');
  const rows = new Map<string, { readonly group: UsageGroup; readonly failed: Record<string, number> }>();
  for (const { group: found, failed } of report.rows) {
    const group = found.map((value, at) => (at === index ? (accountOf?.get(String(value)) ?? value) : value));
    const row = getOrInsert(rows, identity(by, group), () => ({ group, failed: {} }));
    for (const [condition, count] of Object.entries(failed)) {
      row.failed[condition] = (row.failed[condition] ?? 0) + count;
    }
  }
  return { ...report, rows: [...rows.values()] };
}

export function countOf(failed: FailedByCondition): number {
  return Object.values(failed).reduce((sum, count) => sum + count, 0);
}

/** `top` holds for the groups of both: those that were charged come first, then those with the most failures. */
export function withFailures({ by, top }: UsageQuery, charged: Charged, failures: FailureReport): WithFailures {
  const failed = new Map(failures.rows.map((row) => [identity(by, row.group), row]));
  const shown = new Set(charged.rows.map(({ group }) => rankedName(by, group)));
  const rows: GroupRow[] = charged.rows.map((row) => {
    const name = identity(by, row.group);
    const found = failed.get(name)?.failed ?? NONE;
    failed.delete(name);
    return { ...row, failed: found };
  });
  for (const row of failed.values()) {
    const name = rankedName(by, row.group);
    if (top !== undefined && !shown.has(name) && shown.size >= top.count) continue;
    shown.add(name);
    rows.push({ ...NO_CHARGES, ...row });
  }
  // Groups that are ranked stay in that order, unless time orders them.
  if (top === undefined || by.some(isTime)) rows.sort((a, b) => compareGroups(a.group, b.group));
  return { rows, total: { ...charged.total, failed: failures.total } };
}

function isTime(dimension: UsageQuery['by'][number]): boolean {
  return dimension === 'day' || dimension === 'hour';
}

function rankedName(by: UsageQuery['by'], group: UsageGroup): string {
  return identity(
    by.filter((dimension) => !isTime(dimension)),
    group.filter((_, index) => !isTime(by[index] ?? 'day')),
  );
}

/**
 * What tells a group from others: not what a key has only one of, which is that of today in the ledger and that of the time in
 * the counts. Nothing and an empty text are the same: one store has the one, the other the other.
 */
function identity(by: UsageQuery['by'], group: UsageGroup): string {
  const ofKey = by.includes('key');
  const counts = (index: number): boolean => !ofKey || (by[index] !== 'label' && by[index] !== 'account');
  return JSON.stringify(group.filter((_, index) => counts(index)).map((value) => value ?? ''));
}

function compareGroups(a: UsageGroup, b: UsageGroup): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? null;
    if (left === right || (!left && !right)) continue;
    if (left === null) return -1;
    return right !== null && left < right ? -1 : 1;
  }
  return 0;
}
