import { randomUUID } from 'node:crypto';

/**
 * The gateway's own id of a request; a client's `x-request-id` is never trusted as one. It is the id of its hold too, so
 * it begins with the time: rows that are written together then lie together in the store.
 */
export function newRequestId(): string {
  const timeHex = Date.now().toString(16).padStart(12, '0');
  return `req_${timeHex}${randomUUID().replaceAll('-', '').slice(12)}`;
}
