/** A client for HTTP/1.1: pools of kept connections, callbacks instead of streams, failures as values. */
import { type AnswerListener, type CallTimeouts, ClientCall } from './client-call.ts';
import { requestHead } from './client-request.ts';
import { Deadlines } from './deadlines.ts';
import { Origin } from './origin.ts';
import { Pool } from './pool.ts';

export type { AnswerListener, FailureKind } from './client-call.ts';

/** A POST. */
export interface ClientRequest {
  readonly origin: string;
  readonly path: string;
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

export class Http1Client {
  readonly #deadlines = new Deadlines();
  readonly #pools = new Map<string, Pool>();

  send({ origin, path, headers, body, timeouts }: ClientRequest, listener: AnswerListener): CallHandle {
    const pool = this.#pool(origin, timeouts.connectMs);
    const pieces = Buffer.isBuffer(body) ? [body] : body;
    let bodyBytes = 0;
    for (const piece of pieces) bodyBytes += piece.length;
    const head = requestHead({ host: pool.origin.host, path, headers, bodyBytes });
    const call = new ClientCall(head ?? '', pieces, bodyBytes, timeouts, listener);
    if (head !== null) pool.send(call);
    // Not before the caller has its handle.
    else process.nextTick(() => call.fail('unreachable', 'ERR_INVALID_CHAR'));
    return call;
  }

  /** Calls that are under way fail. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.close()));
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
