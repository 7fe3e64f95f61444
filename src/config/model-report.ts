/** Where the price and limits of each model come from, for `gateway models` and docs/models.md. */
import type { Model, Source } from '../core/model.ts';

/** One model as `gateway models --json` prints it. */
export interface ModelReportRow {
  readonly id: string;
  readonly provider: string;
  readonly price: ReportedFigure<Readonly<Record<string, number>>>;
  readonly context_window: ReportedFigure<number | null>;
  readonly max_output_tokens: ReportedFigure<number | null>;
}

export interface ReportedFigure<Value> {
  readonly value: Value;
  /** `configured`, `listed` by the provider, `published` by others, or `assumed` because nobody says. */
  readonly source: Source['kind'];
  readonly from: string;
  /** `YYYY-MM-DD`; null where the figure has no date of its own. */
  readonly date: string | null;
}

export function modelReport(models: Iterable<Model>): ModelReportRow[] {
  const figure = <Value>(value: Value, { kind, name, date }: Source): ReportedFigure<Value> => ({
    value,
    source: kind,
    from: name,
    date,
  });
  return [...models].map(({ id, provider, publishedPricing, contextWindow, maxOutputTokens, sources }) => ({
    id,
    provider,
    price: figure(publishedPricing, sources.pricing),
    context_window: figure(contextWindow, sources.contextWindow),
    max_output_tokens: figure(maxOutputTokens, sources.maxOutputTokens),
  }));
}

export const REPORT_HEADINGS = ['MODEL', 'USD IN / OUT', 'FROM', 'WINDOW', 'FROM', 'OUTPUT', 'FROM'] as const;

/** The cells under the headings. */
export function reportCells({ id, price, context_window, max_output_tokens }: ModelReportRow): string[] {
  const { input = 0, output = 0 } = price.value;
  return [
    id,
    input === 0 && output === 0 ? 'free' : `${input} / ${output}`,
    origin(price),
    String(context_window.value ?? 'unknown'),
    origin(context_window),
    String(max_output_tokens.value ?? 'unknown'),
    origin(max_output_tokens),
  ];
}

function origin({ source, from, date }: ReportedFigure<unknown>): string {
  if (source === 'assumed') return from === 'unknown' ? '-' : 'a guess';
  return date === null ? from : `${from}, ${date}`;
}
