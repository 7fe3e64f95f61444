/** A usage report: sums from the rollups, and from the few charges that they do not count yet. */
import {
  USAGE_SUMS,
  type UsageDimension,
  UsageFold,
  type UsageOrder,
  type UsageOutcome,
  type UsageQuery,
} from '../../core/usage-report.ts';
import {
  dimensionColumn,
  filterColumns,
  groupOf,
  isByAccountAlone,
  isByKey,
  namesKeys,
  sourcesOf,
  startsOf,
  TAIL_MAX,
  type UsageSource,
} from '../rules/usage-sources.ts';
import { inOrder, ORDER_SUMS, type RankedGroup, rankedDimensions, ranksGroups, TopGroups } from '../rules/usage-top.ts';
import { accountDaysFrom } from './account-days.ts';
import { integer, type Row, text } from './columns.ts';
import type { ColdStatements } from './statements.ts';
import { type ChargeFact, chargesWithoutRecord, chargesWithRecord, readWatermark } from './usage-rollup.ts';
import { SUMS_OF_GROUP, sumsFrom } from './usage-sums.ts';

/** In a transaction, so that rollups and charges are of one moment. */
export function usageReport(sql: ColdStatements, query: UsageQuery): UsageOutcome {
  const catchingUp = isFarBehind(sql);
  const tail = catchingUp ? [] : [...unrolledCharges(sql)];
  if (query.top === undefined || !ranksGroups(query)) return fullReport(sql, query, tail, catchingUp, null);
  const top = topGroups(sql, { ...query, by: rankedDimensions(query.by) }, query.top, tail);
  const report = fullReport(sql, query, tail, catchingUp, top);
  const all = fullReport(sql, { ...query, by: [] }, tail, catchingUp, null);
  if (report.kind !== 'usage' || all.kind !== 'usage') return report;
  return { ...top.of(query, report), total: all.total };
}

function fullReport(
  sql: ColdStatements,
  query: UsageQuery,
  tail: readonly ChargeFact[],
  catchingUp: boolean,
  top: TopGroups | null,
): UsageOutcome {
  const fold = new UsageFold();
  const { text: statement, values } = rollupQuery(sql, query, SUMS_OF_GROUP, top);
  const rows = sql(statement).all(...values, query.rowsMax + 1);
  if (rows.length > query.rowsMax) return { kind: 'too_many_rows' };
  for (const row of rows) {
    // Without a dimension there is a row even where there is nothing to add up.
    if (row.charges_low === null) continue;
    fold.add(groupFrom(query, row), sumsFrom(row), JSON.parse(text(row, 'times')) as number[]);
  }
  for (const fact of tail) {
    const group = groupOf(query, fact.place);
    if (group !== null && (top === null || top.placeOf(query.by, group) !== null)) {
      fold.addCharge(group, fact.sums, fact.firstByteMs, fact.durationMs);
    }
  }
  return fold.outcome(query.rowsMax, catchingUp);
}

function topGroups(
  sql: ColdStatements,
  query: UsageQuery,
  { count, order }: NonNullable<UsageQuery['top']>,
  tail: readonly ChargeFact[],
): TopGroups {
  const behind = new Map<string, RankedGroup>();
  for (const { place, sums } of tail) {
    const group = groupOf(query, place);
    if (group === null) continue;
    const name = JSON.stringify(group);
    behind.set(name, { group, value: (behind.get(name)?.value ?? 0) + inOrder(order, sums) });
  }
  const ranked = [...rankedRollups(sql, query, order)].map(([name, { group, value }]) => {
    const more = behind.get(name)?.value ?? 0;
    behind.delete(name);
    return { group, value: value + more };
  });
  return new TopGroups(query.by, count, [...ranked, ...behind.values()]);
}

type Ranking = ReadonlyMap<string, RankedGroup>;

/** A page asks for the first keys of each day and for those of the whole time at once: they are ranked once. */
const rankings = new WeakMap<ColdStatements, { readonly name: string; readonly ranking: Ranking }>();
/** A ranking of more groups than this is not kept. */
const KEPT_MAX = 200_000;

/** The groups of the rollups by their names, those with the most first. */
function rankedRollups(sql: ColdStatements, query: UsageQuery, order: UsageOrder): Ranking {
  const { by, filter, keys, sinceMs, untilMs } = query;
  // Labels and accounts of keys change without the rollups.
  const kept = keys === undefined && !namesKeys(query);
  const name = JSON.stringify([readWatermark(sql).version, by, filter, sinceMs, untilMs, order]);
  const found = rankings.get(sql);
  if (kept && found?.name === name) return found.ranking;
  const value = `total(${ORDER_SUMS[order].map((sum) => `r.${sum}`).join(') + total(')})`;
  const { text: statement, values } = rollupQuery(sql, query, `${value} AS value`, null);
  const ranked: RankedGroup[] = [];
  for (const row of sql(statement).iterate(...values, Number.MAX_SAFE_INTEGER)) {
    ranked.push({ group: groupFrom(query, row), value: Number(row.value) });
  }
  ranked.sort((a, b) => b.value - a.value);
  const ranking = new Map(ranked.map((one) => [JSON.stringify(one.group), one]));
  if (kept && ranking.size <= KEPT_MAX) rankings.set(sql, { name, ranking });
  return ranking;
}

function* unrolledCharges(sql: ColdStatements): Generator<ChargeFact> {
  yield* chargesWithRecord(sql, readWatermark(sql).number, Number.MAX_SAFE_INTEGER);
  yield* chargesWithoutRecord(sql, Number.MAX_SAFE_INTEGER);
}

/** Numbers have no large gaps, so that the two ends tell how many there are. */
function isFarBehind(sql: ColdStatements): boolean {
  const row = sql(`SELECT (SELECT coalesce(max(number), 0) FROM usage) - w.number AS records,
    (SELECT count(*) FROM unrolled) AS others FROM usage_watermark w`).get();
  return row !== undefined && integer(row, 'records') + integer(row, 'others') > TAIL_MAX;
}

interface Statement {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** Searches that cost about what reading a range does: with fewer, each key is searched in each hour or day. */
const SEARCHES_MAX = 200_000;

/** A last value says how many rows are read at most. */
function rollupQuery(sql: ColdStatements, query: UsageQuery, sums: string, top: TopGroups | null): Statement {
  const alone = isByAccountAlone(query);
  const column = (dimension: UsageDimension): string =>
    alone && dimension === 'account' ? ACCOUNT : dimensionColumn(dimension);
  const wanted: (readonly [condition: string, value: string])[] = filterColumns(query).map(([column, value]) => [
    `${column} = ?`,
    value,
  ]);
  if (query.keys !== undefined) wanted.push(['r.key_id IN (SELECT value FROM json_each(?))', list(query.keys)]);
  if (top !== null) {
    for (const dimension of rankedDimensions(query.by)) {
      const among = `coalesce(${column(dimension)}, '') IN (SELECT value FROM json_each(?))`;
      wanted.push([among, list(top.valuesOf(dimension) ?? [])]);
    }
  }
  const keys = fewKeys(query, top?.valuesOf('key'));
  const sources = sourcesOf(query, alone ? accountDaysFrom(sql) : null).map((source) =>
    alone ? accountSource(source) : keySource(query, source, keys),
  );
  const dimensions = query.by.map((dimension, index) => `${column(dimension)} AS d${index}, `);
  return {
    text: `SELECT ${dimensions.join('')}${sums} FROM (${sources.map((source) => source.text).join(' UNION ALL ')}) r
      ${namesKeys(query) && !alone ? 'LEFT JOIN keys k ON k.id = r.key_id' : ''}
      ${wanted.length === 0 ? '' : `WHERE ${wanted.map(([condition]) => condition).join(' AND ')}`}
      ${query.by.length === 0 ? '' : `GROUP BY ${query.by.map((_, index) => `d${index}`).join(', ')}`}
      LIMIT ?`,
    values: [...sources.flatMap((source) => source.values), ...wanted.map(([, value]) => value)],
  };
}

const ACCOUNT = 'r.account_id';
const FIGURES = [...USAGE_SUMS, 'times'].join(', ');

function keySource(query: UsageQuery, source: UsageSource, keys: ReadonlySet<string> | null): Statement {
  const { table, sinceMs, untilMs } = source;
  const columns = `${isByKey(query) ? 'key_id, ' : ''}start_ms, model, provider, format, ${FIGURES}`;
  const starts = keys === null ? [] : startsOf(source);
  if (keys === null || starts.length * keys.size > SEARCHES_MAX) {
    return { text: `SELECT ${columns} FROM ${table} WHERE start_ms >= ? AND start_ms < ?`, values: [sinceMs, untilMs] };
  }
  return {
    text: `SELECT ${columns} FROM ${table} WHERE start_ms IN (SELECT value FROM json_each(?))
      AND key_id IN (SELECT value FROM json_each(?))`,
    values: [list(starts), list(keys)],
  };
}

function accountSource({ table, sinceMs, untilMs }: UsageSource): Statement {
  const figures = `u.start_ms, ${FIGURES} FROM ${table} u`;
  return {
    text: `${
      table === 'usage_account_days'
        ? `SELECT nullif(u.account_id, '') AS account_id, ${figures}`
        : `SELECT k.account_id, ${figures} LEFT JOIN keys k ON k.id = u.key_id`
    } WHERE u.start_ms >= ? AND u.start_ms < ?`,
    values: [sinceMs, untilMs],
  };
}

/** The keys that a report is about, where it names them. */
function fewKeys({ filter, keys }: UsageQuery, ranked: readonly string[] | undefined): ReadonlySet<string> | null {
  if (ranked !== undefined) return new Set(ranked);
  return filter.key === undefined ? (keys ?? null) : new Set([filter.key]);
}

function list(values: Iterable<string | number>): string {
  return JSON.stringify([...values]);
}

function groupFrom({ by }: UsageQuery, row: Row): readonly (string | number | null)[] {
  return by.map((_, index) => {
    const value = row[`d${index}`];
    return typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? value : null;
  });
}
