/** The only writer of statuses, envelopes and reply headers. */
import type { ServerResponse } from 'node:http';
import type { Endpoint, Envelope } from '../core/endpoints.ts';
import { type Failure, failureOf } from '../core/failure.ts';
import type { Client, ReplyNotes } from '../exchange/client.ts';
import type { StoredReply } from '../ledger/port.ts';

export type HeaderFields = Record<string, string | number>;

/** One per request. */
export class Reply implements Client {
  readonly requestId: string;
  readonly notes: ReplyNotes = { rate: null, attempts: 0 };
  readonly #response: ServerResponse;
  readonly #endpoint: Endpoint | null;
  readonly #envelope: Envelope;
  #onGone: (() => void) | null = null;
  #gone = false;

  constructor(response: ServerResponse, requestId: string, endpoint: Endpoint | null, envelope: Envelope) {
    this.#response = response;
    this.requestId = requestId;
    this.#endpoint = endpoint;
    this.#envelope = envelope;
    response.once('close', () => {
      if (response.writableFinished) return;
      this.#gone = true;
      this.#onGone?.();
    });
  }

  get begun(): boolean {
    return this.#response.headersSent;
  }

  get gone(): boolean {
    return this.#gone;
  }

  whenGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.#gone) listener();
  }

  begin(contentType: string, atOnce = false): void {
    this.#response.writeHead(
      200,
      this.#headers({ 'content-type': contentType, 'cache-control': 'no-store', 'x-accel-buffering': 'no' }),
    );
    if (atOnce) this.#response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(bytes);
  }

  whenDrained(listener: () => void): void {
    this.#response.once('drain', listener);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    const response = this.#response;
    response.end(bytes);
    if (lingerMs === undefined) return;
    const timer = setTimeout(() => response.destroy(), lingerMs);
    response.once('close', () => clearTimeout(timer));
  }

  cut(): void {
    this.#response.destroy();
  }

  whole(status: number, contentType: string, body: Uint8Array, extra: HeaderFields = {}): void {
    this.#response.writeHead(
      status,
      this.#headers({ 'content-type': contentType, 'content-length': body.byteLength, ...extra }),
    );
    this.#response.end(body);
  }

  replay(reply: StoredReply): void {
    const stream = reply.contentType.startsWith('text/event-stream');
    this.whole(reply.status, reply.contentType, reply.body, {
      'idempotent-replayed': 'true',
      ...(stream ? { 'cache-control': 'no-store' } : {}),
    });
  }

  json(body: object, extra: HeaderFields = {}): void {
    this.whole(200, 'application/json', Buffer.from(JSON.stringify(body)), extra);
  }

  /** Before the status line only; what fails after it is told in-band by the exchange. */
  error(error: unknown, extra: HeaderFields = {}): void {
    const failure = failureOf(this.#endpoint, error);
    if (this.#response.headersSent) {
      this.cut();
      return;
    }
    this.whole(failure.status, 'application/json', errorBody(this.#envelope, failure, this.requestId), {
      ...failureHeaders(failure),
      ...extra,
    });
  }

  #headers(fields: HeaderFields): HeaderFields {
    const headers: HeaderFields = { 'x-request-id': this.requestId, ...fields };
    if (this.#envelope === 'B') headers['request-id'] = this.requestId;
    const { rate, attempts } = this.notes;
    if (rate) {
      headers['x-ratelimit-limit-requests'] = rate.limit;
      headers['x-ratelimit-remaining-requests'] = rate.remaining;
      headers['x-ratelimit-reset-requests'] = Math.ceil(rate.resetMs / 1_000);
    }
    if (attempts > 0) headers['x-gateway-attempts'] = attempts;
    return headers;
  }
}

export function failureHeaders(failure: Failure): HeaderFields {
  return {
    ...(failure.retryAfterS === null ? {} : { 'retry-after': failure.retryAfterS }),
    ...(failure.mayRetry ? {} : { 'x-should-retry': 'false' }),
  };
}

export function errorBody(envelope: Envelope, failure: Failure, requestId: string): Buffer {
  const body =
    envelope === 'A'
      ? {
          error: {
            message: failure.message,
            type: failure.type,
            code: failure.code,
            param: failure.param,
            request_id: requestId,
          },
        }
      : {
          type: 'error',
          error: {
            type: failure.typeB,
            message: failure.message,
            code: failure.code,
            ...(failure.param === null ? {} : { param: failure.param }),
            request_id: requestId,
          },
          request_id: requestId,
        };
  return Buffer.from(JSON.stringify(body));
}
