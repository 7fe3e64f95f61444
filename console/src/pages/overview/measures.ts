/** What the overview shows: by what, and of what. */
import type { UsageFigures } from '../../api/usage.ts';

export type Dimension = 'model' | 'provider' | 'key' | 'account' | 'format';
export const DIMENSIONS: readonly { value: Dimension; label: string }[] = [
  { value: 'model', label: 'by model' },
  { value: 'account', label: 'by account' },
  { value: 'key', label: 'by key' },
  { value: 'provider', label: 'by provider' },
  { value: 'format', label: 'by format' },
];

export type Measure = 'cost' | 'requests' | 'tokens';
export const MEASURES: readonly { value: Measure; label: string }[] = [
  { value: 'cost', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
];

export function tokensIn(row: UsageFigures): number {
  return row.input_tokens + row.cache_read_tokens + row.cache_write_tokens + row.cache_write_1h_tokens;
}

export function measured(row: UsageFigures, measure: Measure): number {
  if (measure === 'cost') return row.cost;
  return measure === 'requests' ? row.requests + row.cancelled : tokensIn(row) + row.output_tokens;
}

/** The requests behind a figure. Those of an account are of its own keys: accounts below it have rows of their own. */
export function requestsHref(by: Dimension, value: string | null, range: { since: string; until?: string }): string {
  const parameters = new URLSearchParams(range);
  if (by === 'account') {
    parameters.set('account', value ?? 'none');
    parameters.set('below', 'no');
  } else if (value !== null) parameters.set(by, value);
  return `/requests?${parameters}`;
}
