/** The counts in a table beside the request log's, of all gateways on the database together. */
import type { Row } from '../../storage/columns.ts';
import { COLUMNS, type FailureDialect, failureReport, NAMES, onConflict } from './sql.ts';
import type { FailureCount, FailureQuery, FailureReport, KeyChange } from './store.ts';

type Query = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

export const FAILURES_TABLE = `
  CREATE TABLE IF NOT EXISTS gateway.request_log_failures (
    start_ms bigint NOT NULL,
    key_id text NOT NULL,
    model text NOT NULL,
    provider text NOT NULL,
    format text NOT NULL,
    condition text NOT NULL,
    label text NOT NULL,
    account_id text NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (start_ms, key_id, model, provider, format, condition)
  );`;

/** In one order, so that two gateways that count the same groups wait for each other and not both. */
const INSERT = `
  INSERT INTO gateway.request_log_failures AS f (${NAMES})
  SELECT * FROM unnest(${COLUMNS.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')}) AS c (${NAMES})
  ORDER BY start_ms, key_id, model, provider, format, condition
  ${onConflict('f')}`;

export async function addFailures(query: Query, counts: readonly FailureCount[]): Promise<void> {
  await query(
    INSERT,
    COLUMNS.map(({ of }) => counts.map((count) => count[of])),
  );
}

const DIALECT: FailureDialect = {
  table: 'gateway.request_log_failures',
  byCondition: 'json_object_agg(condition, failed)::text',
  oneOf: (column, place) => `${column} IN (SELECT json_array_elements_text(${place}))`,
};

/** Locked in the order of `INSERT`, for the same reason. */
const CHANGE = `
  WITH theirs AS (
    SELECT start_ms, key_id, model, provider, format, condition FROM gateway.request_log_failures
    WHERE ${DIALECT.oneOf('key_id', '$1')}
    ORDER BY start_ms, key_id, model, provider, format, condition FOR UPDATE)
  UPDATE gateway.request_log_failures AS f
  SET label = coalesce($2::text, f.label), account_id = coalesce($3::text, f.account_id) FROM theirs t
  WHERE (f.start_ms, f.key_id, f.model, f.provider, f.format, f.condition)
    = (t.start_ms, t.key_id, t.model, t.provider, t.format, t.condition)`;

export async function changeFailures(
  query: Query,
  keyIds: readonly string[],
  { label, accountId }: KeyChange,
): Promise<void> {
  await query(CHANGE, [JSON.stringify(keyIds), label ?? null, accountId ?? null]);
}

export function readFailures(query: Query, asked: FailureQuery): Promise<FailureReport> {
  return failureReport(asked, DIALECT, ({ sql, values }) => query(sql, values));
}
