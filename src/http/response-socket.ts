/**
 * One WebSocket on `/v1/responses`. Each `response.create` is a request like one over HTTP, with an id, a place in the rate
 * limit, a hold, a charge and a record of its own; they are served one after the other. A `response.steer` takes a place in the
 * rate limit, too.
 */
import { GatewayError } from '../core/conditions.ts';
import { RESPONSES_OVER_WEBSOCKET } from '../core/endpoints.ts';
import type { KeyRecord } from '../core/key.ts';
import { RequestRecord } from '../core/request-record.ts';
import { prepareResponse } from '../endpoints/prepare-response.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { ResponseMemory } from '../exchange/response-memory.ts';
import { run } from '../exchange/run.ts';
import type { WebSocketConnection, WebSocketHandler } from '../transport/server.ts';
import type { HttpRequest } from './http-request.ts';
import { newRequestId } from './request-id.ts';
import { serveRequest } from './serve-request.ts';
import { type CreateMessage, readMessage, type SteerMessage } from './socket-message.ts';
import { SocketReply } from './socket-reply.ts';
import { SocketRequest } from './socket-request.ts';

export const WAITING_MAX = 8;
/** A client that sends on and reads nothing is cut off when so much waits for it. */
const UNREAD_BYTES_MAX = 1_024 * 1_024;

/** RFC 6455, 7.4.1. */
const GOING_AWAY = 1001;
const TOO_LARGE = 1009;
const NOTHING = Buffer.alloc(0);

export interface ResponseSocketOptions {
  readonly gateway: Gateway;
  /** The request that the connection was opened with. */
  readonly opened: HttpRequest<typeof RESPONSES_OVER_WEBSOCKET>;
  readonly key: KeyRecord;
  readonly memory: ResponseMemory;
  noteClient(record: RequestRecord): void;
  onClose(socket: ResponseSocket): void;
}

/** Why a connection takes no further request, and what those that wait are told. */
interface Ending {
  readonly code: number;
  readonly reason: string;
  readonly waiting: GatewayError | null;
}

export class ResponseSocket implements WebSocketHandler {
  readonly keyId: string;
  readonly memory: ResponseMemory;
  readonly openedAt = performance.now();
  readonly #options: ResponseSocketOptions;
  #connection: WebSocketConnection | null = null;
  readonly #waiting: CreateMessage[] = [];
  #serving = false;
  /** How many of them have no answer yet. */
  #steers = 0;
  #reply: SocketReply | null = null;
  #ending: Ending | null = null;
  /** Of events beside the streams, since the client has last read everything. */
  #unreadBytes = 0;
  /** Ends the wait for a client that has not read its last answer. */
  #taken: (() => void) | null = null;

  constructor(options: ResponseSocketOptions) {
    this.#options = options;
    this.keyId = options.key.id;
    this.memory = options.memory;
  }

  /** The 101 has been sent. */
  start(connection: WebSocketConnection): void {
    this.#connection = connection;
    if (this.#ending !== null) this.#endIfFree();
  }

  onMessage(content: Buffer, isText: boolean): void {
    const message = readMessage(content, isText);
    if (message.type === 'steer') {
      if (this.#steers < WAITING_MAX) void this.#failToSteer(message);
      else void this.#refuse(null, new GatewayError('rate_limit_exceeded', WAITING));
    } else if (this.#ending?.waiting) void this.#refuse(message, this.#ending.waiting);
    else if (!this.#hasRoomFor(message)) void this.#refuse(message, new GatewayError('rate_limit_exceeded', WAITING));
    else {
      this.#waiting.push(message);
      void this.#serveWaiting();
    }
  }

  onFault(code: number): void {
    const { bodyBytes } = this.#options.gateway.policy().limits;
    const message = code === TOO_LARGE ? `The message is larger than ${bodyBytes} bytes.` : undefined;
    if (message !== undefined) void this.#refuse(null, new GatewayError('request_too_large', { message }));
    // What was sent before it is served.
    this.#end({ code, reason: 'The message could not be read.', waiting: null });
  }

  onClose(): void {
    this.#waiting.length = 0;
    this.#reply?.connectionClosed();
    this.#taken?.();
    this.#options.onClose(this);
  }

  /** Closes it after the response that runs; others that wait are told why. */
  drain(): void {
    this.#end({ code: GOING_AWAY, reason: 'The gateway is shutting down.', waiting: DRAINING });
  }

  expire(): void {
    const waiting = new GatewayError('websocket_connection_limit_reached');
    this.#end({ code: GOING_AWAY, reason: waiting.condition, waiting });
  }

  /** Regularly: whether the client is still there. */
  check(messageMs: number): void {
    this.#connection?.check(messageMs);
  }

  #end(ending: Ending): void {
    this.#ending ??= ending;
    const { waiting } = this.#ending;
    if (waiting !== null) for (const message of this.#waiting.splice(0)) void this.#refuse(message, waiting);
    this.#endIfFree();
  }

  #endIfFree(): void {
    if (this.#ending !== null && !this.#serving) this.#connection?.close(this.#ending.code, this.#ending.reason);
  }

  #hasRoomFor({ body }: CreateMessage): boolean {
    const { length } = this.#waiting;
    const bytes = this.#waiting.reduce((sum, message) => sum + bytesOf(message.body), bytesOf(body));
    return length === 0 || (length < WAITING_MAX && bytes <= this.#options.gateway.policy().limits.bodyBytes);
  }

  async #serveWaiting(): Promise<void> {
    if (this.#serving) return;
    this.#serving = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#serve(next);
    this.#serving = false;
    this.#endIfFree();
  }

  async #serve({ streamId, prepares, body }: CreateMessage): Promise<void> {
    const { gateway, opened } = this.#options;
    const reply = this.#newReply(streamId);
    if (reply === null) return;
    this.#reply = reply;
    const request = new SocketRequest(opened, reply.record, this.memory, body);
    await serveRequest(gateway, reply, () => (prepares ? prepareResponse : run)(gateway, request, reply));
    this.#reply = null;
    await this.#untilTaken(reply.lingerMs ?? gateway.policy().limits.bodyTimeoutMs);
  }

  /** At once, beside the response that runs. */
  async #failToSteer({ steer }: SteerMessage): Promise<void> {
    const { gateway, opened } = this.#options;
    const reply = this.#newReply(null);
    if (reply === null) return;
    const request = new SocketRequest(opened, reply.record, this.memory, NOTHING);
    this.#steers += 1;
    await serveRequest(gateway, reply, async () => {
      await countAgainstRateLimit(gateway, request, await authenticate(gateway, request));
      reply.send(200, '', Buffer.from(JSON.stringify({ ...STEER_FAILED, steer })));
    });
    this.#steers -= 1;
  }

  /** It is a request all the same, which somebody may look for. `message`: null where it was not read. */
  async #refuse(message: CreateMessage | null, why: GatewayError): Promise<void> {
    const { gateway, key } = this.#options;
    const reply = this.#newReply(message?.streamId ?? null);
    if (reply === null) return;
    reply.record.authenticated(key, gateway.observer);
    await serveRequest(gateway, reply, () => Promise.reject(why));
  }

  /** Null where nobody would get it. */
  #newReply(streamId: string | null): SocketReply | null {
    const { gateway, noteClient } = this.#options;
    const connection = this.#connection;
    if (connection === null || connection.closed) return null;
    const record = new RequestRecord(newRequestId(), RESPONSES_OVER_WEBSOCKET, gateway.clock.nowMs());
    noteClient(record);
    record.webSocket = true;
    const say = (content: Buffer): void => this.#say(content);
    const eventBytesMax = gateway.policy().limits.bodyBytes;
    return new SocketReply({ connection, say, record, endpoint: RESPONSES_OVER_WEBSOCKET, streamId, eventBytesMax });
  }

  /** An event that is no part of a stream: a client that goes on asking for such and reads none is cut off. */
  #say(content: Buffer): void {
    const connection = this.#connection;
    if (connection === null) return;
    if (!connection.needsDrain) this.#unreadBytes = 0;
    if (this.#unreadBytes > UNREAD_BYTES_MAX) connection.destroy();
    this.#unreadBytes += content.length;
    connection.send(content);
  }

  /** Nothing further is produced for a client that does not read. */
  async #untilTaken(waitMs: number): Promise<void> {
    const connection = this.#connection;
    if (connection === null || connection.closed || !connection.needsDrain) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => connection.destroy(), waitMs);
      this.#taken = () => {
        clearTimeout(timer);
        resolve();
      };
      connection.onDrain(this.#taken);
    });
    this.#taken = null;
  }
}

const STEER_FAILED = {
  type: 'response.steer.failed',
  sequence_number: 0,
  error: {
    type: 'invalid_request_error',
    code: 'steering_not_supported',
    message: 'A response cannot be steered here. Send the input with the next response.create.',
  },
} as const;

const WAITING = {
  message: `As many requests wait on this connection as may: ${WAITING_MAX}, or as many bytes as one body may have. Wait for a response, or open another connection.`,
} as const;

const DRAINING = new GatewayError('service_unavailable', {
  message: 'The gateway is shutting down and accepts no new work. Retry on another one.',
});

function bytesOf(body: Buffer | GatewayError): number {
  return body instanceof GatewayError ? 0 : body.length;
}
