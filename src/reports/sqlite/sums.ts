/** The sums of a rollup in SQL: added up, read, and added to a row. */
import { USAGE_SUMS, type UsageSums } from '../../core/usage-report.ts';
import { amount, type Row, text } from '../../storage/columns.ts';
import { UsageTally } from '../tally.ts';
import { packTimes } from './time-counts.ts';

/** Of the rows `r` of a group, two halves each: the sum of large figures would leave the range of an integer. */
export const SUMS_OF_GROUP = [
  ...USAGE_SUMS.map((name) => `sum(r.${name} >> 31) AS ${name}_high, sum(r.${name} & 2147483647) AS ${name}_low`),
  'sum_times(r.times) AS times',
].join(', ');

/** What is added to a row of a rollup. */
export interface Figures {
  readonly sums: UsageSums;
  readonly times: Uint8Array;
}

export function figuresOf(tally: UsageTally): Figures {
  return { sums: tally.saturated(), times: packTimes(tally.times) };
}

/** In the order of its columns. */
export function valuesOf({ sums, times }: Figures): (bigint | Uint8Array)[] {
  return [...USAGE_SUMS.map((name) => sums[name]), times];
}

export function sumsFrom(row: Row): UsageSums {
  const sum = (name: string): bigint => (amount(row, `${name}_high`) << 31n) + amount(row, `${name}_low`);
  return Object.fromEntries(USAGE_SUMS.map((name) => [name, sum(name)])) as Record<(typeof USAGE_SUMS)[number], bigint>;
}

export function figuresFrom(row: Row): Figures {
  const tally = new UsageTally();
  tally.add(sumsFrom(row), JSON.parse(text(row, 'times')) as number[]);
  return figuresOf(tally);
}

/** Sums stop at what a column can hold instead of failing. */
export function addStatement(table: string, key: readonly string[]): string {
  const columns = [...key, ...USAGE_SUMS, 'times'];
  const sums = USAGE_SUMS.map(
    (name) => `${name} = CASE WHEN ${name} > 9223372036854775807 - excluded.${name} THEN 9223372036854775807
      ELSE ${name} + excluded.${name} END`,
  );
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sums.join(', ')}, times = add_times(times, excluded.times)`;
}
