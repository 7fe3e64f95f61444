/** The client over undici: one pool for each origin and way to it, and a handler object for each call. */
import type { Dispatcher } from 'undici';
import { DeadlineTimer } from '../../lib/deadline-timer.ts';
import { getOrInsert } from '../../lib/get-or-insert.ts';
import type { CallHandle, Destination, OutgoingRequest, ResponseListener } from '../client.ts';
import { HttpCall } from './call.ts';
import { Pieces } from './pieces.ts';
import { openUpstreamPool, type UpstreamPool } from './pool.ts';
import { isSendable } from './sendable.ts';

/** A smaller body may stay in memory until the response has ended: undici sends it with the head, in one piece. */
const KEPT_BYTES_MAX = 16 * 1024;

/** What is derived from a destination once. */
interface Prepared {
  readonly connectMs: number;
  readonly pool: UpstreamPool;
  /** Flat: name, value, name, value. Null where it cannot be sent. */
  readonly headers: string[] | null;
}

export class HttpClient {
  readonly #deadlines = new DeadlineTimer<HttpCall>();
  readonly #pools = new Map<string, UpstreamPool>();
  #prepared = new WeakMap<Destination, Prepared>();

  /** A request is sent at most once: whether it may be repeated is the caller's decision. */
  send({ destination, body, timeouts }: OutgoingRequest, listener: ResponseListener): CallHandle {
    const { pool, headers } = this.#prepare(destination, timeouts.connectMs);
    const options: Dispatcher.DispatchOptions = {
      origin: destination.origin,
      path: destination.path,
      method: 'POST',
      headers: headers ?? [],
      ...(destination.network.http2 ? { body: whole(body) } : released(headers ?? [], body)),
    };
    const call = new HttpCall(listener, timeouts, this.#deadlines, pool, options);
    if (headers === null) call.refuse('ERR_INVALID_CHAR');
    else call.dispatch();
    return call;
  }

  /** Calls that are under way fail. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    this.#prepared = new WeakMap();
    await Promise.all(pools.map(({ dispatcher }) => dispatcher.destroy()));
  }

  #prepare(destination: Destination, connectMs: number): Prepared {
    const known = this.#prepared.get(destination);
    if (known?.connectMs === connectMs) return known;
    const headers = isSendable(destination) ? Object.entries(destination.headers).flat() : null;
    const prepared = { connectMs, pool: this.#pool(destination, connectMs), headers };
    this.#prepared.set(destination, prepared);
    return prepared;
  }

  #pool({ origin, network }: Destination, connectMs: number): UpstreamPool {
    const name = JSON.stringify([origin, connectMs, network]);
    return getOrInsert(this.#pools, name, () => openUpstreamPool(origin, network, connectMs));
  }
}

/** What an HTTP/2 server declares not to have processed is sent again, which undici does with a buffer and nothing else. */
function whole(body: Buffer | readonly Buffer[]): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body);
}

/**
 * undici writes an iterable of buffers piece by piece; its type does not say so. For 200 KB this saves 90 of 150 us against
 * `Buffer.concat` (measured apart, 27258a1).
 */
function released(
  headers: string[],
  body: Buffer | readonly Buffer[],
): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
  if (Buffer.isBuffer(body) && body.length <= KEPT_BYTES_MAX) return { body };
  const pieces = new Pieces(body);
  return { headers: [...headers, 'content-length', String(pieces.bytes)], body: pieces as unknown as Buffer };
}
