/**
 * The upstream client: one pool of HTTP/1.1 connections per provider origin, callbacks instead of streams, and
 * failures as values. It knows nothing of formats or money.
 */
import type { Provider, Timeouts } from '../core/provider.ts';
import { type AnswerListener, type FailureKind, Http1Client } from '../transport/lean/client/client.ts';
import { field, type Head } from '../transport/lean/head.ts';
import type { BodyBytes } from '../wire/lane.ts';

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
  readonly body: BodyBytes;
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
  readonly #http = new Http1Client();

  send(call: UpstreamHttpCall, listener: UpstreamListener): UpstreamHandle {
    return this.#http.send(call, new UpstreamAnswer(listener));
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

class UpstreamAnswer implements AnswerListener {
  readonly #listener: UpstreamListener;

  constructor(listener: UpstreamListener) {
    this.#listener = listener;
  }

  onHead(status: number, head: Head): void {
    this.#listener.onHeaders(status, {
      contentType: field(head, 'content-type') ?? '',
      retryAfter: field(head, 'retry-after') ?? null,
    });
  }

  onData(piece: Buffer): void {
    this.#listener.onData(piece);
  }

  onEnd(): void {
    this.#listener.onEnd();
  }

  onFailure(kind: FailureKind, code: string): void {
    this.#listener.onFailure({ kind, message: MESSAGES[kind](code) });
  }
}

const MESSAGES: Readonly<Record<FailureKind, (code: string) => string>> = {
  unreachable: (code) => `the provider cannot be reached (${code})`,
  connect_timeout: () => 'no connection to the provider within the connect time-out',
  first_byte_timeout: () => 'the provider sent no answer within the first-byte time-out',
  idle_timeout: () => 'the provider fell silent for longer than the idle time-out',
  broken: (code) => `the connection to the provider broke (${code})`,
};
