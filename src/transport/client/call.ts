/**
 * One call over undici. The time-outs are the gateway's own: undici's are coarse, and each informational response would
 * renew the one for the first byte.
 */
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { DeadlineTimer, HasDeadline } from '../../lib/deadline-timer.ts';
import type { Node } from '../../lib/linked-list.ts';
import type { CallHandle, CallTimeouts, FailureKind, ResponseHeaders, ResponseListener } from '../client.ts';
import { connectFailure, failureCode, isProxyRefusal, isStale } from './failure.ts';
import { Pieces } from './pieces.ts';
import type { UpstreamPool } from './pool.ts';
import { isAmbiguous, isTrailer, type RawHeaders } from './response-head.ts';

/** A server may announce its response a few times; one that does nothing else is given up. */
const INFORMATIONAL_MAX = 16;
/** More kept connections than these are not tried in a row. */
const STALE_CONNECTIONS_MAX = 3;
const GIVEN_UP = new Error('the call was given up');

export class HttpCall implements Dispatcher.DispatchHandler, CallHandle, HasDeadline {
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly #listener: ResponseListener;
  readonly #timeouts: CallTimeouts;
  readonly #deadlines: DeadlineTimer<HttpCall>;
  readonly #node: Node<HttpCall>;
  readonly #pool: UpstreamPool;
  /** Kept until the request is written. */
  #options: Dispatcher.DispatchOptions | null;
  readonly #pieces: Pieces | null;
  #state: 'connecting' | 'waiting' | 'receiving' | 'over' = 'connecting';
  #controller: Dispatcher.DispatchController | null = null;
  /** The connection that is being opened for this call alone. */
  #dialing: Socket | null = null;
  #staleConnections = 0;
  #informational = 0;
  #paused = false;
  /** Whether what has arrived will be handed over at the end of this turn. */
  #scheduled = false;
  /** What has arrived and was not handed over yet: the head, content, and how it ended. */
  #head: ReceivedHead | null = null;
  #chunks: Buffer[] = [];
  #ended: Error | 'complete' | null = null;

  constructor(
    listener: ResponseListener,
    timeouts: CallTimeouts,
    deadlines: DeadlineTimer<HttpCall>,
    pool: UpstreamPool,
    options: Dispatcher.DispatchOptions,
  ) {
    this.#listener = listener;
    this.#timeouts = timeouts;
    this.#deadlines = deadlines;
    this.#pool = pool;
    this.#options = options;
    const body: unknown = options.body;
    this.#pieces = body instanceof Pieces ? body : null;
    this.#node = deadlines.add(this);
    deadlines.set(this, timeouts.connectMs);
  }

  dispatch(): void {
    if (this.#options === null) return;
    const { dispatcher, connector } = this.#pool;
    if (connector) connector.last = null;
    dispatcher.dispatch(this.#options, this);
    if (this.#pieces === null) this.#noteDialing();
    // With an iterable undici begins in the microtask before this one.
    else queueMicrotask(() => this.#noteDialing());
  }

  #noteDialing(): void {
    const { connector } = this.#pool;
    if (!connector?.last) return;
    if (this.#state === 'connecting') this.#dialing = connector.last;
    else if (this.#state === 'over') connector.last.destroy(GIVEN_UP);
    connector.last = null;
  }

  refuse(code: string): void {
    process.nextTick(() => this.#fail('unreachable', code, null));
  }

  pause(): void {
    if (this.#paused || this.#state !== 'receiving') return;
    this.#paused = true;
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#controller?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#deliver();
    if (this.#paused || this.#state !== 'receiving') return;
    this.#deadlines.set(this, this.#timeouts.idleMs);
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#state === 'over') return;
    this.#close();
  }

  expire(): void {
    if (this.#state === 'over') return;
    const kind =
      this.#state === 'connecting'
        ? 'connect_timeout'
        : this.#state === 'waiting'
          ? 'first_byte_timeout'
          : 'idle_timeout';
    const detail = this.#state === 'connecting' ? this.#pool.proxy : null;
    this.#close();
    this.#listener.onFailure({ kind, code: 'ETIMEDOUT', detail });
  }

  /** Called again where an HTTP/2 server has declared that it did not process the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    // undici leaves the connection, which has not been used for this call, to others.
    if (this.#state === 'over') throw GIVEN_UP;
    this.#dialing = null;
    this.#options = null;
    this.#controller = controller;
    this.#state = 'waiting';
    this.#deadlines.set(this, this.#timeouts.firstByteMs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    if (this.#state !== 'waiting') return;
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > INFORMATIONAL_MAX) this.#breakOff('too_large');
      return;
    }
    if (isAmbiguous(headers)) {
      this.#breakOff('malformed');
      return;
    }
    this.#state = 'receiving';
    this.#pieces?.release();
    // As they were received, a buffer for each name and each value: 2 KB of an open stream.
    controller.rawHeaders = null;
    this.#head = { status, headers };
    this.#schedule();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state !== 'receiving') return;
    this.#chunks.push(chunk);
    // During a pause undici delivers the rest when the server closes.
    if (!this.#paused) this.#schedule();
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: RawHeaders): void {
    if (this.#state !== 'receiving') return;
    if (!isTrailer(trailers)) {
      this.#breakOff('malformed');
      return;
    }
    this.#ended = 'complete';
    if (!this.#paused) this.#schedule();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#state === 'over') return;
    if (this.#state === 'connecting') {
      // Not before the caller has its handle.
      process.nextTick(() => this.#notConnected(error));
    } else if (this.#state === 'receiving') {
      this.#ended ??= error;
      if (!this.#paused) this.#schedule();
    } else if (isProxyRefusal(error)) {
      // Of a proxy that forwards requests instead of connections.
      const { kind, code, detail } = connectFailure(error, this.#pool.proxy);
      this.#fail(kind, code, detail);
    } else {
      this.#end(error);
    }
  }

  /** Nothing has been written. Where the call waited for a kept connection that then broke, it takes another one. */
  #notConnected(error: Error): void {
    if (this.#state !== 'connecting') return;
    if (this.#dialing === null && this.#staleConnections < STALE_CONNECTIONS_MAX && isStale(error)) {
      this.#staleConnections += 1;
      this.dispatch();
      return;
    }
    const { kind, code, detail } = connectFailure(error, this.#pool.proxy);
    this.#fail(kind, code, detail);
  }

  /**
   * undici calls back for every chunk of a read, and from inside its parser, where no other response may be resumed.
   * What was read is handed over together when it has finished.
   */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(HttpCall.#turnEnds, this);
  }

  static #turnEnds(call: HttpCall): void {
    call.#scheduled = false;
    try {
      call.#deliver();
    } catch (error) {
      // A listener that throws breaks its own call only.
      if (call.#state === 'over') throw error;
      call.#breakOff(failureCode(error));
    }
    if (!call.#paused && call.#state === 'receiving') call.#deadlines.set(call, call.#timeouts.idleMs);
  }

  #deliver(): void {
    if (this.#head !== null && this.#state === 'receiving') {
      const { status, headers } = this.#head;
      this.#head = null;
      this.#listener.onHead(status, new UndiciHeaders(headers));
    }
    if (this.#chunks.length > 0 && !this.#paused && this.#state === 'receiving') {
      const [first, second] = this.#chunks;
      const content = first !== undefined && second === undefined ? first : Buffer.concat(this.#chunks);
      this.#chunks = [];
      this.#listener.onData(content);
    }
    if (this.#ended !== null && !this.#paused && this.#state === 'receiving') this.#end(this.#ended);
  }

  #end(how: Error | 'complete'): void {
    this.#leave();
    if (how === 'complete') this.#listener.onEnd();
    else this.#listener.onFailure({ kind: 'broken', code: failureCode(how), detail: null });
  }

  #breakOff(code: string): void {
    this.#close();
    this.#listener.onFailure({ kind: 'broken', code, detail: null });
  }

  #fail(kind: FailureKind, code: string, detail: string | null): void {
    if (this.#state === 'over') return;
    this.#leave();
    this.#listener.onFailure({ kind, code, detail });
  }

  #close(): void {
    const controller = this.#controller;
    const dialing = this.#dialing;
    this.#leave();
    if (controller) controller.abort(GIVEN_UP);
    else dialing?.destroy(GIVEN_UP);
  }

  #leave(): void {
    this.#state = 'over';
    this.#controller = null;
    this.#dialing = null;
    this.#options = null;
    this.#head = null;
    this.#chunks = [];
    this.#deadlines.remove(this.#node);
  }
}

interface ReceivedHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

class UndiciHeaders implements ResponseHeaders {
  readonly #headers: RawHeaders;

  constructor(headers: RawHeaders) {
    this.#headers = headers;
  }

  first(lowerName: string): string | null {
    const value = this.#headers[lowerName];
    return (typeof value === 'string' ? value : value?.[0])?.trim() ?? null;
  }
}
