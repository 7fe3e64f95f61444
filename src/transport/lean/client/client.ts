/** A client for HTTP/1.1: pools of kept connections, callbacks instead of streams, failures as values. */

import { DeadlineTimer } from '../../../lib/deadline-timer.ts';
import { type AnswerListener, type CallTimeouts, ClientCall } from './call.ts';
import type { ClientConnection } from './connection.ts';
import { Origin } from './origin.ts';
import { Pool } from './pool.ts';
import { headWithoutLength } from './request-head.ts';

export type { AnswerListener, FailureKind } from './call.ts';

/** A POST. */
export interface ClientRequest {
  readonly origin: string;
  readonly path: string;
  /** Never changed once it was given: calls with the same one are known again by it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, or pieces that follow each other and are not copied where they are large. */
  readonly body: Buffer | readonly Buffer[];
  readonly timeouts: CallTimeouts & { readonly connectMs: number };
}

export interface CallHandle {
  /** Holds the answer up; what has arrived is not lost, even when the server closes meanwhile. */
  pause(): void;
  resume(): void;
  /** Closes the connection at once, in whatever state the call is. */
  abort(): void;
}

/** What calls to one address, with the same headers, have in common. */
interface Destination {
  readonly origin: string;
  readonly path: string;
  readonly connectMs: number;
  readonly pool: Pool;
  /** Null where it cannot be sent. */
  readonly head: string | null;
}

export class Http1Client {
  readonly #deadlines = new DeadlineTimer<ClientConnection>();
  readonly #pools = new Map<string, Pool>();
  #destinations = new WeakMap<object, Destination>();

  send({ origin, path, headers, body, timeouts }: ClientRequest, listener: AnswerListener): CallHandle {
    const { pool, head } = this.#destination(origin, path, headers, timeouts.connectMs);
    const pieces = Buffer.isBuffer(body) ? [body] : body;
    let bodyBytes = 0;
    for (const piece of pieces) bodyBytes += piece.length;
    const whole = head === null ? '' : `${head}content-length: ${bodyBytes}\r\n\r\n`;
    const call = new ClientCall(whole, pieces, bodyBytes, timeouts, listener);
    if (head !== null) pool.send(call);
    // Not before the caller has its handle.
    else process.nextTick(() => call.fail('unreachable', 'ERR_INVALID_CHAR'));
    return call;
  }

  /** Calls that are under way fail. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    this.#destinations = new WeakMap();
    await Promise.all(pools.map((pool) => pool.close()));
  }

  #destination(origin: string, path: string, headers: ClientRequest['headers'], connectMs: number): Destination {
    const known = this.#destinations.get(headers);
    if (known?.path === path && known.origin === origin && known.connectMs === connectMs) return known;
    const pool = this.#pool(origin, connectMs);
    const head = headWithoutLength(pool.origin.host, path, headers);
    const destination = { origin, path, connectMs, pool, head };
    this.#destinations.set(headers, destination);
    return destination;
  }

  #pool(origin: string, connectMs: number): Pool {
    const name = `${origin} ${connectMs}`;
    let pool = this.#pools.get(name);
    if (!pool) {
      pool = new Pool(new Origin(origin), connectMs, this.#deadlines);
      this.#pools.set(name, pool);
    }
    return pool;
  }
}
