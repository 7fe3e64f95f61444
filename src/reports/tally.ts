/** How the sums and times of charges are put together, and the rows of a report from them. Pure. */
import { AMOUNT_MAX } from '../core/money.ts';
import {
  type Percentiles,
  USAGE_SUMS,
  type UsageFigures,
  type UsageGroup,
  type UsageOutcome,
  type UsageSum,
  type UsageSums,
} from '../core/usage-report.ts';

/**
 * Where each class of a histogram but the first begins, in milliseconds. The rollups are stored by these classes: they can
 * be refined only together with a migration.
 */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  ...[10, 20, 50, 100, 150, 200, 300, 400, 600, 800],
  ...[1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000, 15_000, 20_000],
  ...[30_000, 45_000, 60_000, 90_000, 120_000, 180_000, 300_000, 600_000],
];
export const LATENCY_CLASSES = LATENCY_BOUNDS_MS.length + 1;
/** The classes of the first byte, then those of the duration. */
export const TIME_CLASSES = 2 * LATENCY_CLASSES;

function latencyClass(ms: number): number {
  let low = 0;
  let high = LATENCY_BOUNDS_MS.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ms < (LATENCY_BOUNDS_MS[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Sums of one group, to be added to. */
export class UsageTally {
  readonly sums: Record<UsageSum, bigint>;
  /** How many requests are in each of the time classes. */
  readonly times: number[];

  constructor() {
    this.sums = Object.fromEntries(USAGE_SUMS.map((name) => [name, 0n])) as Record<UsageSum, bigint>;
    this.times = Array(TIME_CLASSES).fill(0);
  }

  add(sums: UsageSums, times: readonly number[]): void {
    for (const name of USAGE_SUMS) this.sums[name] += sums[name];
    for (let index = 0; index < times.length; index++)
      this.times[index] = (this.times[index] ?? 0) + (times[index] ?? 0);
  }

  /** One charge; its times are null where they are not known. */
  addCharge(sums: UsageSums, firstByteMs: number | null, durationMs: number | null): void {
    for (const name of USAGE_SUMS) this.sums[name] += sums[name];
    if (firstByteMs !== null) this.#count(latencyClass(firstByteMs));
    if (durationMs !== null) this.#count(LATENCY_CLASSES + latencyClass(durationMs));
  }

  #count(index: number): void {
    this.times[index] = (this.times[index] ?? 0) + 1;
  }

  /** As a column can hold them. */
  saturated(): UsageSums {
    for (const name of USAGE_SUMS) if (this.sums[name] > AMOUNT_MAX) this.sums[name] = AMOUNT_MAX;
    return this.sums;
  }

  figures(): UsageFigures {
    return {
      sums: this.sums,
      firstByteMs: percentiles(this.times.slice(0, LATENCY_CLASSES)),
      durationMs: percentiles(this.times.slice(LATENCY_CLASSES)),
    };
  }
}

/** Puts the rows of a report together from rollups and from charges that are not in them yet. */
export class UsageFold {
  readonly #groups = new Map<string, { readonly group: UsageGroup; readonly tally: UsageTally }>();
  readonly #total = new UsageTally();

  add(group: UsageGroup, sums: UsageSums, times: readonly number[]): void {
    this.#tallyOf(group).add(sums, times);
    this.#total.add(sums, times);
  }

  #tallyOf(group: UsageGroup): UsageTally {
    const name = JSON.stringify(group);
    let found = this.#groups.get(name);
    if (found === undefined) {
      found = { group, tally: new UsageTally() };
      this.#groups.set(name, found);
    }
    return found.tally;
  }

  outcome(rowsMax: number, catchingUp: boolean): UsageOutcome {
    if (this.#groups.size > rowsMax) return { kind: 'too_many_rows' };
    const rows = [...this.#groups.values()]
      .sort((a, b) => compareGroups(a.group, b.group))
      .map(({ group, tally }) => ({ group, ...tally.figures() }));
    return { kind: 'usage', rows, total: this.#total.figures(), catchingUp };
  }
}

function compareGroups(a: UsageGroup, b: UsageGroup): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? null;
    if (left === right) continue;
    if (left === null) return -1;
    return right !== null && left < right ? -1 : 1;
  }
  return 0;
}

function percentiles(counts: readonly number[]): Percentiles | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  return { p50: percentile(counts, total, 50), p95: percentile(counts, total, 95), p99: percentile(counts, total, 99) };
}

/** Within its class the times count as evenly spread; the last class has no end, so its beginning stands for it. */
function percentile(counts: readonly number[], total: number, percent: number): number {
  const wanted = (total * percent) / 100;
  let before = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && before + count >= wanted) {
      const from = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      const to = LATENCY_BOUNDS_MS[index] ?? from;
      return Math.round(from + ((to - from) * (wanted - before)) / count);
    }
    before += count;
  }
  return LATENCY_BOUNDS_MS.at(-1) ?? 0;
}
