/** A usage report: sums from the rollups, and from the few charges that they do not count yet. */
import { inOrder, USAGE_SUMS, type UsageOutcome, type UsageQuery, type UsageSums } from '../../core/usage-report.ts';
import { type Row, text } from '../../storage/columns.ts';
import type { Query } from '../../storage/postgres/connection.ts';
import { dimensionColumn, filterColumns, groupFrom, isByKey, sourcesOf, TAIL_MAX } from '../sources.ts';
import { UsageFold } from '../tally.ts';
import { rankedDimensions, ranksGroups, TopGroups } from '../top.ts';
import { batchFacts, chargeFacts, TIME_COLUMNS, TIME_COUNTS } from './rollup.ts';

const BEHIND = `
  SELECT EXISTS (SELECT FROM gateway.usage_history) OR
    (SELECT count(*) FROM (SELECT FROM gateway.unrolled LIMIT ${TAIL_MAX + 1}) t)
      + (SELECT coalesce(sum(charges), 0) FROM (SELECT charges FROM gateway.unrolled_batches LIMIT ${TAIL_MAX + 1}) b)
    > ${TAIL_MAX} AS far`;
/** Groups that a ranking looks at. */
const RANKED_MAX = 10_000_000;
/** One column for all of them: a driver needs its time for each. */
const SUMS = `ARRAY[${USAGE_SUMS.map((name) => `sum(r.${name})`).join(', ')}]::text AS sums`;

/** The transaction must see one moment (`REPEATABLE READ`). */
export async function usageReport(ask: Query, query: UsageQuery): Promise<UsageOutcome> {
  if (query.top === undefined || !ranksGroups(query)) return fullReport(ask, query, null);
  const by = rankedDimensions(query.by);
  const ranked = await fullReport(ask, { ...query, by, rowsMax: RANKED_MAX }, null);
  if (ranked.kind !== 'usage') return ranked;
  const { count, order } = query.top;
  const top = new TopGroups(
    by,
    count,
    ranked.rows.map(({ group, sums }) => ({ group, value: inOrder(order, sums) })),
  );
  if (by.length === query.by.length) return top.of(query, ranked);
  const report = await fullReport(ask, query, top);
  return report.kind === 'usage' ? { ...top.of(query, report), total: ranked.total } : report;
}

async function fullReport(ask: Query, query: UsageQuery, top: TopGroups | null): Promise<UsageOutcome> {
  const fold = new UsageFold();
  const add = (rows: readonly Row[]): void => {
    for (const row of rows) {
      // Without a dimension there is a row even where there is nothing to add up.
      const [charges, ...sums] = numbers(row, 'sums');
      if (charges !== undefined && charges !== '0') {
        fold.add(groupFrom(query, row), sumsFrom([charges, ...sums]), numbers(row, 'times').map(Number));
      }
    }
  };
  const rollups = rollupQuery(query, top);
  const rows = await ask(rollups.sql, rollups.values);
  if (rows.length > query.rowsMax) return { kind: 'too_many_rows' };
  add(rows);
  const [behind] = await ask(BEHIND);
  const catchingUp = behind?.far === true;
  if (!catchingUp) {
    const tail = tailQuery(query, top);
    await ask('SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
    add(await ask(tail.sql, tail.values));
  }
  return fold.outcome(query.rowsMax, catchingUp);
}

interface Statement {
  readonly sql: string;
  readonly values: readonly Given[];
}

function rollupQuery(query: UsageQuery, top: TopGroups | null): Statement {
  const key = isByKey(query) ? ['key_id'] : [];
  const columns = [...key, 'start_ms', 'model', 'provider', 'format', ...USAGE_SUMS, ...TIME_COLUMNS].join(', ');
  const times = TIME_COLUMNS.map((name) => `sum(r.${name})`);
  return grouped(query, top, times, (given) =>
    sourcesOf(query)
      .map(
        ({ table, sinceMs, untilMs }) => `SELECT ${columns} FROM gateway.${table}
          WHERE start_ms >= ${given(sinceMs)} AND start_ms < ${given(untilMs)}`,
      )
      .join(' UNION ALL '),
  );
}

/** The charges that no rollup counts. */
function tailQuery(query: UsageQuery, top: TopGroups | null): Statement {
  const { sinceMs, untilMs } = query;
  return grouped(query, top, TIME_COUNTS, (given) => {
    const [since, until] = [given(sinceMs), given(untilMs)];
    const within = (row: string) => `${row}.at_ms >= ${since} AND ${row}.at_ms < ${until}`;
    return `${batchFacts('gateway.unrolled_batches', within('b'))} UNION ALL ${chargeFacts('gateway.unrolled', within('e'))}`;
  });
}

type Given = string | number | readonly string[];
/** Names a value of the statement. */
type Name = (value: Given) => string;

function grouped(
  query: UsageQuery,
  top: TopGroups | null,
  times: readonly string[],
  from: (given: Name) => string,
): Statement {
  const values: Given[] = [];
  const given: Name = (value) => `$${values.push(value)}`;
  const dimensions = query.by.map((dimension, index) => `${dimensionColumn(query, dimension)} AS d${index}, `);
  const source = from(given);
  const filters = filterColumns(query).map(([column, value]) => `${column} = ${given(value)}`);
  if (query.keys !== undefined) filters.push(`r.key_id = ANY (${given([...query.keys])})`);
  for (const dimension of rankedDimensions(query.by)) {
    const values = top?.valuesOf(dimension);
    if (values !== undefined)
      filters.push(`coalesce(${dimensionColumn(query, dimension)}, '') = ANY (${given(values)})`);
  }
  return {
    sql: `SELECT ${dimensions.join('')}${SUMS}, ARRAY[${times.join(', ')}]::text AS times FROM (${source}) r
      ${isByKey(query) ? 'LEFT JOIN gateway.accounts k ON k.key_id = r.key_id' : ''}
      ${filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`}
      ${query.by.length === 0 ? '' : `GROUP BY ${query.by.map((_, index) => index + 1).join(', ')}`}
      LIMIT ${given(query.rowsMax + 1)}`,
    values,
  };
}

/** An array of numbers as PostgreSQL writes it; nothing counts as 0. */
function numbers(row: Row, column: string): readonly string[] {
  return text(row, column)
    .slice(1, -1)
    .split(',')
    .map((number) => (number === 'NULL' ? '0' : number));
}

function sumsFrom(values: readonly string[]): UsageSums {
  return Object.fromEntries(USAGE_SUMS.map((name, index) => [name, BigInt(values[index] ?? 0)])) as Record<
    keyof UsageSums,
    bigint
  >;
}
