/** What is refused as HTTP still gets an envelope and a request id, and then its connection closes. */
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { RequestFault } from '../transport/errors.ts';
import type { Refusal } from '../transport/server.ts';
import { errorBody, failureHeaders } from './reply.ts';

const MESSAGES: Readonly<Record<RequestFault, string>> = {
  malformed: 'The request is not valid HTTP.',
  too_large: 'The request headers are too large.',
  too_many_fields: 'The request has too many headers.',
  no_host: 'The request has no Host header.',
  tiny_chunks: 'The request body was sent in thousands of tiny chunks. Send larger chunks, or the body as a whole.',
  too_slow: 'The request was sent too slowly.',
  too_many_connections: 'The gateway has as many connections as it can serve. Retry later.',
  too_many_of_address: 'Your address has as many connections as it may have. Retry later.',
  too_many_waiting: 'Too many requests were sent on this connection without waiting for their responses.',
};

/** Whether others are at fault, or other connections, and not what was sent on this one. */
export function isOfConnections(fault: RequestFault): boolean {
  return fault === 'too_many_connections' || fault === 'too_many_of_address';
}

export function refusalOf(record: RequestRecord, fault: RequestFault, headerCount: number): Refusal {
  const { requestId } = record;
  const condition = isOfConnections(fault) ? 'service_unavailable' : 'invalid_request';
  const message = fault === 'too_many_fields' ? `The request has more than ${headerCount} headers.` : MESSAGES[fault];
  const failure = failureOf(null, new GatewayError(condition, { message }));
  const headers = ['content-type', 'application/json', 'x-request-id', requestId, ...failureHeaders(failure)];
  const content = errorBody('A', failure, requestId);
  record.failed(failure);
  record.status = failure.status;
  record.sent(content);
  return { status: failure.status, headers, content };
}
