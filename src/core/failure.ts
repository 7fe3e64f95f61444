/** What an endpoint reports to its client about a failure, independent of the envelope. */
import { type Condition, conditionRow, GatewayError } from './conditions.ts';
import { COMMON_STATUSES, type Endpoint } from './endpoints.ts';

export interface Failure {
  readonly condition: Condition;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly typeB: string;
  readonly message: string;
  /** What may be kept of the message; null where that is the gateway's own sentence. */
  readonly kept: string | null;
  readonly param: string | null;
  readonly retryAfterS: number | null;
  readonly mayRetry: boolean;
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** `endpoint` is null where the request reached none: then nothing is projected. */
export function failureOf(endpoint: Endpoint | null, error: unknown): Failure {
  const known = knownTo(endpoint, error);
  const condition = endpoint?.projection[known.condition] ?? known.condition;
  const row = conditionRow(condition);
  return {
    condition,
    status: row.status,
    code: condition,
    type: row.type,
    typeB: row.typeB,
    message: known.message,
    kept: known.kept ?? null,
    param: known.param ?? null,
    retryAfterS: known.retryAfterS ?? row.retryAfterS ?? null,
    mayRetry: row.retry === 'allowed' && !known.billed,
    details: known.details ?? null,
  };
}

/** No endpoint sends a status that its list does not have: a failure that cannot happen there is a fault of this program. */
function knownTo(endpoint: Endpoint | null, error: unknown): GatewayError {
  if (error instanceof GatewayError && (endpoint === null || lists(endpoint, error.condition))) return error;
  return new GatewayError('internal_error', { cause: error });
}

function lists(endpoint: Endpoint, condition: Condition): boolean {
  const { status } = conditionRow(endpoint.projection[condition] ?? condition);
  return endpoint.statuses.includes(status) || COMMON_STATUSES.includes(status);
}
