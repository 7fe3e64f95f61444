/** The client's side of an exchange, as the exchange sees it; `http/` implements it. */
import type { RateState, StoredReply } from '../ledger/port.ts';

/** What the reply's headers tell beside the answer itself; filled in as it becomes known. */
export interface ReplyNotes {
  rate: RateState | null;
  attempts: number;
}

export interface Client {
  readonly notes: ReplyNotes;
  /** Whether the status line has been sent. */
  readonly begun: boolean;
  /** Whether the client has closed the connection. */
  readonly gone: boolean;
  /** At most one listener, called once, at once when the client has gone already. */
  whenGone(listener: () => void): void;
  /** Sends the 200 of a stream; together with the first bytes, or `atOnce` where none follow yet. */
  begin(contentType: string, atOnce?: boolean): void;
  /** False when the client reads too slowly: stop until `whenDrained`. */
  write(bytes: Buffer): boolean;
  whenDrained(listener: () => void): void;
  /** The last bytes of a stream. A client that has not read them `lingerMs` later is cut off; without it, waited for. */
  end(bytes: Buffer, lingerMs?: number): void;
  /** Breaks the connection: the client must not take what it has for a complete answer. */
  cut(): void;
  whole(status: number, contentType: string, body: Uint8Array): void;
  replay(reply: StoredReply): void;
}
