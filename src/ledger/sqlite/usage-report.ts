/** A usage report: sums from the rollups, and from the few charges that they do not count yet. */
import { USAGE_SUMS, UsageFold, type UsageOutcome, type UsageQuery, type UsageSums } from '../../core/usage-report.ts';
import { dimensionColumn, filterColumns, groupOf, isByKey, sourcesOf, TAIL_MAX } from '../rules/usage-sources.ts';
import { amount, integer, type Row, text } from './columns.ts';
import type { ColdStatements } from './statements.ts';
import { type ChargeFact, chargesWithoutRecord, chargesWithRecord, readWatermark } from './usage-rollup.ts';

/** In a transaction, so that rollups and charges are of one moment. */
export function usageReport(sql: ColdStatements, query: UsageQuery): UsageOutcome {
  const fold = new UsageFold();
  const { text: statement, values } = rollupQuery(query);
  const rows = sql(statement).all(...values);
  if (rows.length > query.rowsMax) return { kind: 'too_many_rows' };
  for (const row of rows) {
    // Without a dimension there is a row even where there is nothing to add up.
    if (row.charges_low === null) continue;
    fold.add(groupFrom(query, row), sumsFrom(row), JSON.parse(text(row, 'times')) as number[]);
  }
  const catchingUp = isFarBehind(sql);
  if (!catchingUp) for (const fact of unrolledCharges(sql)) addFact(fold, query, fact);
  return fold.outcome(query.rowsMax, catchingUp);
}

function* unrolledCharges(sql: ColdStatements): Generator<ChargeFact> {
  yield* chargesWithRecord(sql, readWatermark(sql).number, Number.MAX_SAFE_INTEGER);
  yield* chargesWithoutRecord(sql, Number.MAX_SAFE_INTEGER);
}

function addFact(fold: UsageFold, query: UsageQuery, fact: ChargeFact): void {
  const group = groupOf(query, fact.place);
  if (group !== null) fold.addCharge(group, fact.sums, fact.firstByteMs, fact.durationMs);
}

/** Numbers have no large gaps, so that the two ends tell how many there are. */
function isFarBehind(sql: ColdStatements): boolean {
  const row = sql(`SELECT (SELECT coalesce(max(number), 0) FROM usage) - w.number AS records,
    (SELECT count(*) FROM unrolled) AS others FROM usage_watermark w`).get();
  return row !== undefined && integer(row, 'records') + integer(row, 'others') > TAIL_MAX;
}

function rollupQuery(query: UsageQuery): { readonly text: string; readonly values: readonly (string | number)[] } {
  const keyed = isByKey(query);
  const columns = [...(keyed ? ['key_id'] : []), 'start_ms', 'model', 'provider', 'format', ...USAGE_SUMS, 'times'];
  const sources = sourcesOf(query);
  const filters: (readonly [condition: string, value: string])[] = filterColumns(query).map(([column, value]) => [
    `${column} = ?`,
    value,
  ]);
  if (query.keys !== undefined) {
    filters.push(['r.key_id IN (SELECT value FROM json_each(?))', JSON.stringify([...query.keys])]);
  }
  const dimensions = query.by.map((dimension, index) => `${dimensionColumn(dimension)} AS d${index}, `);
  // Two halves each: the sum of large figures would leave the range of an integer.
  const sums = USAGE_SUMS.map(
    (name) => `sum(r.${name} >> 31) AS ${name}_high, sum(r.${name} & 2147483647) AS ${name}_low`,
  );
  const from = sources.map(
    ({ table }) => `SELECT ${columns.join(', ')} FROM ${table} WHERE start_ms >= ? AND start_ms < ?`,
  );
  return {
    text: `SELECT ${dimensions.join('')}${sums.join(', ')}, sum_times(times) AS times
      FROM (${from.join(' UNION ALL ')}) r ${keyed ? 'LEFT JOIN keys k ON k.id = r.key_id' : ''}
      ${filters.length === 0 ? '' : `WHERE ${filters.map(([condition]) => condition).join(' AND ')}`}
      ${query.by.length === 0 ? '' : `GROUP BY ${query.by.map((_, index) => `d${index}`).join(', ')}`}
      LIMIT ?`,
    values: [
      ...sources.flatMap(({ sinceMs, untilMs }) => [sinceMs, untilMs]),
      ...filters.map(([, value]) => value),
      query.rowsMax + 1,
    ],
  };
}

function groupFrom({ by }: UsageQuery, row: Row): readonly (string | number | null)[] {
  return by.map((_, index) => {
    const value = row[`d${index}`];
    return typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? value : null;
  });
}

function sumsFrom(row: Row): UsageSums {
  const sum = (name: string): bigint => (amount(row, `${name}_high`) << 31n) + amount(row, `${name}_low`);
  return Object.fromEntries(USAGE_SUMS.map((name) => [name, sum(name)])) as Record<(typeof USAGE_SUMS)[number], bigint>;
}
