/** The conditions of a search, in SQL that both engines read, apart from what their `Dialect` says. */
import { ATTEMPT, RECORD } from './record.ts';
import type { RequestQuery } from './store.ts';

export interface Dialect {
  /** Where a text has another one in it: 0 where it has not. */
  readonly placeIn: string;
  /** The column `detail` as JSON. */
  readonly detail: string;
  /** The elements of a JSON array, as the rows of `element(value)`. */
  elements(json: string): string;
  /** Whether the column is one of those in `values`. */
  oneOf(column: string, values: readonly string[], value: Value): string;
}

/** Takes a value, and says where it is in the SQL. */
export type Value = (given: string | number) => string;

export function filtersOf(query: RequestQuery, { placeIn, detail, elements, oneOf }: Dialect, value: Value): string {
  const {
    keyId,
    keyIds,
    model,
    modelPart,
    provider,
    format,
    clientRequestId,
    status,
    slowerThanMs,
    costlierThanNanos,
  } = query;
  const parts = ['true'];
  if (keyId != null) parts.push(`key_id = ${value(keyId)}`);
  if (keyIds != null) parts.push(oneOf('key_id', keyIds, value));
  if (model != null) parts.push(`model = ${value(model)}`);
  if (modelPart != null) parts.push(`${placeIn}(lower(model), ${value(modelPart.toLowerCase())}) > 0`);
  if (provider != null) {
    const called = ATTEMPT.sql('element.value', '->>', 'provider');
    const attempts = elements(RECORD.sql(detail, '->', 'attempts'));
    parts.push(`EXISTS (SELECT 1 FROM ${attempts} WHERE ${called} = ${value(provider)})`);
  }
  if (format != null) parts.push(`${RECORD.sql(detail, '->>', 'format')} = ${value(format)}`);
  if (clientRequestId != null) {
    parts.push(`${RECORD.sql(detail, '->>', 'client_request_id')} = ${value(clientRequestId)}`);
  }
  if (status != null) parts.push(`status BETWEEN ${value(status.from)} AND ${value(status.to)}`);
  if (slowerThanMs != null) parts.push(`duration_ms > CAST(${value(slowerThanMs)} AS double precision)`);
  if (costlierThanNanos != null) parts.push(`cost_nanos > CAST(${value(String(costlierThanNanos))} AS bigint)`);
  return parts.join(' AND ');
}
