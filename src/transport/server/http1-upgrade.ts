/** The response to a client that asks for a WebSocket over HTTP/1.1. */
import type { ServerResponse as OutgoingMessage } from 'node:http';
import type { RawHeaders, UpgradeResponse, WebSocketConnection, WebSocketHandler } from '../server.ts';
import type { Http1Request } from './http1-request.ts';
import { Http1Response, type ResponseOwner } from './http1-response.ts';

export class Http1Upgrade extends Http1Response implements UpgradeResponse {
  readonly #outgoing: OutgoingMessage;
  readonly #request: Http1Request;
  readonly #owner: ResponseOwner;
  readonly #head: Buffer;

  /** `head`: what the client has sent behind its request. */
  constructor(outgoing: OutgoingMessage, request: Http1Request, owner: ResponseOwner, head: Buffer) {
    super(outgoing, request, owner);
    this.#outgoing = outgoing;
    this.#request = request;
    this.#owner = owner;
    this.#head = head;
  }

  async accept(
    headers: RawHeaders,
    messageBytesMax: number,
    handler: WebSocketHandler,
  ): Promise<WebSocketConnection | null> {
    // Most gateways never need it.
    const { isHandshake, openWebSocket } = await import('./web-socket.ts');
    const { message } = this.#request;
    if (this.phase !== 'open' || !isHandshake(message)) return null;
    const { socket } = this.#owner;
    this.phase = 'ended';
    this.#outgoing.detachSocket(socket);
    return openWebSocket({ message, socket, head: this.#head, headers, messageBytesMax, handler });
  }
}
