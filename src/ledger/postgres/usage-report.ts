/** A usage report: sums from the rollups, and from the few charges that they do not count yet. */
import { USAGE_SUMS, UsageFold, type UsageOutcome, type UsageQuery, type UsageSums } from '../../core/usage-report.ts';
import {
  dimensionColumn,
  filterColumns,
  groupOf,
  isByKey,
  sourcesOf,
  TAIL_MAX,
  type UsagePlace,
} from '../rules/usage-sources.ts';
import { amount, integer, text } from './columns.ts';
import type { Row } from './connection.ts';
import type { Work } from './keys.ts';
import { chargeFacts, TIME_COLUMNS, TIME_COUNTS } from './usage-rollup.ts';

const PLACE = ['start_ms', 'key_id', 'label', 'model', 'provider', 'format'];
const SUMS = USAGE_SUMS.map((name) => `sum(r.${name}) AS ${name}`);
const TAIL = `
  WITH facts AS MATERIALIZED (${chargeFacts('gateway.unrolled')})
  SELECT ${[...PLACE, ...SUMS, ...TIME_COUNTS].join(', ')} FROM facts r GROUP BY ${PLACE.join(', ')}`;
const BEHIND = `
  SELECT EXISTS (SELECT FROM gateway.usage_history) OR
    (SELECT count(*) FROM (SELECT FROM gateway.unrolled LIMIT ${TAIL_MAX + 1}) t) > ${TAIL_MAX} AS far`;

/** The transaction must see one moment (`REPEATABLE READ`). */
export async function usageReport({ query: ask }: Work, query: UsageQuery): Promise<UsageOutcome> {
  const fold = new UsageFold();
  const { sql, values } = rollupQuery(query);
  const rows = await ask(sql, values);
  if (rows.length > query.rowsMax) return { kind: 'too_many_rows' };
  for (const row of rows) if (row.charges !== null) fold.add(groupFrom(query, row), sumsFrom(row), timesFrom(row));
  const [behind] = await ask(BEHIND);
  const catchingUp = behind?.far === true;
  if (!catchingUp) {
    await ask('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
    for (const row of await ask(TAIL)) {
      const group = groupOf(query, placeFrom(row));
      if (group !== null) fold.add(group, sumsFrom(row), timesFrom(row));
    }
  }
  return fold.outcome(query.rowsMax, catchingUp);
}

function rollupQuery(query: UsageQuery): { readonly sql: string; readonly values: readonly (string | number)[] } {
  const values: (string | number)[] = [];
  const given = (value: string | number): string => `$${values.push(value)}`;
  const keyed = isByKey(query);
  const key = keyed ? ['key_id'] : [];
  const columns = [...key, 'start_ms', 'model', 'provider', 'format', ...USAGE_SUMS, ...TIME_COLUMNS].join(', ');
  const from = sourcesOf(query).map(
    ({ table, sinceMs, untilMs }) => `SELECT ${columns} FROM gateway.${table}
      WHERE start_ms >= ${given(sinceMs)} AND start_ms < ${given(untilMs)}`,
  );
  const dimensions = query.by.map((dimension, index) => `${dimensionColumn(dimension)} AS g${index}`);
  const times = TIME_COLUMNS.map((name) => `sum(r.${name}) AS ${name}`);
  const filters = filterColumns(query).map(([column, value]) => `${column} = ${given(value)}`);
  const groups = query.by.map((_, index) => index + 1);
  return {
    sql: `SELECT ${[...dimensions, ...SUMS, ...times].join(', ')} FROM (${from.join(' UNION ALL ')}) r
      ${keyed ? 'LEFT JOIN gateway.accounts k ON k.key_id = r.key_id' : ''}
      ${filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`}
      ${groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')}`} LIMIT ${given(query.rowsMax + 1)}`,
    values,
  };
}

function groupFrom({ by }: UsageQuery, row: Row): readonly (string | number | null)[] {
  return by.map((dimension, index) => {
    const column = `g${index}`;
    if (row[column] === null) return null;
    return dimension === 'day' || dimension === 'hour' ? integer(row, column) : text(row, column);
  });
}

function placeFrom(row: Row): UsagePlace {
  return {
    startMs: integer(row, 'start_ms'),
    keyId: text(row, 'key_id'),
    label: row.label === null ? null : text(row, 'label'),
    model: text(row, 'model'),
    provider: text(row, 'provider'),
    format: text(row, 'format'),
  };
}

function sumsFrom(row: Row): UsageSums {
  return Object.fromEntries(USAGE_SUMS.map((name) => [name, amount(row, name)])) as Record<keyof UsageSums, bigint>;
}

function timesFrom(row: Row): readonly number[] {
  return TIME_COLUMNS.map((name) => (row[name] === null ? 0 : integer(row, name)));
}
