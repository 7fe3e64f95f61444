/**
 * A provider of the messages format whose model thinks for a long time without showing it: of its thoughts only a signature is streamed, and
 * what they have cost is known from the report at the end.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { NO_TOKENS, type TokenCounts } from '../../src/core/usage.ts';
import { type AnswerSpec, type Block, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';

/** Asks for an answer that takes a second, so that many of them can be made before what is tried. */
export const QUICKLY = 'Answer quickly.';
export const FINAL = 'All of it was thought through.';
/** In 20 s: 45 tokens of output in a second, most of them unseen. */
const TOKENS: TokenCounts = { ...NO_TOKENS, input: 500, output: 900, reasoning: 800 };
/** Of a quick answer: 30 tokens in its second beyond the 2,048 that a stream may have at once. */
const QUICK_TOKENS: TokenCounts = { ...NO_TOKENS, input: 500, output: 2_078, reasoning: 2_000 };
const ANSWER_MS = 20_000;
const QUICK_MS = 1_000;
const PING_MS = 2_000;

interface Asked {
  readonly stream?: boolean;
  readonly thinking?: { readonly type?: string };
  readonly messages: readonly { readonly content: unknown }[];
}

export class ThinkingUpstream implements AsyncDisposable {
  readonly #server: Server;
  /** Of the answers that were sent to their end. */
  readonly reported: TokenCounts[] = [];
  /** How many requests asked for thoughts, and how many did not. */
  readonly asked = { thinking: 0, plain: 0 };
  readonly surprises: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const answered = async (): Promise<void> => {
        if (request.url?.split('?')[0] !== '/v1/messages') throw new Error(`${request.url} is not scripted`);
        await this.#answer((await json(request)) as Asked, response);
      };
      answered().catch((error: unknown) => {
        this.surprises.push(String(error));
        response.destroy();
      });
    });
  }

  static async start(): Promise<ThinkingUpstream> {
    const upstream = new ThinkingUpstream();
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer({ stream, thinking, messages }: Asked, response: ServerResponse): Promise<void> {
    const quick = JSON.stringify(messages).includes(QUICKLY);
    const tokens = quick ? QUICK_TOKENS : TOKENS;
    const thinks = thinking !== undefined && thinking.type !== 'disabled';
    this.asked[thinks ? 'thinking' : 'plain'] += 1;
    const text: Block = { kind: 'text', pieces: [FINAL] };
    const thought: Block = { kind: 'thinking', pieces: [], signature: 'c2lnbmVk' };
    const spec: AnswerSpec = { blocks: thinks ? [thought, text] : [text], finish: 'stop', tokens };
    if (stream !== true) {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(wholeAnswer('messages', spec)));
    } else
      await this.#stream(response, streamedAnswer('messages', spec).split(/(?<=\n\n)/), quick ? QUICK_MS : ANSWER_MS);
    this.reported.push(tokens);
  }

  /** The time passes while the model thinks: behind the beginning of the answer. */
  async #stream(response: ServerResponse, frames: readonly string[], ms: number): Promise<void> {
    const [start = '', ...rest] = frames;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(start);
    for (let left = ms; left > 0 && !response.destroyed; left -= PING_MS) {
      await delay(Math.min(left, PING_MS));
      response.write('event: ping\ndata: {"type":"ping"}\n\n');
    }
    if (response.destroyed) throw new Error('a stream was left before its end');
    response.end(rest.join(''));
  }
}
