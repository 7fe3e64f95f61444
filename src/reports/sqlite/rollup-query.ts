/** The SQL of a usage report: which rollups it reads, and what of them. */
import type { UsageDimension, UsageQuery } from '../../core/usage-report.ts';
import { integer } from '../../storage/columns.ts';
import {
  dimensionColumn,
  filterColumns,
  isByAccountAlone,
  isByKey,
  namesKeys,
  sourcesOf,
  type UsageSource,
} from '../sources.ts';
import { rankedDimensions, type TopGroups } from '../top.ts';
import { accountDaysFrom } from './account-days.ts';
import type { ColdStatements } from './statements.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** Searches that cost about what reading a range does: with fewer, each key is searched in each hour or day. */
const SEARCHES_MAX = 200_000;

interface Wanted {
  /** Of the rollups. */
  readonly columns: readonly string[];
  /** What is made of them for a group. */
  readonly sums: string;
  /** Only these groups; null for all. */
  readonly top: TopGroups | null;
  /** The groups in this order; without it, in any. */
  readonly order?: Statement;
}

/** A last value says how many rows are read at most. */
export function rollupQuery(sql: ColdStatements, query: UsageQuery, { columns, sums, top, order }: Wanted): Statement {
  const alone = isByAccountAlone(query);
  const column = (dimension: UsageDimension): string =>
    alone && dimension === 'account' ? ACCOUNT : dimensionColumn(query, dimension);
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
    alone ? accountSource(source, columns) : keySource(sql, query, source, columns, keys),
  );
  const dimensions = query.by.map((dimension, index) => `${column(dimension)} AS d${index}, `);
  return {
    text: `SELECT ${dimensions.join('')}${sums} FROM (${sources.map((source) => source.text).join(' UNION ALL ')}) r
      ${namesKeys(query) && !alone ? 'LEFT JOIN keys k ON k.id = r.key_id' : ''}
      ${wanted.length === 0 ? '' : `WHERE ${wanted.map(([condition]) => condition).join(' AND ')}`}
      ${query.by.length === 0 ? '' : `GROUP BY ${query.by.map((_, index) => `d${index}`).join(', ')}`}
      ${order === undefined ? '' : `ORDER BY ${order.text}`} LIMIT ?`,
    values: [
      ...sources.flatMap((source) => source.values),
      ...wanted.map(([, value]) => value),
      ...(order?.values ?? []),
    ],
  };
}

const ACCOUNT = 'r.account_id';

/** Only columns that are asked for: what a row of a union has is copied, whether or not it is used. */
function keySource(
  sql: ColdStatements,
  query: UsageQuery,
  source: UsageSource,
  figures: readonly string[],
  keys: ReadonlySet<string> | null,
): Statement {
  const { table, sinceMs, untilMs } = source;
  const asked = new Set<string>([...query.by, ...Object.keys(query.filter)]);
  const times = asked.has('day') || asked.has('hour') ? ['start_ms'] : [];
  const calls = ['model', 'provider', 'format'].filter((name) => asked.has(name));
  const columns = [...(isByKey(query) ? ['key_id'] : []), ...times, ...calls, ...figures].join(', ');
  const starts = keys === null ? [] : startsIn(sql, source);
  if (keys === null || starts.length * keys.size > SEARCHES_MAX) {
    return { text: `SELECT ${columns} FROM ${table} WHERE start_ms >= ? AND start_ms < ?`, values: [sinceMs, untilMs] };
  }
  return {
    text: `SELECT ${columns} FROM ${table} WHERE start_ms IN (SELECT value FROM json_each(?))
      AND key_id IN (SELECT value FROM json_each(?))`,
    values: [list(starts), list(keys)],
  };
}

/** The hours or days of a source of which there is something, with one search for each. */
function startsIn(sql: ColdStatements, { table, sinceMs, untilMs }: UsageSource): readonly number[] {
  return sql(`WITH RECURSIVE starts(start_ms) AS (
      SELECT min(start_ms) FROM ${table} WHERE start_ms >= ?1
      UNION ALL SELECT (SELECT min(r.start_ms) FROM ${table} r WHERE r.start_ms > s.start_ms) FROM starts s
        WHERE s.start_ms < ?2
    ) SELECT start_ms FROM starts WHERE start_ms < ?2`)
    .all(sinceMs, untilMs)
    .map((row) => integer(row, 'start_ms'));
}

function accountSource({ table, sinceMs, untilMs }: UsageSource, columns: readonly string[]): Statement {
  const figures = `u.start_ms, ${columns.join(', ')} FROM ${table} u`;
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

export function list(values: Iterable<string | number>): string {
  return JSON.stringify([...values]);
}
