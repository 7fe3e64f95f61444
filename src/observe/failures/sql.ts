/** The table of counts and what is asked of it, in SQL that both engines read, apart from what their `FailureDialect` says. */
import type { UsageDimension } from '../../core/usage-report.ts';
import { integerOrNull, isNull, type Row, text, textOrNull } from '../../storage/columns.ts';
import { dayColumn } from '../../storage/day-column.ts';
import type { FailedByCondition, FailureCount, FailureQuery, FailureReport } from './store.ts';

/** Its columns, with their types in PostgreSQL. */
export const COLUMNS: readonly { readonly name: string; readonly type: string; readonly of: keyof FailureCount }[] = [
  { name: 'start_ms', type: 'bigint', of: 'startMs' },
  { name: 'key_id', type: 'text', of: 'keyId' },
  { name: 'model', type: 'text', of: 'model' },
  { name: 'provider', type: 'text', of: 'provider' },
  { name: 'format', type: 'text', of: 'format' },
  { name: 'condition', type: 'text', of: 'condition' },
  { name: 'label', type: 'text', of: 'label' },
  { name: 'account_id', type: 'text', of: 'accountId' },
  { name: 'failed', type: 'bigint', of: 'failed' },
];

export const NAMES = COLUMNS.map(({ name }) => name).join(', ');

/** `table`: what the row is called that is there already. */
export function onConflict(table: string): string {
  return `ON CONFLICT (start_ms, key_id, model, provider, format, condition) DO UPDATE SET
    failed = ${table}.failed + excluded.failed, label = excluded.label, account_id = excluded.account_id`;
}

export interface FailureDialect {
  readonly table: string;
  /** An object of the column `condition` and the column `failed`, as text. */
  readonly byCondition: string;
  /** Whether a column is one of several texts. */
  oneOf(column: string, place: string): string;
}

type Value = string | number;

export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

const DIMENSIONS: Readonly<Record<UsageDimension, string>> = {
  day: 'start_ms',
  hour: 'start_ms',
  key: 'key_id',
  label: 'label',
  account: 'account_id',
  model: 'model',
  provider: 'provider',
  format: 'format',
};

type Ask = (statement: Statement) => Promise<readonly Row[]> | readonly Row[];

export async function failureReport(query: FailureQuery, dialect: FailureDialect, ask: Ask): Promise<FailureReport> {
  const { by } = query;
  const rows = await ask(grouped(query, dialect));
  const [total] = by.length === 0 ? rows : await ask(grouped({ ...query, by: [] }, dialect));
  const { sinceMs, untilMs } = query;
  const keyless = { sinceMs, untilMs, by: [], filter: { key: '' }, rowsMax: 1 };
  const [withoutKey] = await ask(grouped(keyless, dialect));
  return {
    rows: rows.flatMap((row) => {
      const failed = conditionsIn(row);
      return Object.keys(failed).length === 0 ? [] : [{ group: groupIn(by, row), failed }];
    }),
    total: conditionsIn(total),
    withoutKey: conditionsIn(withoutKey),
  };
}

function grouped(query: FailureQuery, { table, byCondition, oneOf }: FailureDialect): Statement {
  const { by, filter, keys, sinceMs, untilMs, rowsMax, offsets } = query;
  const column = (dimension: UsageDimension): string =>
    dimension === 'day' ? dayColumn(DIMENSIONS.day, offsets) : DIMENSIONS[dimension];
  const values: Value[] = [];
  const given = (value: Value): string => `$${values.push(value)}`;
  const filters = [`start_ms >= ${given(sinceMs)}`, `start_ms < ${given(untilMs)}`];
  if (filter.key === undefined) filters.push(`key_id <> ''`);
  for (const [name, wanted] of Object.entries(filter)) {
    if (wanted !== undefined) filters.push(`${DIMENSIONS[name as UsageDimension]} = ${given(wanted)}`);
  }
  if (keys !== undefined) filters.push(oneOf('key_id', given(JSON.stringify([...keys]))));
  const places = by.map((_, index) => `d${index}`);
  const dimensions = by.map((dimension, index) => `${column(dimension)} AS d${index}, `).join('');
  const inGroups = [...by.map((_, index) => String(index + 1)), 'condition'].join(', ');
  return {
    sql: `SELECT ${places.map((place) => `${place}, `).join('')}${byCondition} AS conditions FROM (
        SELECT ${dimensions}condition, sum(failed) AS failed FROM ${table}
        WHERE ${filters.join(' AND ')} GROUP BY ${inGroups}) f
      ${by.length === 0 ? '' : `GROUP BY ${places.join(', ')}`} ORDER BY sum(failed) DESC LIMIT ${given(rowsMax)}`,
    values,
  };
}

function conditionsIn(row: Row | undefined): FailedByCondition {
  if (row === undefined || isNull(row, 'conditions')) return {};
  return JSON.parse(text(row, 'conditions')) as FailedByCondition;
}

function groupIn(by: readonly UsageDimension[], row: Row): (string | number | null)[] {
  return by.map((dimension, index) => {
    const column = `d${index}`;
    return dimension === 'day' || dimension === 'hour' ? integerOrNull(row, column) : textOrNull(row, column);
  });
}
