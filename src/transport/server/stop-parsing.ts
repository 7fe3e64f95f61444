/** How `node:http` is kept from parsing on. */
import type { Socket } from 'node:net';

/** What `node:http` leaves at a socket that it parses; not documented, and so expected to be absent. */
interface ParsedSocket extends Socket {
  parser?: { onIncoming?: unknown } | null;
}

/** Any value but the few that llhttp knows ends the parsing with an error. */
const STOP = -1;

/**
 * Of the bytes that have been read, no further request is made. Node parses all that one read has brought, some thousand
 * requests in 64 KB, and neither a pause nor the end of the socket stops it before.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as ParsedSocket;
  if (parser) parser.onIncoming = stop;
}

function stop(): number {
  return STOP;
}
