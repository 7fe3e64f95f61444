/** How `node:http` is kept from parsing on. */
import type { Socket } from 'node:net';

/** What `node:http` leaves at a socket that it parses; not documented, and so expected to be absent. */
interface ParsedSocket extends Socket {
  parser?: { onIncoming?: unknown; pause?(): void; resume?(): void } | null;
}

/** Any value but the few that llhttp knows ends the parsing with an error. */
const STOP = -1;

/**
 * Of the bytes that have been read, no further request is made, nor a further piece of the content that is being read. Node
 * parses all that one read has brought, some thousand requests or ten thousand chunks in 64 KB, and neither a pause nor the end
 * of the socket stops it before. What is read later no longer fits what was parsed: a parse error, told of as `clientError`.
 */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as ParsedSocket;
  if (!parser) return;
  parser.onIncoming = stop;
  parser.pause?.();
  setImmediate(() => {
    if ((socket as ParsedSocket).parser === parser) parser.resume?.();
  });
}

function stop(): number {
  return STOP;
}
