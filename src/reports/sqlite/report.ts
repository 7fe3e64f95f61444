/** A usage report: sums from the rollups, and from the few charges that they do not count yet. */
import { USAGE_SUMS, type UsageOutcome, type UsageQuery } from '../../core/usage-report.ts';
import { integer, text } from '../../storage/columns.ts';
import { groupFrom, groupOf, TAIL_MAX } from '../sources.ts';
import { UsageFold } from '../tally.ts';
import { rankedDimensions, ranksGroups, type TopGroups } from '../top.ts';
import { topGroups } from './ranking.ts';
import type { Tallied } from './rollup.ts';
import { rollupQuery } from './rollup-query.ts';
import type { ColdStatements } from './statements.ts';
import { SUMS_OF_GROUP, sumsFrom } from './sums.ts';
import { UsageTail } from './tail.ts';

/** In a transaction, so that rollups and charges are of one moment. `kept`: of the connection, where it reads what is committed. */
export function usageReport(sql: ColdStatements, query: UsageQuery, kept = new UsageTail()): UsageOutcome {
  const catchingUp = isFarBehind(sql);
  const tail = catchingUp ? [] : kept.read(sql, query);
  if (query.top === undefined || !ranksGroups(query)) return fullReport(sql, query, tail, catchingUp, null);
  const top = topGroups(sql, { ...query, by: rankedDimensions(query.by) }, query.top, tail);
  const report = fullReport(sql, query, tail, catchingUp, top);
  const all = fullReport(sql, { ...query, by: [] }, tail, catchingUp, null);
  if (report.kind !== 'usage' || all.kind !== 'usage') return report;
  return { ...top.of(query, report), total: all.total };
}

const COLUMNS = [...USAGE_SUMS, 'times'];

function fullReport(
  sql: ColdStatements,
  query: UsageQuery,
  tail: readonly Tallied[],
  catchingUp: boolean,
  top: TopGroups | null,
): UsageOutcome {
  const fold = new UsageFold();
  const { text: statement, values } = rollupQuery(sql, query, { columns: COLUMNS, sums: SUMS_OF_GROUP, top });
  const rows = sql(statement).all(...values, query.rowsMax + 1);
  if (rows.length > query.rowsMax) return { kind: 'too_many_rows' };
  for (const row of rows) {
    // Without a dimension there is a row even where there is nothing to add up.
    if (row.charges_low === null) continue;
    fold.add(groupFrom(query, row), sumsFrom(row), JSON.parse(text(row, 'times')) as number[]);
  }
  for (const { place, tally } of tail) {
    const group = groupOf(query, place);
    if (group !== null && (top === null || top.placeOf(query.by, group) !== null)) {
      fold.add(group, tally.sums, tally.times);
    }
  }
  return fold.outcome(query.rowsMax, catchingUp);
}

/** Numbers have no large gaps, so that the two ends tell how many there are. */
function isFarBehind(sql: ColdStatements): boolean {
  const row = sql(`SELECT (SELECT coalesce(max(number), 0) FROM usage) - w.number AS records,
    (SELECT count(*) FROM unrolled) AS others FROM usage_watermark w`).get();
  return row !== undefined && integer(row, 'records') + integer(row, 'others') > TAIL_MAX;
}
