/** What the overview shows: by what, and of what. */
import type { UsageFigures } from '../../api/usage.ts';

export type Dimension = 'model' | 'provider' | 'key' | 'account' | 'customer' | 'format';
export const DIMENSIONS: readonly { value: Dimension; label: string }[] = [
  { value: 'model', label: 'by model' },
  { value: 'customer', label: 'by customer' },
  { value: 'account', label: 'by account' },
  { value: 'key', label: 'by key' },
  { value: 'provider', label: 'by provider' },
  { value: 'format', label: 'by format' },
];

/** A customer is an account with everything below it. */
export function fieldOf(by: Dimension): Exclude<Dimension, 'customer'> {
  return by === 'customer' ? 'account' : by;
}

export function dimensionOf(by: Dimension): { by: string; level?: number } {
  return by === 'customer' ? { by: 'account', level: 1 } : { by };
}

export type Measure = 'cost' | 'requests' | 'tokens' | 'failed';
export const MEASURES: readonly { value: Measure; label: string }[] = [
  { value: 'cost', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
  { value: 'failed', label: 'Failures' },
];

export function tokensIn(row: UsageFigures): number {
  return row.input_tokens + row.cache_read_tokens + row.cache_write_tokens + row.cache_write_1h_tokens;
}

/** Whatever became of them. */
export function allRequests(row: UsageFigures): number {
  return row.requests + row.cancelled + row.failed;
}

export function measured(row: UsageFigures, measure: Measure): number {
  if (measure === 'cost') return row.cost;
  if (measure === 'failed') return row.failed + row.broken;
  return measure === 'requests' ? allRequests(row) : tokensIn(row) + row.output_tokens;
}

/** What requests failed with, most of it first. */
export function conditionsOf({ failed_by_condition: by }: Pick<UsageFigures, 'failed_by_condition'>) {
  return Object.entries(by)
    .map(([condition, failed]) => ({ condition, failed }))
    .sort((a, b) => b.failed - a.failed);
}

/** The requests of a figure: from when to when, and of what the figures are. */
export type LinkRange = Readonly<Record<string, string>> & { readonly since: string; readonly until?: string };

export function failedHref(range: LinkRange, condition = 'any'): string {
  return `/requests?${new URLSearchParams({ ...range, condition })}`;
}

/** The requests behind a figure. Those of an account are of its own keys: accounts below it have rows of their own. */
export function requestsHref(by: Dimension | null, value: string | null, range: LinkRange): string {
  const parameters = new URLSearchParams(range);
  if (by === 'account' || by === 'customer') {
    parameters.set('account', value ?? 'none');
    if (by === 'account') parameters.set('below', 'no');
  } else if (by !== null && value !== null) parameters.set(by, value);
  return `/requests?${parameters}`;
}

/** A row of the table leads to its requests; that of a customer to its teams. */
export function rowHref(
  by: Dimension,
  value: string | null,
  range: LinkRange,
  filters: Readonly<Record<string, string>>,
): string {
  if (by !== 'customer' || value === null) return requestsHref(by, value, range);
  return `/?${new URLSearchParams({ ...filters, by: 'account', account: value })}`;
}
