/** A usage report as a table for the terminal, and as CSV for a spreadsheet. */

import { csvText } from '../admin/csv.ts';
import type { UsageFiguresView, UsageView } from '../admin/usage/schema.ts';
import { table } from '../lib/text-table.ts';
import { amount } from './text.ts';

interface Column {
  readonly title: string;
  cell(figures: UsageFiguresView): string;
}

const TABLE: readonly Column[] = [
  { title: 'REQUESTS', cell: ({ requests }) => String(requests) },
  { title: 'CANCELLED', cell: ({ cancelled }) => String(cancelled) },
  { title: 'BROKEN', cell: ({ broken }) => String(broken) },
  { title: 'FAILED', cell: ({ failed }) => String(failed) },
  { title: 'ERROR RATE', cell: ({ error_rate }) => `${(error_rate * 100).toFixed(1)} %` },
  { title: 'INPUT', cell: (row) => String(row.input_tokens + row.cache_read_tokens + cacheWrites(row)) },
  { title: 'OUTPUT', cell: (row) => String(row.output_tokens) },
  { title: 'COST', cell: ({ cost }) => cost.toFixed(4) },
  { title: 'PROVIDER COST', cell: (row) => (row.provider_cost ?? 0).toFixed(4) },
  { title: 'MARGIN', cell: ({ margin }) => (margin ?? 0).toFixed(4) },
  { title: 'FIRST BYTE P50/P95', cell: (row) => times(row.first_byte_ms) },
  { title: 'DURATION P50/P95', cell: (row) => times(row.duration_ms) },
];

const CSV: readonly Column[] = [
  ...(['requests', 'cancelled', 'broken', 'failed'] as const).map(plain),
  { title: 'error_rate', cell: ({ error_rate }) => String(error_rate) },
  { title: 'failed_by_condition', cell: (row) => csvText(conditions(row).join('; ')) },
  ...(['cost', 'provider_cost', 'margin', 'charged_credits'] as const).map((name) => ({
    title: name,
    cell: (row: UsageFiguresView) => amount(row[name] ?? 0),
  })),
  ...(['charged_tokens', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const).map(plain),
  ...(['cache_write_1h_tokens', 'output_tokens', 'reasoning_tokens'] as const).map(plain),
  ...(['first_byte_ms', 'duration_ms'] as const).flatMap((name) =>
    (['p50', 'p95', 'p99'] as const).map((percentile) => ({
      title: `${name}_${percentile}`,
      cell: (row: UsageFiguresView) => String(row[name]?.[percentile] ?? ''),
    })),
  ),
];

const INCOMPLETE =
  'Not complete: older charges are still being added to the report, or failed requests cannot be read. Try again in a few minutes.';

export function usageTable(report: UsageView): readonly string[] {
  const { by, data, total, since, until, time_zone } = report;
  const days = time_zone === 'UTC' ? '' : `, days of ${time_zone}`;
  const range = `Usage from ${since} to ${until}${days}, in credits:`;
  const notes = [...failureNotes(report), ...(report.complete ? [] : ['', INCOMPLETE])];
  if (data.length === 0) return [range, '', 'There were no requests in this time.', ...notes];
  const texts = textColumns(by);
  const rows = [
    [...texts.map((name) => name.toUpperCase().replace('_', ' ')), ...TABLE.map(({ title }) => title)],
    ...data.map((row) => [...texts.map((name) => oneLine(row[name] ?? '-')), ...TABLE.map(({ cell }) => cell(row))]),
    ...(data.length > 1
      ? [[...texts.map((_, index) => (index === 0 ? 'total' : '')), ...TABLE.map(({ cell }) => cell(total))]]
      : []),
  ];
  return [range, '', ...table(rows, texts.length), ...notes];
}

/** What failed, most of it first, and where to look at it. */
function failureNotes({ total, without_key, since }: UsageView): readonly string[] {
  const [first] = conditions(total);
  const condition = first?.split('=')[0] ?? '';
  return [
    ...(first === undefined
      ? []
      : [
          '',
          `Failed: ${conditions(total).join(', ')}.`,
          `See them: gateway requests list --condition ${condition} --since ${since}`,
        ]),
    ...(without_key.failed === 0
      ? []
      : ['', `Beside them, requests without a known key: ${conditions(without_key).join(', ')}.`]),
  ];
}

function conditions({ failed_by_condition: by }: Pick<UsageFiguresView, 'failed_by_condition'>): readonly string[] {
  return Object.entries(by)
    .sort((a, b) => b[1] - a[1])
    .map(([name, failed]) => `${name}=${failed}`);
}

/** Without the total, which a spreadsheet makes itself; the line that it is not complete goes with the errors. */
export function usageCsv(report: UsageView): { readonly lines: readonly string[]; readonly warning: string | null } {
  const texts = textColumns(report.by);
  const lines = [
    [...texts, ...CSV.map(({ title }) => title)],
    ...report.data.map((row) => [
      ...texts.map((name) => csvText(row[name] ?? '')),
      ...CSV.map(({ cell }) => cell(row)),
    ]),
  ];
  return { lines: lines.map((cells) => cells.join(',')), warning: report.complete ? null : INCOMPLETE };
}

/** What a row is about. An account has its id, which other commands take, and what it is called. */
function textColumns(by: UsageView['by']): readonly (UsageView['by'][number] | 'account_name')[] {
  return by.flatMap((dimension) => (dimension === 'account' ? [dimension, 'account_name'] : [dimension]));
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
}

function plain(
  name: 'requests' | 'cancelled' | 'broken' | 'failed' | (`${string}_tokens` & keyof UsageFiguresView),
): Column {
  return { title: name, cell: (row) => String(row[name]) };
}

function cacheWrites(row: UsageFiguresView): number {
  return row.cache_write_tokens + row.cache_write_1h_tokens;
}

function times(percentiles: UsageFiguresView['first_byte_ms']): string {
  return percentiles === null ? '-' : `${seconds(percentiles.p50)}/${seconds(percentiles.p95)} s`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}
