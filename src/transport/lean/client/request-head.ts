/** The head of a request as it is written. */
import type { Destination } from '../../client.ts';
import { isSendable } from '../../sendable.ts';

/** To be written as Latin-1; the length of the body ends it. Null where the path or a header cannot be sent. */
export function headWithoutLength(host: string, destination: Destination): string | null {
  if (!isSendable(destination)) return null;
  let head = `POST ${destination.path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(destination.headers)) head += `${name}: ${value}\r\n`;
  return head;
}
