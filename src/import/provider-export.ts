/** Usage and cost exports of providers, as their consoles write them: what they counted by day and model. */
import { parseCredits } from '../core/money.ts';
import { isoDay } from '../core/time.ts';
import { type CsvFile, type CsvRow, oneOf, wrongCsv } from './csv-file.ts';

export const EXPORT_FORMATS = ['openai', 'anthropic'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What one side counted for a model on a day; undefined where it does not say. */
export interface Counted {
  readonly requests?: bigint;
  readonly input_tokens?: bigint;
  readonly cache_read_tokens?: bigint;
  readonly cache_write_tokens?: bigint;
  readonly output_tokens?: bigint;
  /** Billionths of a dollar. */
  readonly cost?: bigint;
}

export const MEASURES = [
  'requests',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'cost',
] as const satisfies readonly (keyof Counted)[];

interface ExportRow {
  readonly day: string;
  /** As the provider calls it; empty for costs that it does not tell by model. */
  readonly model: string;
  readonly counted: Counted;
}

/** Which measures it has is seen from its header: a usage export has tokens, a cost export has money. */
export function readExport(format: ExportFormat, file: CsvFile): readonly ExportRow[] {
  return format === 'openai' ? readOpenAi(file) : readAnthropic(file);
}

/** `completions_usage_….csv` and `cost_….csv` of the usage page. Its input includes what was read from the cache. */
function readOpenAi(file: CsvFile): readonly ExportRow[] {
  const time = oneOf(file, ['start_time_iso', 'start_time', 'date'], 'the day');
  if (file.columns.includes('amount_value')) {
    const model = oneOf(file, ['line_item'], 'the model');
    return present(file, 'amount_value').map((row) => ({
      day: dayOf(file, row, time),
      // Like "gpt-4o-mini-2024-07-18, input".
      model: (row.cell(model).split(',')[0] ?? '').trim(),
      counted: { cost: money(file, row, 'amount_value') },
    }));
  }
  const model = oneOf(file, ['model'], 'the model');
  const input = oneOf(file, ['input_tokens'], 'the input');
  const output = oneOf(file, ['output_tokens'], 'the output');
  return present(file, model).map((row) => ({
    day: dayOf(file, row, time),
    model: row.cell(model),
    counted: {
      ...(file.columns.includes('num_model_requests') && { requests: whole(file, row, 'num_model_requests') }),
      input_tokens: whole(file, row, input),
      ...(file.columns.includes('input_cached_tokens') && {
        cache_read_tokens: whole(file, row, 'input_cached_tokens'),
      }),
      output_tokens: whole(file, row, output),
    },
  }));
}

/** The exports of the usage page and of the cost page. Its input is what was neither read from the cache nor written to it. */
function readAnthropic(file: CsvFile): readonly ExportRow[] {
  const time = oneOf(file, ['usage_date_utc', 'date'], 'the day');
  const model = oneOf(file, ['model_version', 'model'], 'the model');
  if (file.columns.includes('cost_usd')) {
    return present(file, 'cost_usd').map((row) => ({
      day: dayOf(file, row, time),
      model: row.cell(model),
      counted: { cost: money(file, row, 'cost_usd') },
    }));
  }
  const output = oneOf(file, ['usage_output_tokens'], 'the output');
  const fresh = oneOf(file, ['usage_input_tokens_no_cache'], 'the input');
  const sum = (row: CsvRow, columns: readonly string[]): bigint =>
    columns
      .filter((column) => file.columns.includes(column))
      .reduce((total, column) => total + whole(file, row, column), 0n);
  return present(file, model).map((row) => {
    const read = sum(row, ['usage_input_tokens_cache_read']);
    const written = sum(row, [
      'usage_input_tokens_cache_write',
      'usage_input_tokens_cache_write_5m',
      'usage_input_tokens_cache_write_1h',
    ]);
    return {
      day: dayOf(file, row, time),
      model: row.cell(model),
      counted: {
        input_tokens: whole(file, row, fresh) + read + written,
        cache_read_tokens: read,
        cache_write_tokens: written,
        output_tokens: whole(file, row, output),
      },
    };
  });
}

/** Days without anything have a line with nothing in it. */
function present({ rows }: CsvFile, column: string): readonly CsvRow[] {
  return rows.filter((row) => row.cell(column) !== '');
}

/** Of a date, a time, or seconds since 1970. */
function dayOf(file: CsvFile, row: CsvRow, column: string): string {
  const text = row.cell(column);
  const atMs = /^\d{9,11}$/.test(text)
    ? Number(text) * 1_000
    : /^\d{4}-\d{2}-\d{2}/.test(text)
      ? Date.parse(text)
      : Number.NaN;
  if (!Number.isNaN(atMs)) return isoDay(atMs);
  throw wrongCsv(file.name, row.line, `${column} is ${JSON.stringify(text)}: expected a date like 2026-10-01`);
}

function whole(file: CsvFile, row: CsvRow, column: string): bigint {
  const text = row.cell(column);
  if (/^\d{0,18}(\.0+)?$/.test(text)) return BigInt(text.split('.')[0] || '0');
  throw wrongCsv(file.name, row.line, `${column} is ${JSON.stringify(text)}: expected a whole number`);
}

function money(file: CsvFile, row: CsvRow, column: string): bigint {
  const text = row.cell(column);
  const [, minus = '', amount = '', decimals = '', exponent] =
    /^(-?)\$?(\d{1,12})(?:\.(\d+))?(?:e(-?\d{1,2}))?$/i.exec(text) ?? [];
  if (amount === '')
    throw wrongCsv(file.name, row.line, `${column} is ${JSON.stringify(text)}: expected an amount of dollars`);
  const plain =
    exponent === undefined ? `${amount}.${decimals}` : Number(text.replace('$', '').replace('-', '')).toFixed(12);
  const [units = '0', rest = ''] = plain.split('.');
  // Beyond a billionth of a dollar nothing is compared.
  const nanos = parseCredits(`${units}.${rest.slice(0, 9).padEnd(9, '0')}`);
  return minus === '' ? nanos : -nanos;
}
