/** Where the price and limits of each model come from, for `gateway models` and docs/connect/models.md. */
import type { Model, Source } from '../core/model.ts';

/** One model as `gateway models --json` prints it. */
export interface ModelReportRow {
  readonly id: string;
  readonly provider: string;
  /** The model that it is an alias of, and the pattern that it comes from; null where it is named by itself. */
  readonly alias_of: string | null;
  readonly pattern: string | null;
  /** Where requests go, in order: the provider and the model's name there. */
  readonly resolves_to: readonly string[];
  /** Parameters of requests that do not name them. */
  readonly defaults: Readonly<Record<string, unknown>> | null;
  readonly price: ReportedFigure<Readonly<Record<string, number>>>;
  readonly context_window: ReportedFigure<number | null>;
  readonly max_output_tokens: ReportedFigure<number | null>;
}

interface ReportedFigure<Value> {
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
  return [...models].map((model) => ({
    id: model.id,
    provider: model.provider,
    alias_of: model.origin?.kind === 'alias' ? model.origin.of : null,
    pattern: model.origin?.kind === 'pattern' ? model.origin.of : null,
    resolves_to: [...new Set(model.targets.map(({ provider, upstreamModel }) => `${provider} ${upstreamModel}`))],
    defaults: model.defaults && { ...model.defaults },
    price: figure(model.publishedPricing, model.sources.pricing),
    context_window: figure(model.contextWindow, model.sources.contextWindow),
    max_output_tokens: figure(model.maxOutputTokens, model.sources.maxOutputTokens),
  }));
}

export const REPORT_HEADINGS: readonly string[] = [
  'MODEL',
  'USD IN / OUT',
  'FROM',
  'WINDOW',
  'FROM',
  'OUTPUT',
  'FROM',
  'RESOLVES TO',
];

/** The cells under the headings. */
export function reportCells(row: ModelReportRow): string[] {
  const { id, price, context_window, max_output_tokens } = row;
  const { input = 0, output = 0 } = price.value;
  return [
    id,
    input === 0 && output === 0 ? 'free' : `${input} / ${output}`,
    origin(price),
    String(context_window.value ?? 'unknown'),
    origin(context_window),
    String(max_output_tokens.value ?? 'unknown'),
    origin(max_output_tokens),
    resolution(row),
  ];
}

function resolution({ alias_of, pattern, resolves_to }: ModelReportRow): string {
  const targets = resolves_to.join(', ');
  if (alias_of !== null) return `${targets} (alias of ${alias_of})`;
  return pattern === null ? targets : `${targets} (${pattern})`;
}

function origin({ source, from, date }: ReportedFigure<unknown>): string {
  if (source === 'assumed') return from === 'unknown' ? '-' : 'a guess';
  return date === null ? from : `${from}, ${date}`;
}
