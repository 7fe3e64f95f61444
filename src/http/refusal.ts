/** What is refused as HTTP still gets an envelope and a request id, and then its connection closes. */
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import type { Http1Error, Http1Fault } from '../transport/lean/errors.ts';
import type { Refusal } from '../transport/lean/server/connection.ts';
import { FIELDS_MAX } from '../transport/lean/server/request.ts';
import { errorBody, fieldLines } from './reply.ts';
import { newRequestId } from './request-id.ts';

const MESSAGES: Readonly<Record<Http1Fault, string>> = {
  malformed: 'The request is not valid HTTP/1.1.',
  too_large: 'The request headers are too large.',
  too_many_fields: `The request has more than ${FIELDS_MAX} headers.`,
  no_host: 'The request has no Host header.',
  too_slow: 'The request was sent too slowly.',
};

export function refusal({ code }: Http1Error): Refusal {
  const requestId = newRequestId();
  const failure = failureOf(null, new GatewayError('invalid_request', { message: MESSAGES[code] }));
  const content = errorBody('A', failure, requestId);
  return { fields: fieldLines({ 'content-type': 'application/json', 'x-request-id': requestId }), content };
}
