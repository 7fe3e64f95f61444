/**
 * An upstream that answers when the test says so: a request in flight stays in flight until it is let go, so that
 * nothing about "meanwhile" depends on time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface ChatCall {
  readonly model: string;
  readonly max_tokens?: number;
  readonly stream?: boolean;
}

/** One request that has arrived upstream and waits. */
export class Gated {
  readonly body: ChatCall;
  readonly headers: IncomingMessage['headers'];
  /** The gateway has closed the connection, or the answer is complete. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(body: ChatCall, headers: IncomingMessage['headers'], response: ServerResponse) {
    this.body = body;
    this.headers = headers;
    this.#response = response;
    this.closed = new Promise((resolve) => response.on('close', () => resolve()));
  }

  /** The whole answer, with this usage. */
  answer(promptTokens = 10, completionTokens = 5, content = 'Let through.'): void {
    this.reply(200, {
      id: 'chatcmpl-gated',
      object: 'chat.completion',
      created: 1_767_225_600,
      model: this.body.model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: tokens(promptTokens, completionTokens),
    });
  }

  reply(status: number, body: object, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.#response.end(JSON.stringify(body));
  }

  /** Begins a stream with its first two chunks. */
  begin(): void {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#chunk({ role: 'assistant', content: '' }, null);
    this.#chunk({ content: 'Let' }, null);
  }

  finish(promptTokens = 10, completionTokens = 5): void {
    this.#chunk({ content: ' through.' }, null);
    this.#chunk({}, 'stop');
    this.#event({ choices: [], usage: tokens(promptTokens, completionTokens) });
    this.#response.end('data: [DONE]\n\n');
  }

  #chunk(delta: object, finishReason: string | null): void {
    this.#event({ choices: [{ index: 0, delta, finish_reason: finishReason }] });
  }

  #event(fields: object): void {
    const common = {
      id: 'chatcmpl-gated',
      object: 'chat.completion.chunk',
      created: 1_767_225_600,
      model: this.body.model,
    };
    this.#response.write(`data: ${JSON.stringify({ ...common, ...fields })}\n\n`);
  }
}

function tokens(prompt: number, completion: number): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

export interface GatedUpstream extends AsyncDisposable {
  /**
   * A config file that publishes it, beside the sandbox and not to the public: `gated/one` at the sandbox's prices,
   * `gated/two` with prices for caching, of which writing costs twice as much as input, `gated/few` with an output limit of 100.
   */
  readonly config: string;
  /** How many requests have arrived so far. */
  readonly arrivals: number;
  /** The next request to arrive, in order. */
  next(): Promise<Gated>;
}

function model(id: string, outputTokens: number, pricing: string): string[] {
  return [
    `  - id: ${id}`,
    '    targets: [{ provider: gated, model: gated-upstream, format: chat }]',
    '    context_window: 128000',
    `    max_output_tokens: ${outputTokens}`,
    `    pricing: ${pricing}`,
  ];
}

export const GATED_SECRET = 'sk-gated-0123456789abcdef';

/** `limits`: of the config file, where the test needs others. */
export async function gatedUpstream(limits: object = {}): Promise<GatedUpstream> {
  const arrived: Gated[] = [];
  const waiting: ((gated: Gated) => void)[] = [];
  let arrivals = 0;
  const server = createServer((request, response) => {
    json(request).then(
      (body) => {
        arrivals += 1;
        const gated = new Gated(body as ChatCall, request.headers, response);
        const wake = waiting.shift();
        if (wake) wake(gated);
        else arrived.push(gated);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: [
      'providers:',
      '  gated:',
      '    kind: openai',
      `    base_url: http://127.0.0.1:${port}/v1`,
      `    api_key: ${GATED_SECRET}`,
      '    formats: [chat]',
      'models:',
      ...model('gated/one', 16_384, '{ input: 1, output: 4 }'),
      ...model('gated/two', 16_384, '{ input: 1, output: 4, cache_read: 0.1, cache_write: 2 }'),
      ...model('gated/few', 100, '{ input: 1, output: 4 }'),
      // A test that failed midway must not hold up the end of its file.
      `limits: ${JSON.stringify({ drain: 1, count_wait: 300, ...limits })}`,
      'routing: { max_attempts: 1 }',
      '',
    ].join('\n'),
    get arrivals() {
      return arrivals;
    },
    next: () => {
      const gated = arrived.shift();
      return gated ? Promise.resolve(gated) : new Promise((resolve) => waiting.push(resolve));
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
