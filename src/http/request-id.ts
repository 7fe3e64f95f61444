import { randomUUID } from 'node:crypto';

/** The gateway's own id of a request; a client's `x-request-id` is never trusted as one. It is the id of its hold too. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
