/** A `response.create` as a request: its body is the message, and everything else is what the connection was opened with. */
import type { GatewayError } from '../core/conditions.ts';
import { RESPONSES_OVER_WEBSOCKET } from '../core/endpoints.ts';
import type { Mode } from '../core/key.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { ClientRequest, RequestHeaders } from '../exchange/request.ts';
import type { ResponseMemory } from '../exchange/response-memory.ts';

type Opened = Pick<
  ClientRequest<typeof RESPONSES_OVER_WEBSOCKET>,
  'originMode' | 'origin' | 'path' | 'headers' | 'clientAddress'
>;

const NOTHING = Buffer.alloc(0);

export class SocketRequest implements ClientRequest<typeof RESPONSES_OVER_WEBSOCKET> {
  readonly requestId: string;
  readonly endpoint = RESPONSES_OVER_WEBSOCKET;
  readonly originMode: Mode;
  readonly origin: string | null;
  readonly path: string;
  readonly query = '';
  readonly headers: RequestHeaders;
  readonly clientAddress: string;
  readonly record: RequestRecord;
  readonly memory: ResponseMemory;
  /** Until it is read. */
  #body: Buffer | GatewayError;

  constructor(opened: Opened, record: RequestRecord, memory: ResponseMemory, body: Buffer | GatewayError) {
    this.requestId = record.requestId;
    this.originMode = opened.originMode;
    this.origin = opened.origin;
    this.path = opened.path;
    this.headers = opened.headers;
    this.clientAddress = opened.clientAddress;
    this.record = record;
    this.memory = memory;
    this.#body = body;
  }

  /** Once. The connection has taken no larger one. */
  async readBody(): Promise<Buffer | GatewayError> {
    const body = this.#body;
    this.#body = NOTHING;
    return body;
  }
}
