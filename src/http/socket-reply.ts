/** The answer to one `response.create`: the events of a stream as messages, or one error event. */
import type { Endpoint } from '../core/endpoints.ts';
import { type Failure, failureOf } from '../core/failure.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import type { StoredReply } from '../ledger/port.ts';
import type { WebSocketConnection } from '../transport/server.ts';
import { FrameSplitter, joinedData } from '../wire/sse.ts';
import { failureHeaders } from './reply.ts';

interface SocketReplyOptions {
  readonly connection: WebSocketConnection;
  /** Sends an event that is no part of a stream. */
  say(event: Buffer): void;
  readonly record: RequestRecord;
  readonly endpoint: Endpoint;
  readonly streamId: string | null;
  /** A larger event cannot be sent: the connection breaks. */
  readonly eventBytesMax: number;
}

/** One per request. */
export class SocketReply implements ResponseSink {
  readonly record: RequestRecord;
  headersSent = false;
  /** For how long the client may take its last bytes; null: as long as a request may take. */
  lingerMs: number | null = null;
  readonly #connection: WebSocketConnection;
  readonly #say: (event: Buffer) => void;
  readonly #endpoint: Endpoint;
  readonly #streamId: string | null;
  readonly #eventBytesMax: number;
  readonly #splitter = new FrameSplitter();
  #ended = false;
  #closed = false;
  #onClose: (() => void) | null = null;

  constructor({ connection, say, record, endpoint, streamId, eventBytesMax }: SocketReplyOptions) {
    this.#connection = connection;
    this.#say = say;
    this.record = record;
    this.#endpoint = endpoint;
    this.#streamId = streamId;
    this.#eventBytesMax = eventBytesMax;
    if (connection.closed) this.connectionClosed();
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
    if (this.#closed) listener();
  }

  connectionClosed(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#closed = true;
    this.#onClose?.();
  }

  writeHead(): void {
    this.headersSent = true;
    this.record.status = 200;
  }

  write(bytes: Buffer): boolean {
    this.record.wrote(bytes);
    this.#splitter.feed(bytes);
    this.#sendFrames();
    return !this.#connection.needsDrain;
  }

  onDrain(listener: () => void): void {
    this.#connection.onDrain(listener);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    this.record.sent(bytes);
    this.#splitter.feed(Buffer.from(bytes));
    this.#sendFrames();
    this.#splitter.close();
    this.#sendFrames();
    this.#ended = true;
    this.lingerMs = lingerMs ?? null;
  }

  destroy(): void {
    this.#connection.destroy();
  }

  send(status: number, _contentType: string, body: Uint8Array): void {
    if (!this.#closed) {
      this.record.status = status;
      this.record.sent(body);
    }
    this.#say(Buffer.from(body));
    this.#ended = true;
  }

  replay({ body }: StoredReply): void {
    this.writeHead();
    this.end(body);
  }

  error(error: unknown): void {
    const failure = failureOf(this.#endpoint, error);
    this.record.failed(failure);
    if (this.headersSent) this.destroy();
    else this.send(failure.status, '', this.#errorEvent(failure));
  }

  #errorEvent(failure: Failure): Buffer {
    const { requestId } = this.record;
    const pairs = ['x-request-id', requestId, ...failureHeaders(failure)].map(String);
    const headers = Object.fromEntries(pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1]]] : [])));
    const { status, type, code, message, param } = failure;
    const event = {
      type: 'error',
      status,
      error: { type, code, message, param, request_id: requestId, headers },
      // Codex reads them here, and waits for as long as they say.
      headers,
      ...(this.#streamId === null ? {} : { stream_id: this.#streamId }),
    };
    return Buffer.from(JSON.stringify(event));
  }

  #sendFrames(): void {
    const splitter = this.#splitter;
    while (splitter.next()) {
      if (splitter.dataLines === 0) {
        this.#connection.ping();
        continue;
      }
      const single = splitter.dataLines === 1;
      const data = single ? splitter.bytes.subarray(splitter.dataStart, splitter.dataEnd) : joinedData(splitter);
      this.#connection.send(this.#withStreamId(typeof data === 'string' ? Buffer.from(data) : data));
    }
    splitter.release();
    if (splitter.partialLength > this.#eventBytesMax) this.destroy();
  }

  /** Behind the opening brace: every event has members. */
  #withStreamId(event: Buffer): Buffer {
    if (this.#streamId === null) return event;
    const opening = Buffer.from(`{"stream_id":${JSON.stringify(this.#streamId)},`);
    return Buffer.concat([opening, event.subarray(event.indexOf('{') + 1)]);
  }
}
