/** Which groups of a usage report have the most: the first of the rollups, with the charges that they do not count yet. */
import type { UsageGroup, UsageOrder, UsageQuery } from '../../core/usage-report.ts';
import { groupOf, namesKeys } from '../rules/usage-sources.ts';
import { inOrder, ORDER_SUMS, type RankedGroup, TopGroups } from '../rules/usage-top.ts';
import { groupFrom, list, rollupQuery } from './rollup-query.ts';
import type { ColdStatements } from './statements.ts';
import { type ChargeFact, readWatermark } from './usage-rollup.ts';

export function topGroups(
  sql: ColdStatements,
  query: UsageQuery,
  { count, order }: NonNullable<UsageQuery['top']>,
  tail: readonly ChargeFact[],
): TopGroups {
  const behind = new Map<string, RankedGroup>();
  for (const { place, sums } of tail) {
    const group = groupOf(query, place);
    if (group === null) continue;
    const name = nameOf(group);
    behind.set(name, { group, value: (behind.get(name)?.value ?? 0) + inOrder(order, sums) });
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
  /** The groups that are in it wherever they are. */
  readonly withNames: ReadonlySet<string>;
  readonly groups: readonly RankedGroup[];
}

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
  const name = JSON.stringify([readWatermark(sql).version, by, filter, sinceMs, untilMs, order, count]);
  const found = rankings.get(sql);
  if (kept && found?.name === name && names.every((one) => found.withNames.has(one))) return found.groups;
  const columns = ORDER_SUMS[order];
  const nameInSql = by.map((_, index) => `coalesce(d${index}, '')`).join(` || '${SEPARATOR}' || `);
  const { text: statement, values } = rollupQuery(sql, query, {
    columns,
    sums: `total(r.${columns.join(') + total(r.')}) AS value`,
    top: null,
    order: { text: `${nameInSql} IN (SELECT value FROM json_each(?)) DESC, value DESC`, values: [list(names)] },
  });
  const groups = sql(statement)
    .all(...values, count + names.length)
    .map((row) => ({ group: groupFrom(query, row), value: Number(row.value) }));
  if (kept) rankings.set(sql, { name, withNames: new Set(names), groups });
  return groups;
}

const SEPARATOR = '\x1f';

function nameOf(group: UsageGroup): string {
  return group.map((value) => value ?? '').join(SEPARATOR);
}
