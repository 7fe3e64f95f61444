/**
 * What goes over the wire between a client and the gateway: a proxy that passes everything on and keeps each request with
 * the usage that its answer tells. So the ledger can be checked for clients that show no usage themselves.
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  /** Null where the answer tells none: it failed, or it is no generation. */
  readonly usage: { readonly input: number; readonly output: number } | null;
  /** The client was gone before the answer had ended. */
  readonly aborted: boolean;
}

interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
}

/** So many pieces of a stream show that it is under way. */
const UNDER_WAY = 20;

export class Wire implements AsyncDisposable {
  readonly #events = new EventEmitter();
  readonly #server = createServer((request, response) => {
    this.#open += 1;
    this.#pass(request, response)
      .catch(() => response.destroy())
      .finally(() => {
        this.#open -= 1;
        this.#events.emit('ended');
      });
  });
  #open = 0;
  readonly #target: URL;
  readonly exchanges: Exchange[] = [];

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async before(target: string): Promise<Wire> {
    const wire = new Wire(target);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The address of the gateway that this stands before, as clients must be told it. */
  through(address: string): string {
    return address.replace(this.#target.origin, this.origin);
  }

  /** Resolves when a stream is under way. */
  async streaming(): Promise<void> {
    await once(this.#events, 'streaming');
  }

  /** Tells of every request that is no GET as it arrives, with their count since this call; returns how to be told no more. */
  onGeneration(told: (count: number) => void): () => void {
    let count = 0;
    const listener = (): void => told(++count);
    this.#events.on('generation', listener);
    return () => this.#events.off('generation', listener);
  }

  /** Resolves when every exchange has ended, those that the client gave up too. */
  async idle(): Promise<void> {
    while (this.#open > 0) await once(this.#events, 'ended');
  }

  /** The exchanges since the last call. */
  taken(): readonly Exchange[] {
    return this.exchanges.splice(0);
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { method = 'GET', url: path = '/', headers } = request;
    if (method !== 'GET') this.#events.emit('generation');
    const { hostname, port } = this.#target;
    const own = { ...headers, host: `${hostname}:${port}` };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const upstream = send({ hostname, port, method, path, headers: own }, resolve).on('error', reject).end(body);
      response.once('close', () => upstream.destroy());
    });
    const { statusCode: status = 502 } = answer;
    response.writeHead(status, answer.headers);
    let text = '';
    let pieces = 0;
    answer.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      response.write(chunk);
      if (++pieces === UNDER_WAY) this.#events.emit('streaming');
    });
    await new Promise<void>((resolve) => answer.once('close', resolve));
    const aborted = !answer.complete;
    response.end();
    this.exchanges.push({
      method,
      path,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body: body.toString(),
      status,
      usage: path.includes('count_tokens') ? null : usageOf(text),
      aborted,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** The last figures that an answer of any format tells, whole or streamed. */
function usageOf(text: string): Exchange['usage'] {
  let usage: Usage | undefined;
  for (const line of text.startsWith('{') ? [text] : text.split('\n')) {
    const json = line.startsWith('{') ? line : line.startsWith('data: {') ? line.slice('data: '.length) : null;
    if (json === null || !json.includes('"usage"')) continue;
    const value = JSON.parse(json) as {
      usage?: Usage | null;
      message?: { usage?: Usage | null } | null;
      response?: { usage?: Usage | null } | null;
    };
    // The start and the end of a message tell different parts of it.
    const told = value.usage ?? value.message?.usage ?? value.response?.usage;
    usage = told ? { ...usage, ...told } : usage;
  }
  if (usage === undefined) return null;
  const input = usage.prompt_tokens ?? usage.input_tokens ?? 0;
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  return { input: input + cached, output: usage.completion_tokens ?? usage.output_tokens ?? 0 };
}
