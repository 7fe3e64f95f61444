/** All WebSockets of a process: who may open one, how many there are, and when they end. */
import type { TrustedProxies } from '../core/client-address.ts';
import { GatewayError } from '../core/conditions.ts';
import type { RESPONSES_OVER_WEBSOCKET } from '../core/endpoints.ts';
import type { KeyRecord } from '../core/key.ts';
import { HOUR_MS } from '../core/time.ts';
import { authenticate } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { ResponseMemories } from '../exchange/response-memory.ts';
import type { IncomingRequest, UpgradeResponse } from '../transport/server.ts';
import type { HttpRequest } from './http-request.ts';
import type { Reply } from './reply.ts';
import { ResponseSocket } from './response-socket.ts';
import { noteClient } from './serve-request.ts';

/** A connection without a sign of life for two of these is cut off; shorter than the idle time of the usual proxies. */
const CHECK_MS = 25_000;

interface ResponseSocketsOptions {
  readonly gateway: Gateway;
  readonly proxies: TrustedProxies | null;
  /** Of the listener; infinite where there is no bound. */
  readonly connections: number;
}

export class ResponseSockets {
  readonly #options: ResponseSocketsOptions;
  readonly #open = new Set<ResponseSocket>();
  readonly #memories: ResponseMemories;
  #checks: NodeJS.Timeout | null = null;
  #draining = false;

  constructor(options: ResponseSocketsOptions) {
    this.#options = options;
    this.#memories = new ResponseMemories(() => options.gateway.policy().limits.websocketMemoryBytes);
  }

  get size(): number {
    return this.#open.size;
  }

  /** What they remember of their responses. */
  get memoryBytes(): number {
    return this.#memories.bytes;
  }

  /** Throws what the request is refused with. `opened` is the request itself, `reply` answers it. */
  async accept(
    incoming: IncomingRequest,
    opened: HttpRequest<typeof RESPONSES_OVER_WEBSOCKET>,
    response: UpgradeResponse,
    reply: Reply,
  ): Promise<void> {
    const { gateway, proxies } = this.#options;
    const { key } = await authenticate(gateway, opened);
    refuseClaim(opened);
    this.#refuseTooMany(key);
    const { limits } = gateway.policy();
    const memory = this.#memories.open(() => gateway.policy().limits.bodyBytes);
    const socket = new ResponseSocket({
      gateway,
      opened,
      key,
      memory,
      noteClient: (record) => noteClient(record, gateway, proxies, incoming),
      onClose: () => this.#closed(socket),
    });
    this.#open.add(socket);
    const connection = await response.accept(reply.switchProtocols(), limits.bodyBytes, socket);
    if (connection === null) {
      this.#closed(socket);
      if (!response.closed) throw new GatewayError('invalid_request', NO_HANDSHAKE);
      return;
    }
    gateway.log.debug({ keyId: key.id, requestId: opened.requestId, webSockets: this.size }, 'a WebSocket was opened');
    socket.start(connection);
    if (this.#draining) socket.drain();
    else this.#checks ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Idle ones close at once, the others after the response that runs. */
  drain(): void {
    this.#draining = true;
    for (const socket of this.#open) socket.drain();
  }

  #refuseTooMany({ id }: KeyRecord): void {
    const { websockets, websocketsPerKey } = this.#options.gateway.policy().limits;
    const inAll = Math.min(websockets, Math.max(1, Math.floor(this.#options.connections / 2)));
    let ofKey = 0;
    for (const { keyId } of this.#open) if (keyId === id) ofKey += 1;
    if (ofKey >= websocketsPerKey) {
      const message = `This key has as many WebSockets open as it may have: ${websocketsPerKey}. Close one, or send POST requests.`;
      throw new GatewayError('rate_limit_exceeded', { message });
    }
    if (this.size >= inAll) throw new GatewayError('service_unavailable', { message: FULL });
  }

  #closed(socket: ResponseSocket): void {
    if (!this.#open.delete(socket)) return;
    this.#memories.close(socket.memory);
    if (this.size > 0 || this.#checks === null) return;
    clearInterval(this.#checks);
    this.#checks = null;
  }

  #check(): void {
    const { bodyTimeoutMs } = this.#options.gateway.policy().limits;
    const bornBefore = performance.now() - HOUR_MS;
    for (const socket of [...this.#open]) {
      if (socket.openedAt < bornBefore) socket.expire();
      socket.check(bodyTimeoutMs);
    }
  }
}

const FULL = 'The gateway has as many WebSockets open as it can serve. Send POST requests, or retry later.';
const NO_HANDSHAKE = {
  message: 'The handshake of the WebSocket is not valid: Sec-WebSocket-Key or Sec-WebSocket-Version: 13 is missing.',
} as const;

/** It would name one request, and a connection is for many: who sends it would trust in repeats that are not recognised. */
function refuseClaim({ headers }: HttpRequest<typeof RESPONSES_OVER_WEBSOCKET>): void {
  if (headers.get('idempotency-key') === null) return;
  throw new GatewayError('invalid_request', {
    message: 'An Idempotency-Key belongs to one request: open the WebSocket without it, or send a POST with it.',
    param: 'Idempotency-Key',
  });
}
