/** What a client of an endpoint is told about a failure, whatever the envelope. */
import { type Condition, conditionRow, GatewayError } from './conditions.ts';
import type { Endpoint } from './endpoints.ts';

export interface Failure {
  readonly condition: Condition;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly typeB: string;
  readonly message: string;
  readonly param: string | null;
  readonly retryAfterS: number | null;
  readonly mayRetry: boolean;
}

/** `endpoint` is null where the request reached none: then nothing is projected. */
export function failureOf(endpoint: Endpoint | null, error: unknown): Failure {
  const known = error instanceof GatewayError ? error : new GatewayError('internal_error', { cause: error });
  const condition = endpoint?.projection[known.condition] ?? known.condition;
  const row = conditionRow(condition);
  return {
    condition,
    status: row.status,
    code: row.code,
    type: row.type,
    typeB: row.typeB,
    message: known.message,
    param: known.param ?? null,
    retryAfterS: known.retryAfterS ?? row.retryAfterS ?? null,
    mayRetry: row.retry === 'allowed',
  };
}
