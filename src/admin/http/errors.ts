/** The one error envelope of the admin API. */
import type { FastifyError } from 'fastify';
import { Type } from '../../lib/schema-builder.ts';
import { AdminError, type AdminErrorCode } from '../error.ts';
import type { View } from './view.ts';

export const ErrorEnvelope = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'For programs: what kind of error this is.' }),
      message: Type.String({ description: 'For people: what is wrong, and what is expected.' }),
      field: Type.Union([Type.String(), Type.Null()], { description: 'The input field that is wrong.' }),
      request_id: Type.String(),
    }),
  },
  { title: 'Error' },
);

export const BODY_BYTES_MAX = 65_536;

export const STATUS: Readonly<Record<AdminErrorCode, number>> = {
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  unknown_key: 404,
  unknown_operator: 404,
  unknown_account: 404,
  not_found: 404,
  method_not_allowed: 405,
  refused: 409,
  precondition_failed: 412,
  too_large: 413,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const NOT_READ = 'the store failed, or does not answer: ask again later';
const UNKNOWN_RESULT = 'the store failed and the result of this operation is unknown: check it before you repeat this';

export function envelope(error: AdminError, requestId: string): View<typeof ErrorEnvelope> {
  return { error: { code: error.code, message: error.message, field: error.field, request_id: requestId } };
}

/** `method`: of the request that failed, where that is known. */
export function asAdminError(error: unknown, method = ''): AdminError {
  if (error instanceof AdminError) return error;
  if (!(error instanceof Error)) return unexpected(error);
  // Outcomes of the ledger are values: an exception means that the store failed.
  if (/^Store/.test(error.name)) {
    return new AdminError('unavailable', READS.has(method) ? NOT_READ : UNKNOWN_RESULT, { cause: error });
  }
  return ofFramework(error as FastifyError) ?? unexpected(error);
}

/** What the framework refuses before a route is run. */
function ofFramework(error: FastifyError): AdminError | null {
  switch (error.code) {
    case 'FST_ERR_BAD_URL':
      return new AdminError('invalid_input', 'the path is not valid percent-encoded UTF-8');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AdminError('invalid_input', 'the path has a parameter that is too long to be a name of anything');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AdminError('invalid_input', 'the body must be JSON, with Content-Type: application/json');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new AdminError('invalid_input', 'the body does not have the size that Content-Length says');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AdminError('too_large', `the body is too large: at most ${BODY_BYTES_MAX} bytes are accepted`);
    case 'FST_CSRF_MISSING_SECRET':
    case 'FST_CSRF_INVALID_TOKEN':
      return new AdminError('forbidden', 'x-csrf-token must have the csrf_token that GET /admin/v1/session gives');
    default:
      return null;
  }
}

function unexpected(cause: unknown): AdminError {
  return new AdminError('internal', 'unexpected error: see the log of the gateway', { cause });
}
