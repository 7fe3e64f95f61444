/** Which groups of a usage report have the most: the first of the rollups, with the charges that they do not count yet. */
import { inOrder, ORDER_SUMS, type UsageGroup, type UsageOrder, type UsageQuery } from '../../core/usage-report.ts';
import { groupFrom, groupOf, namesKeys } from '../sources.ts';
import { type RankedGroup, TopGroups } from '../top.ts';
import { readWatermark, type Tallied } from './rollup.ts';
import { list, rollupQuery } from './rollup-query.ts';
import type { ColdStatements } from './statements.ts';

export function topGroups(
  sql: ColdStatements,
  query: UsageQuery,
  { count, order }: NonNullable<UsageQuery['top']>,
  tail: readonly Tallied[],
): TopGroups {
  const behind = new Map<string, RankedGroup>();
  for (const { place, tally } of tail) {
    const group = groupOf(query, place);
    if (group === null) continue;
    const name = nameOf(group);
    behind.set(name, { group, value: (behind.get(name)?.value ?? 0) + inOrder(order, tally.sums) });
  }
  const ranked = rankedRollups(sql, query, count, order, [...behind.keys()]).map(({ group, value }) => {
    const name = nameOf(group);
    const more = behind.get(name)?.value ?? 0;
    behind.delete(name);
    return { group, value: value + more };
  });
  return new TopGroups(query.by, count, [...ranked, ...behind.values()]);
}

interface Ranking {
  readonly name: string;
  /** Of the rollups. */
  readonly version: number;
  readonly atMs: number;
  readonly tookMs: number;
  /** The groups that are in it wherever they are. */
  readonly withNames: ReadonlySet<string>;
  readonly groups: readonly RankedGroup[];
}

/** A ranking that took longer than this is used for a while, also after further charges. */
const SLOW_MS = 200;
const SLOW_KEPT_MS = 60_000;
/** Whatever a page shows of them. */
const RANKED_MIN = 1_000;

/** A page asks for the first keys of each day and for those of the whole time at once: they are ranked once. */
const rankings = new WeakMap<ColdStatements, Ranking>();

/** The `count` groups of the rollups with the most, and those of `names`: charges behind the rollups can move no others up. */
function rankedRollups(
  sql: ColdStatements,
  query: UsageQuery,
  count: number,
  order: UsageOrder,
  names: readonly string[],
): readonly RankedGroup[] {
  const { by, filter, keys, sinceMs, untilMs } = query;
  // Labels and accounts of keys change without the rollups.
  const kept = keys === undefined && !namesKeys(query);
  const name = JSON.stringify([by, filter, sinceMs, untilMs, order]);
  const { version } = readWatermark(sql);
  const found = rankings.get(sql);
  if (kept && count <= RANKED_MIN && found?.name === name) {
    const exact = found.version === version && names.every((one) => found.withNames.has(one));
    if (exact || isStillGood(found)) return found.groups;
  }
  const fromMs = performance.now();
  const columns = ORDER_SUMS[order];
  const nameInSql = by.map((_, index) => `coalesce(d${index}, '')`).join(` || '${SEPARATOR}' || `);
  const { text: statement, values } = rollupQuery(sql, query, {
    columns,
    sums: `total(r.${columns.join(') + total(r.')}) AS value`,
    top: null,
    order: { text: `${nameInSql} IN (SELECT value FROM json_each(?)) DESC, value DESC`, values: [list(names)] },
  });
  const groups = sql(statement)
    .all(...values, Math.max(count, RANKED_MIN) + names.length)
    .map((row) => ({ group: groupFrom(query, row), value: Number(row.value) }));
  const atMs = performance.now();
  if (kept) rankings.set(sql, { name, version, atMs, tookMs: atMs - fromMs, withNames: new Set(names), groups });
  return groups;
}

/** Which groups come first over many keys changes slowly, and what a report says of them is read each time. */
function isStillGood({ atMs, tookMs }: Ranking): boolean {
  return tookMs > SLOW_MS && performance.now() - atMs < SLOW_KEPT_MS;
}

const SEPARATOR = '\x1f';

function nameOf(group: UsageGroup): string {
  return group.map((value) => value ?? '').join(SEPARATOR);
}
