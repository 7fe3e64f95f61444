/** Reports of the groups with the most of something: they are ranked first, over all of the time, and then read. */
import type { UsageDimension, UsageGroup, UsageOutcome, UsageQuery } from '../core/usage-report.ts';

export function ranksGroups({ by, top }: UsageQuery): boolean {
  return top !== undefined && by.some((dimension) => !isTime(dimension));
}

/** What it is ranked by: everything but the time, and what a key has only one of. */
export function rankedDimensions(by: readonly UsageDimension[]): readonly UsageDimension[] {
  return by.filter((dimension) => !isTime(dimension) && !(by.includes('key') && OF_KEY.includes(dimension)));
}

const OF_KEY: readonly UsageDimension[] = ['label', 'account'];

function isTime(dimension: UsageDimension): boolean {
  return dimension === 'day' || dimension === 'hour';
}

/** A sum of money or tokens decides about an order only: it need not be exact. */
export interface RankedGroup {
  readonly group: UsageGroup;
  readonly value: number;
}

/** The groups of a ranking that a report shows, with their places in it. */
export class TopGroups {
  readonly #dimensions: readonly UsageDimension[];
  readonly #groups: readonly UsageGroup[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(dimensions: readonly UsageDimension[], count: number, ranked: Iterable<RankedGroup>) {
    this.#dimensions = dimensions;
    this.#groups = [...ranked]
      .sort((a, b) => b.value - a.value)
      .slice(0, count)
      .map(({ group }) => group);
    this.#places = new Map(this.#groups.map((group, place) => [JSON.stringify(group), place]));
  }

  /** The values that a dimension has in them; undefined for one that they are not ranked by. */
  valuesOf(dimension: UsageDimension): readonly string[] | undefined {
    const index = this.#dimensions.indexOf(dimension);
    return index < 0 ? undefined : [...new Set(this.#groups.map((group) => String(group[index] ?? '')))];
  }

  /** Null for a group of the report that is not among them. */
  placeOf(by: readonly UsageDimension[], group: UsageGroup): number | null {
    const ranked = this.#dimensions.map((dimension) => group[by.indexOf(dimension)] ?? null);
    return this.#places.get(JSON.stringify(ranked)) ?? null;
  }

  /** Those of its rows that are among them: in the order of the ranking, unless time orders them. */
  of({ by }: UsageQuery, report: UsageOutcome & { readonly kind: 'usage' }): typeof report {
    const placed = report.rows.flatMap((row) => {
      const place = this.placeOf(by, row.group);
      return place === null ? [] : [{ place, row }];
    });
    if (!by.some(isTime)) placed.sort((a, b) => a.place - b.place);
    return { ...report, rows: placed.map(({ row }) => row) };
  }
}
