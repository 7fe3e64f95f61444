/** The only writer of statuses, envelopes and reply headers. */
import type { Endpoint, Envelope } from '../core/endpoints.ts';
import { type Failure, failureOf } from '../core/failure.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { warningsHeader } from '../exchange/warnings.ts';
import type { StoredReply } from '../ledger/port.ts';
import type { RawHeaders, ServerResponse } from '../transport/server.ts';

/** In the order of their names and values, as `RawHeaders`. */
type ExtraHeaders = readonly (string | number)[];

const NO_HEADERS: ExtraHeaders = [];

/** One per request. */
export class Reply implements ResponseSink {
  readonly record: RequestRecord;
  readonly #response: ServerResponse;
  readonly #endpoint: Endpoint | null;
  readonly #envelope: Envelope;

  constructor(response: ServerResponse, record: RequestRecord, endpoint: Endpoint | null, envelope: Envelope) {
    this.#response = response;
    this.record = record;
    this.#endpoint = endpoint;
    this.#envelope = envelope;
  }

  get requestId(): string {
    return this.record.requestId;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  get closed(): boolean {
    return this.#response.closed;
  }

  onClose(listener: () => void): void {
    this.#response.onClose(listener);
  }

  writeHead(contentType: string, atOnce = false): void {
    const headers = this.#headers(contentType);
    headers.push('cache-control', 'no-store', 'x-accel-buffering', 'no');
    this.record.status = 200;
    this.#response.writeHead(200, headers);
    if (atOnce) this.#response.flushHeaders();
  }

  write(bytes: Buffer): boolean {
    this.record.wrote(bytes);
    return this.#response.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#response.onDrain(listener);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    this.record.sent(bytes);
    this.#response.end(bytes, lingerMs);
  }

  destroy(): void {
    this.#response.destroy();
  }

  /** The header fields of a 101, which the connection sends itself. */
  switchProtocols(): RawHeaders {
    this.record.status = 101;
    this.record.webSocket = true;
    return ['x-request-id', this.requestId];
  }

  send(status: number, contentType: string, body: Uint8Array, extra = NO_HEADERS): void {
    const headers = this.#headers(contentType);
    if (extra.length > 0) headers.push(...extra);
    // Nothing more is sent to a client that has gone.
    if (!this.#response.closed) {
      this.record.status = status;
      this.record.sent(body);
    }
    this.#response.send(status, headers, body);
  }

  replay(reply: StoredReply): void {
    const stream = reply.contentType.startsWith('text/event-stream');
    this.send(reply.status, reply.contentType, reply.body, [
      'idempotent-replayed',
      'true',
      ...(stream ? ['cache-control', 'no-store'] : []),
    ]);
  }

  json(body: object, extra = NO_HEADERS): void {
    this.send(200, 'application/json', Buffer.from(JSON.stringify(body)), extra);
  }

  /** Before the status line only; what fails after it is reported in-band by the exchange. */
  error(error: unknown, extra = NO_HEADERS): void {
    const failure = failureOf(this.#endpoint, error);
    this.record.failed(failure);
    if (this.#response.headersSent) {
      this.destroy();
      return;
    }
    this.send(failure.status, 'application/json', errorBody(this.#envelope, failure, this.requestId), [
      ...failureHeaders(failure),
      ...extra,
    ]);
  }

  #headers(contentType: string): RawHeaders {
    const headers: RawHeaders = ['x-request-id', this.requestId, 'content-type', contentType];
    if (this.#envelope === 'B') headers.push('request-id', this.requestId);
    const { rate, attempts, warnings } = this.record;
    if (rate) {
      headers.push('x-ratelimit-limit-requests', rate.limit, 'x-ratelimit-remaining-requests', rate.remaining);
      headers.push('x-ratelimit-reset-requests', Math.ceil(rate.resetMs / 1_000));
    }
    if (attempts.length > 0) headers.push('x-gateway-attempts', attempts.length);
    const warned = warnings.length === 0 ? '' : warningsHeader(warnings);
    if (warned !== '') headers.push('x-gateway-warnings', warned);
    return headers;
  }
}

export function failureHeaders(failure: Failure): (string | number)[] {
  return [
    ...(failure.retryAfterS === null ? [] : ['retry-after', failure.retryAfterS]),
    ...(failure.mayRetry ? [] : ['x-should-retry', 'false']),
  ];
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
            ...(failure.details === null ? {} : { details: failure.details }),
            request_id: requestId,
          },
          request_id: requestId,
        };
  return Buffer.from(JSON.stringify(body));
}
