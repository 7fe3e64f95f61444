/** The only writer of statuses, envelopes and reply headers. */
import type { Endpoint, Envelope } from '../core/endpoints.ts';
import { type Failure, failureOf } from '../core/failure.ts';
import type { ReplyNotes, ResponseSink } from '../exchange/response-sink.ts';
import type { StoredReply } from '../ledger/port.ts';
import { fieldLine } from '../transport/lean/head-lines.ts';
import type { Answer } from '../transport/lean/server/response.ts';

export type HeaderFields = Readonly<Record<string, string | number>>;

const STREAM_FIELDS = 'cache-control: no-store\r\nx-accel-buffering: no\r\n';
const NO_FIELDS: HeaderFields = {};

/** One per request. */
export class Reply implements ResponseSink {
  readonly requestId: string;
  readonly notes: ReplyNotes = { rate: null, attempts: 0 };
  readonly #answer: Answer;
  readonly #endpoint: Endpoint | null;
  readonly #envelope: Envelope;

  constructor(answer: Answer, requestId: string, endpoint: Endpoint | null, envelope: Envelope) {
    this.#answer = answer;
    this.requestId = requestId;
    this.#endpoint = endpoint;
    this.#envelope = envelope;
  }

  get headersSent(): boolean {
    return this.#answer.begun;
  }

  get closed(): boolean {
    return this.#answer.gone;
  }

  onClose(listener: () => void): void {
    this.#answer.whenGone(listener);
  }

  writeHead(contentType: string, atOnce = false): void {
    this.#answer.begin(200, this.#head(contentType) + STREAM_FIELDS);
    if (atOnce) this.#answer.flush();
  }

  write(bytes: Buffer): boolean {
    return this.#answer.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#answer.whenDrained(listener);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    this.#answer.end(bytes, lingerMs);
  }

  destroy(): void {
    this.#answer.cut();
  }

  send(status: number, contentType: string, body: Uint8Array, extra = NO_FIELDS): void {
    this.#answer.whole(status, this.#head(contentType) + fieldLines(extra), body);
  }

  replay(reply: StoredReply): void {
    const stream = reply.contentType.startsWith('text/event-stream');
    this.send(reply.status, reply.contentType, reply.body, {
      'idempotent-replayed': 'true',
      ...(stream ? { 'cache-control': 'no-store' } : {}),
    });
  }

  json(body: object, extra = NO_FIELDS): void {
    this.send(200, 'application/json', Buffer.from(JSON.stringify(body)), extra);
  }

  /** Before the status line only; what fails after it is told in-band by the exchange. */
  error(error: unknown, extra = NO_FIELDS): void {
    const failure = failureOf(this.#endpoint, error);
    if (this.#answer.begun) {
      this.destroy();
      return;
    }
    this.send(failure.status, 'application/json', errorBody(this.#envelope, failure, this.requestId), {
      ...failureHeaders(failure),
      ...extra,
    });
  }

  #head(contentType: string): string {
    // Foreign text where a provider has named it.
    let lines = `x-request-id: ${this.requestId}\r\n${fieldLine('content-type', contentType)}`;
    if (this.#envelope === 'B') lines += `request-id: ${this.requestId}\r\n`;
    const { rate, attempts } = this.notes;
    if (rate) {
      lines +=
        `x-ratelimit-limit-requests: ${rate.limit}\r\nx-ratelimit-remaining-requests: ${rate.remaining}\r\n` +
        `x-ratelimit-reset-requests: ${Math.ceil(rate.resetMs / 1_000)}\r\n`;
    }
    return attempts > 0 ? `${lines}x-gateway-attempts: ${attempts}\r\n` : lines;
  }
}

export function fieldLines(fields: HeaderFields): string {
  let lines = '';
  for (const name in fields) lines += fieldLine(name, fields[name] ?? '');
  return lines;
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
