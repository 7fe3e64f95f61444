/**
 * The one error table. A condition is a named failure; everything that a client can learn about it
 * (status, codes, types, retry advice, sentence) stands in its row and nowhere else.
 */

interface ConditionRow {
  readonly status: number;
  /** Format A `error.type`. */
  readonly type: string;
  /** Format B `error.type`. */
  readonly typeB: string;
  /** `never` sends `x-should-retry: false`: the official SDKs retry 409 and 429 blindly otherwise. */
  readonly retry: 'never' | 'allowed';
  /** Seconds sent as `Retry-After` when the failure itself knows no better figure. */
  readonly retryAfterS?: number;
  /** The sentence used when the failure brings none of its own. */
  readonly sentence: string;
}

/** The name of a row is its code: Format A `error.code`; Format B carries it too, as an extra field. */
export const CONDITIONS = {
  invalid_credentials: {
    status: 401,
    type: 'authentication_error',
    typeB: 'authentication_error',
    retry: 'never',
    sentence: 'The API key is missing, malformed, unknown or revoked.',
  },
  key_expired: {
    status: 403,
    type: 'permission_error',
    typeB: 'permission_error',
    retry: 'never',
    sentence: 'This API key has expired.',
  },
  key_disabled: {
    status: 403,
    type: 'permission_error',
    typeB: 'permission_error',
    retry: 'never',
    sentence: 'This API key is disabled, or not entitled to the requested model.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    typeB: 'rate_limit_error',
    retry: 'allowed',
    retryAfterS: 1,
    sentence: 'The requests-per-minute limit of this key is exceeded.',
  },
  balance_temporarily_reserved: {
    status: 429,
    type: 'rate_limit_error',
    typeB: 'rate_limit_error',
    retry: 'allowed',
    retryAfterS: 1,
    sentence: 'Other requests in flight hold the available balance of this key. Wait for them, then retry once.',
  },
  limit_reached: {
    status: 429,
    type: 'quota_error',
    typeB: 'billing_error',
    retry: 'never',
    retryAfterS: 86_400,
    sentence: 'The token budget of this period is used up.',
  },
  insufficient_credit: {
    status: 402,
    type: 'quota_error',
    typeB: 'billing_error',
    retry: 'never',
    sentence: 'Not enough credit or tokens to start this request.',
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence: 'The request is not valid.',
  },
  previous_response_not_found: {
    status: 400,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence: 'The response that previous_response_id names is not there. Send the whole input without it.',
  },
  websocket_connection_limit_reached: {
    status: 400,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence:
      'This WebSocket has been open for as long as it may be (60 minutes). Open another one, and send it there.',
  },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    typeB: 'not_found_error',
    retry: 'allowed',
    sentence: 'The model is not in the catalog. List the models with GET /v1/models.',
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence: "The input exceeds the model's context window.",
  },
  idempotency_in_flight: {
    status: 409,
    type: 'invalid_request_error',
    typeB: 'conflict_error',
    retry: 'allowed',
    retryAfterS: 1,
    sentence: 'A request with this Idempotency-Key is still running.',
  },
  idempotency_conflict: {
    status: 409,
    type: 'invalid_request_error',
    typeB: 'conflict_error',
    retry: 'never',
    sentence: 'This Idempotency-Key was used for another request.',
  },
  provider_unavailable: {
    status: 502,
    type: 'api_error',
    typeB: 'api_error',
    retry: 'allowed',
    retryAfterS: 1,
    sentence: 'The provider is temporarily unavailable for this request.',
  },
  upstream_error: {
    status: 502,
    type: 'api_error',
    typeB: 'api_error',
    retry: 'allowed',
    sentence: 'The provider returned an error or an invalid response.',
  },
  upstream_timeout: {
    status: 504,
    type: 'api_error',
    typeB: 'timeout_error',
    retry: 'allowed',
    sentence: 'The provider took too long.',
  },
  service_unavailable: {
    status: 503,
    type: 'api_error',
    typeB: 'overloaded_error',
    retry: 'allowed',
    retryAfterS: 2,
    sentence: 'The gateway cannot serve this request right now. Retry shortly.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    typeB: 'api_error',
    retry: 'allowed',
    sentence: 'Unexpected gateway error.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    typeB: 'request_too_large',
    retry: 'allowed',
    sentence: 'The request body is too large.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    typeB: 'not_found_error',
    retry: 'allowed',
    sentence: 'There is no such route.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence: 'This route does not take that method.',
  },
  upgrade_required: {
    status: 426,
    type: 'invalid_request_error',
    typeB: 'invalid_request_error',
    retry: 'allowed',
    sentence: 'WebSocket is served on /v1/responses only. Send an ordinary request.',
  },
} as const satisfies Record<string, ConditionRow>;

export type Condition = keyof typeof CONDITIONS;

export function conditionRow(condition: Condition): ConditionRow {
  return CONDITIONS[condition];
}

interface GatewayErrorDetails {
  readonly message?: string | undefined;
  /** What may be kept of the message where it has words of a provider, which can quote the conversation. */
  readonly kept?: string | undefined;
  /** JSON path of the first offending field, or a header's name. */
  readonly param?: string | undefined;
  readonly retryAfterS?: number | undefined;
  /** To repeat the request would cost once more, so that no SDK should do it by itself. */
  readonly billed?: boolean | undefined;
  /** What the operator's log should hold; never shown to the client. */
  readonly cause?: unknown;
  /** What a client of the messages format acts on, as its provider words it. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Both can quote the client, whose words can be as long as its body. A provider's own message is shorter. */
const MESSAGE_CHARACTERS_MAX = 3_000;
const PARAM_CHARACTERS_MAX = 300;

/** Where the field is cut, the message names it cut, too: what may be kept of a message is found by its field. */
function messageOf({ message, param }: GatewayErrorDetails): string | undefined {
  const shown = cut(param, PARAM_CHARACTERS_MAX);
  const said = shown === param ? message : message?.replaceAll(`${param}`, () => `${shown}`);
  return cut(said, MESSAGE_CHARACTERS_MAX);
}

function cut(text: string | undefined, max: number): string | undefined {
  return text === undefined || text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}

/** The only error that the HTTP side turns into a reply other than `internal_error`. */
export class GatewayError extends Error {
  readonly condition: Condition;
  readonly kept: string | undefined;
  readonly param: string | undefined;
  readonly retryAfterS: number | undefined;
  readonly billed: boolean;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(condition: Condition, details: GatewayErrorDetails = {}) {
    super(messageOf(details) ?? CONDITIONS[condition].sentence, { cause: details.cause });
    this.name = 'GatewayError';
    this.condition = condition;
    this.kept = details.kept;
    this.param = cut(details.param, PARAM_CHARACTERS_MAX);
    this.retryAfterS = details.retryAfterS;
    this.billed = details.billed ?? false;
    this.details = details.details;
  }
}
