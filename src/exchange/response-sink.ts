/** The client's side of an exchange, as the exchange sees it; `http/` implements it. */
import type { StoredReply } from '../ledger/port.ts';

export interface ResponseSink {
  /** Whether the status line has been sent. */
  readonly headersSent: boolean;
  /** Whether the client has closed the connection. */
  readonly closed: boolean;
  /** At most one listener, called once, at once when the connection is closed already. */
  onClose(listener: () => void): void;
  /** Sends the 200 of a stream; together with the first bytes, or `atOnce` where none follow yet. */
  writeHead(contentType: string, atOnce?: boolean): void;
  /** False when the client reads too slowly: stop until `onDrain`. */
  write(bytes: Buffer): boolean;
  onDrain(listener: () => void): void;
  /** The last bytes of a stream. A client that has not read them `lingerMs` later is disconnected; without it, waited for. */
  end(bytes: Buffer, lingerMs?: number): void;
  /** Breaks the connection: the client must not take what it has for a complete answer. */
  destroy(): void;
  send(status: number, contentType: string, body: Uint8Array): void;
  replay(reply: StoredReply): void;
}
