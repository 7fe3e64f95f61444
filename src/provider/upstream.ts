/**
 * The upstream client: one pool of HTTP/1.1 connections per provider origin, callbacks instead of streams, and
 * failures as values. It knows nothing of formats or money.
 */
import { type Dispatcher, errors, Pool } from 'undici';
import type { Provider, Timeouts } from '../core/provider.ts';

export interface HttpAddress {
  readonly via: 'http';
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Of a provider that is spoken to by a package in this process. */
export interface PackageAddress {
  readonly via: 'package';
  readonly provider: Provider;
  readonly upstreamModel: string;
  readonly apiKey: string | null;
}

interface Payload {
  readonly body: Buffer;
  readonly timeouts: Timeouts;
}

export type UpstreamHttpCall = HttpAddress & Payload;
export type UpstreamPackageCall = PackageAddress & Payload;
export type UpstreamCall = UpstreamHttpCall | UpstreamPackageCall;

export interface Upstream {
  send(call: UpstreamCall, listener: UpstreamListener): UpstreamHandle;
}

/** Exactly one of `onEnd` and `onFailure` is called, and nothing after it; nothing at all after `abort`. */
export interface UpstreamListener {
  onHeaders(status: number, headers: UpstreamHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: TransportFailure): void;
}

export interface UpstreamHeaders {
  readonly contentType: string;
  readonly retryAfter: string | null;
}

export interface TransportFailure {
  /** `unreachable`: no connection was had, so nothing was asked of the provider. */
  readonly kind: 'unreachable' | 'connect_timeout' | 'first_byte_timeout' | 'idle_timeout' | 'broken';
  readonly message: string;
}

export interface UpstreamHandle {
  pause(): void;
  resume(): void;
  /** Closes the connection to the provider at once, in whatever state the call is. */
  abort(): void;
}

export class UpstreamClient {
  readonly #pools = new Map<string, Pool>();

  send(call: UpstreamHttpCall, listener: UpstreamListener): UpstreamHandle {
    const exchange = new UpstreamExchange(listener);
    this.#pool(call.origin, call.timeouts.connectMs).dispatch(
      {
        path: call.path,
        method: 'POST',
        headers: call.headers,
        body: call.body,
        headersTimeout: call.timeouts.firstByteMs,
        bodyTimeout: call.timeouts.idleMs,
      },
      exchange,
    );
    return exchange;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  #pool(origin: string, connectMs: number): Pool {
    const name = `${origin} ${connectMs}`;
    let pool = this.#pools.get(name);
    if (!pool) {
      pool = new Pool(origin, {
        connect: { timeout: connectMs, noDelay: true },
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: 10_000,
      });
      this.#pools.set(name, pool);
    }
    return pool;
  }
}

class UpstreamExchange implements Dispatcher.DispatchHandler, UpstreamHandle {
  readonly #listener: UpstreamListener;
  #controller: Dispatcher.DispatchController | null = null;
  #state: 'queued' | 'sent' | 'answering' | 'ended' = 'queued';

  constructor(listener: UpstreamListener) {
    this.#listener = listener;
  }

  pause(): void {
    if (this.#state === 'answering') this.#controller?.pause();
  }

  resume(): void {
    if (this.#state === 'answering') this.#controller?.resume();
  }

  abort(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#controller?.abort(new errors.RequestAbortedError());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#state === 'ended') {
      controller.abort(new errors.RequestAbortedError());
      return;
    }
    this.#controller = controller;
    this.#state = 'sent';
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#state === 'ended' || status < 200) return;
    this.#state = 'answering';
    this.#listener.onHeaders(status, {
      contentType: single(headers['content-type']) ?? '',
      retryAfter: single(headers['retry-after']),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state === 'answering') this.#listener.onData(chunk);
  }

  onResponseEnd(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#state === 'ended') return;
    const failure = transportFailure(error, this.#state !== 'queued');
    this.#state = 'ended';
    this.#listener.onFailure(failure);
  }
}

function transportFailure(error: Error, sent: boolean): TransportFailure {
  if (error instanceof errors.ConnectTimeoutError) {
    return { kind: 'connect_timeout', message: 'no connection to the provider within the connect time-out' };
  }
  if (error instanceof errors.HeadersTimeoutError) {
    return { kind: 'first_byte_timeout', message: 'the provider sent no answer within the first-byte time-out' };
  }
  if (error instanceof errors.BodyTimeoutError) {
    return { kind: 'idle_timeout', message: 'the provider fell silent for longer than the idle time-out' };
  }
  if (!sent) return { kind: 'unreachable', message: `the provider cannot be reached (${errorCode(error)})` };
  return { kind: 'broken', message: `the connection to the provider broke (${errorCode(error)})` };
}

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
