/**
 * A provider whose model is a script: it looks at the conversation so far and takes the next step of a tool loop, with
 * the tools that it is really offered. It remembers every conversation it saw.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Format } from '../../src/core/endpoints.ts';
import type { TokenCounts } from '../../src/core/usage.ts';
import { type AnswerSpec, type Block, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { type Conversation, conversationOf, type OfferedTool } from './conversation.ts';

/** A text is the free text of a custom tool, an object the arguments of a function. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input: string | object;
  /** What the model must hear of it. */
  readonly result: RegExp;
}

export interface Step {
  readonly say: string;
  /** Several are made in parallel. None: the loop ends here. */
  readonly calls: readonly ScriptedCall[];
}

/** What every answer reports. */
export const TOKENS: TokenCounts = {
  input: 1_000,
  cacheRead: 200,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 60,
  reasoning: 10,
};

const PATHS: Readonly<Record<string, Format>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

/** The id of a step's call, as a provider of the format would make it. */
export function callId(format: Format, step: number, index: number): string {
  return `${format === 'messages' ? 'toolu' : 'call'}_step${step}x${index}`;
}

/** What proves that a thought came back as it was made. */
export function signatureOf(step: number): string {
  return Buffer.from(`the thought of step ${step}`).toString('base64');
}

/** The tool as it is offered; translation may have put a namespace before its name. */
export function offered(tools: readonly OfferedTool[], name: string): OfferedTool | undefined {
  return tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.name.endsWith(`__${name}`));
}

function pieces(text: string): string[] {
  const third = Math.ceil(text.length / 3);
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)].filter((piece) => piece !== '');
}

/** A model that is asked for a summary of a conversation, and forgets what it was: its steps are taken in their order. */
export interface Summarising {
  /** What only such a request says. */
  readonly asks: RegExp;
  readonly summary: string;
}

export class ScriptedUpstream {
  readonly #server: Server;
  readonly #script: readonly Step[];
  readonly #summarising: Summarising | null;
  readonly #usesTools: boolean;
  /** Of the requests that offered tools, or of all where the script uses none. */
  readonly seen: Conversation[] = [];
  /** Of the requests for a summary. */
  readonly summarised: Conversation[] = [];
  /** What the script could not do, or what arrived and is no generation. */
  readonly surprises: string[] = [];
  answers = 0;

  private constructor(script: readonly Step[], summarising: Summarising | null) {
    this.#script = script;
    this.#summarising = summarising;
    this.#usesTools = script.some(({ calls }) => calls.length > 0);
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.surprises.push(String(error));
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: String(error), type: 'invalid_request_error' } }));
      });
    });
  }

  static async start(script: readonly Step[], summarising: Summarising | null = null): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream(script, summarising);
    await new Promise<void>((resolve) => upstream.#server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?');
    const format = PATHS[path];
    if (format === undefined) throw new Error(`${request.method} ${request.url} is not scripted`);
    const body = (await json(request)) as { readonly stream?: boolean };
    const answer = this.#answer(format, conversationOf(format, body));
    this.answers += 1;
    const text = body.stream === true ? streamedAnswer(format, answer) : JSON.stringify(wholeAnswer(format, answer));
    response.writeHead(200, { 'content-type': body.stream === true ? 'text/event-stream' : 'application/json' });
    for (const frame of this.#withOwnIds(text).split(/(?<=\n\n)/)) response.write(frame);
    response.end();
  }

  /** No two answers of a provider have an id in common; agents join what has. */
  #withOwnIds(text: string): string {
    return text.replace(/"(chatcmpl|resp|msg|rs|fc|ctc)([-_])up(\d+)"/g, `"$1$2answer${this.answers}x$3"`);
  }

  #answer(format: Format, conversation: Conversation): AnswerSpec {
    const { asks, summary = '' } = this.#summarising ?? {};
    if (asks?.test(conversation.said)) {
      this.summarised.push(conversation);
      return spoken([{ kind: 'text', pieces: pieces(summary) }], false);
    }
    // Agents ask for titles and the like beside the loop, without tools.
    if (conversation.tools.length === 0 && this.#usesTools)
      return spoken([{ kind: 'text', pieces: ['A title'] }], false);
    this.seen.push(conversation);
    const at = this.#summarising === null ? this.#stepAt(conversation.calls.length) : this.seen.length - 1;
    const step = this.#script[at];
    if (step === undefined) throw new Error(`no step after ${conversation.calls.length} calls`);
    const blocks: Block[] = [];
    if (conversation.wantsThoughts) {
      blocks.push({ kind: 'thinking', pieces: pieces(`Thinking about step ${at}.`), signature: signatureOf(at) });
    }
    blocks.push({ kind: 'text', pieces: pieces(step.say) });
    for (const [index, call] of step.calls.entries()) {
      const tool = offered(conversation.tools, call.tool);
      if (tool === undefined) throw new Error(`the tool ${call.tool} is not offered`);
      blocks.push({ kind: 'tool', id: callId(format, at, index), name: tool.name, ...argumentsFor(tool, call.input) });
    }
    return spoken(blocks, step.calls.length > 0);
  }

  /** The step that follows when this many calls have been made. */
  #stepAt(calls: number): number {
    let made = 0;
    return this.#script.findIndex((step) => {
      const here = made === calls;
      made += step.calls.length;
      return here;
    });
  }
}

function argumentsFor(tool: OfferedTool, input: string | object): { pieces: string[]; custom?: boolean } {
  if (typeof input === 'object') return { pieces: pieces(JSON.stringify(input)) };
  if (tool.schema === null) return { pieces: pieces(input), custom: true };
  return { pieces: pieces(JSON.stringify({ input })) };
}

function spoken(blocks: readonly Block[], calls: boolean): AnswerSpec {
  return { blocks, finish: calls ? 'tool' : 'stop', tokens: TOKENS };
}
