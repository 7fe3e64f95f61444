/** A client of a WebSocket on `/v1/responses` that sees every event in its order. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';

export interface SocketEvent {
  readonly type: string;
  readonly sequence_number?: number;
  readonly stream_id?: string;
  readonly status?: number;
  readonly delta?: string;
  readonly error?: { readonly type: string; readonly code: string; readonly message: string; readonly param: string };
  readonly response?: {
    readonly id: string;
    readonly status: string;
    readonly store: boolean;
    readonly previous_response_id: string | null;
    readonly output: readonly { readonly id: string; readonly type: string }[];
    readonly usage: { readonly input_tokens: number; readonly output_tokens: number } | null;
  };
  readonly [member: string]: unknown;
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

export class SocketClient implements AsyncDisposable {
  readonly webSocket: WebSocket;
  readonly #events: SocketEvent[] = [];
  #arrived: () => void = () => {};

  constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    webSocket.on('message', (content) => {
      this.#events.push(JSON.parse(String(content)) as SocketEvent);
      this.#arrived();
    });
    webSocket.on('close', () => this.#arrived());
    webSocket.on('error', () => {});
  }

  static async open(key: Pick<CreatedKey, 'origin' | 'key'>, options: ClientOptions = {}): Promise<SocketClient> {
    const client = new SocketClient(webSocketOf(key, options));
    await once(client.webSocket, 'open');
    return client;
  }

  create(said: unknown, extra: object = {}): this {
    return this.send({ type: 'response.create', model: 'sandbox/alpha', input: said, ...extra });
  }

  send(event: object | string): this {
    this.webSocket.send(typeof event === 'string' ? event : JSON.stringify(event));
    return this;
  }

  /** The next event; rejects where the connection closes before it. */
  async next(): Promise<SocketEvent> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      assert.ok(this.webSocket.readyState < WebSocket.CLOSED, 'the connection is closed');
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  /** All events up to the end of the next answer. */
  async answer(): Promise<readonly SocketEvent[]> {
    const events: SocketEvent[] = [];
    do events.push(await this.next());
    while (!ENDS.has(events.at(-1)?.type ?? ''));
    return events;
  }

  /** The complete response of the next answer. */
  async completed(): Promise<NonNullable<SocketEvent['response']>> {
    const last = (await this.answer()).at(-1);
    assert.equal(last?.type, 'response.completed', JSON.stringify(last));
    assert.ok(last.response);
    return last.response;
  }

  /** The next event, which is an error. */
  async refused(): Promise<NonNullable<SocketEvent['error']> & { readonly status: number | undefined }> {
    const event = await this.next();
    assert.equal(event.type, 'error', JSON.stringify(event));
    assert.ok(event.error);
    return { ...event.error, status: event.status };
  }

  /** The code and the reason that the gateway closes with. */
  async closed(): Promise<readonly [number, string]> {
    const [code, reason] = (await once(this.webSocket, 'close')) as [number, Buffer];
    return [code, String(reason)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.webSocket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.webSocket, 'close');
    this.webSocket.terminate();
    await closed;
  }
}

export function webSocketOf(
  { origin, key }: Pick<CreatedKey, 'origin' | 'key'>,
  options: ClientOptions = {},
): WebSocket {
  const { headers, ...others } = options;
  return new WebSocket(`${origin.replace(/^http/, 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...others,
  });
}

/** What a handshake is refused with. */
export async function refusedHandshake(
  webSocket: WebSocket,
): Promise<{ readonly status: number; readonly code: string }> {
  webSocket.on('error', () => {});
  const [, response] = await once(webSocket, 'unexpected-response');
  let text = '';
  for await (const piece of response) text += String(piece);
  assert.match(String(response.headers['x-request-id']), /^req_/);
  const { error } = JSON.parse(text) as { readonly error: { readonly code: string } };
  return { status: response.statusCode, code: error.code };
}
