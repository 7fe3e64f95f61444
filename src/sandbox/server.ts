/**
 * The sandbox: a simulated upstream on a real socket. It accepts any credential and model name, and always gives the
 * same answer to the same request; directives in the last user message (`directives.ts`) make it slow, long or faulty.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { planAnswers } from './answer.ts';
import { chat } from './chat.ts';
import type { Dialect, Failure } from './dialect.ts';
import { type Directives, parseDirectives } from './directives.ts';
import { isObject, type JsonObject } from './json.ts';
import { messages } from './messages.ts';
import { BadRequest, type Prompt, readPrompt } from './prompt.ts';
import { responses } from './responses.ts';
import { Sender } from './sender.ts';
import { type SandboxStats, Stats } from './stats.ts';
import { checkStrictly, type StrictFormat } from './strict.ts';

export interface SandboxOptions {
  /** 0, the default, means any free port. */
  readonly port?: number;
  readonly host?: string;
  /** Every request is judged as the real APIs judge it; otherwise those that ask for it (`[[strict]]`). */
  readonly strict?: boolean;
}

export interface Sandbox {
  /** The bare origin, without `/v1`. */
  readonly url: string;
  readonly port: number;
  readonly stats: SandboxStats;
  /** Aborts running requests; resolves when the port is free. */
  close(): Promise<void>;
}

/** Not by an import, which would load a second undici: `lib/node-http.ts` has the figures. */
const { createServer } = process.getBuiltinModule('node:http');

/** The upstream names behind sandbox/alpha, sandbox/beta and sandbox/tiny. Any other name works as well. */
const MODELS = ['alpha-sim', 'beta-sim', 'tiny-sim'] as const;
const MODELS_CREATED_S = 1_767_225_600;
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const KEEP_ALIVE_MS = 65_000;
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 503, 529]);

interface Route {
  readonly method: 'GET' | 'POST';
  readonly format: StrictFormat;
  readonly dialect: Dialect;
  readonly answer: 'models' | 'generation' | 'count';
}

const ROUTES: ReadonlyMap<string, Route> = new Map([
  ['/v1/models', { method: 'GET', format: 'chat', dialect: chat, answer: 'models' }],
  ['/v1/chat/completions', { method: 'POST', format: 'chat', dialect: chat, answer: 'generation' }],
  ['/v1/responses', { method: 'POST', format: 'responses', dialect: responses, answer: 'generation' }],
  ['/v1/messages', { method: 'POST', format: 'messages', dialect: messages, answer: 'generation' }],
  ['/v1/messages/count_tokens', { method: 'POST', format: 'messages', dialect: messages, answer: 'count' }],
]);

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const stats = new Stats();
  let closing = false;
  const server = createServer({ noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const sender = new Sender(response);
    stats.begin();
    response.on('close', () => stats.end(!response.writableFinished && !sender.broken && !closing));
    serve(request, sender, options.strict ?? false).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    stats,
    close: () =>
      new Promise((resolve) => {
        closing = true;
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(request: IncomingMessage, sender: Sender, strict: boolean): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const route = ROUTES.get(path);
  const fail = (status: number, message: string, param: string | null = null, digest = hash('sha256', path, 'hex')) =>
    sendFailure(sender, route?.dialect ?? chat, { status, message, param, requestId: requestId(digest) });
  if (route === undefined) return fail(404, `The sandbox has no ${path}.`);
  if (request.method !== route.method) return fail(405, `${path} supports ${route.method} only.`);
  if (route.answer === 'models') return sender.sendWhole(200, {}, modelList());

  const body = await readBody(request, sender);
  if (body === 'closed') return;
  if (body === 'too_large') return fail(413, 'The request body is too large.');
  const digest = hash('sha256', body, 'hex');
  try {
    const prompt = readPrompt(parseBody(body), route.dialect.read);
    await answer({ route, request, sender, body, digest, prompt, strict });
  } catch (error) {
    if (error instanceof BadRequest) return fail(400, error.message, error.param, digest);
    // Deep nesting exhausts the stack of the parser.
    if (error instanceof RangeError) return fail(400, 'The request body is nested too deeply.', null, digest);
    throw error;
  }
}

function readBody(request: IncomingMessage, sender: Sender): Promise<Buffer | 'closed' | 'too_large'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else resolve('too_large');
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => resolve('closed'));
    request.on('close', () => {
      if (sender.closed || !request.complete) resolve('closed');
    });
  });
}

function parseBody(body: Buffer): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    throw new BadRequest('The request body is not valid JSON.');
  }
  if (!isObject(parsed)) throw new BadRequest('The request body must be a JSON object.');
  return parsed;
}

interface Work {
  readonly route: Route;
  readonly request: IncomingMessage;
  readonly sender: Sender;
  readonly body: Buffer;
  readonly digest: string;
  readonly prompt: Prompt;
  readonly strict: boolean;
}

async function answer(work: Work): Promise<void> {
  const { route, sender, prompt, digest } = work;
  const directives = parseDirectives(prompt.userText);
  if (work.strict || directives.strict) checkStrictly(route.format, prompt, route.answer === 'generation');
  const { delayMs, failAfter, status } = directives;
  if (directives.waitMs !== undefined) await sender.sleep(directives.waitMs);
  if (status !== undefined || failAfter === 0) {
    if (delayMs !== undefined) await sender.sleep(delayMs);
    if (status === undefined) return sender.reset();
    const message = `Simulated error with status ${status}.`;
    return sendFailure(sender, route.dialect, { status, message, param: null, requestId: requestId(digest) });
  }
  const inputTokens = Math.min(prompt.inputTokens, work.body.length);
  const headers = { [route.dialect.requestIdHeader]: requestId(digest) };
  if (route.answer === 'count') {
    return sendPaced(sender, headers, JSON.stringify({ input_tokens: inputTokens }), 1, directives);
  }
  const answers = planAnswers(prompt, directives, {
    bodyText: () => work.body.toString(),
    headersText: () => JSON.stringify(work.request.headers),
  });
  const createdS = Math.floor(Date.now() / 1000);
  const outputTokens = answers.reduce((sum, one) => sum + one.outputTokens, 0);
  const reasoningTokens = answers.reduce((sum, one) => sum + one.reasoningTokens, 0);
  const usage = { inputTokens, outputTokens, reasoningTokens, reportUsage: directives.usage };
  const reply = { prompt, answers, ...usage, digest, createdS };
  if (prompt.stream) return sender.sendStream(headers, route.dialect.writeStream(reply), { delayMs, failAfter });
  return sendPaced(sender, headers, route.dialect.writeWhole(reply), outputTokens, directives);
}

/** A whole answer takes as long, and fails at the same point, as its stream of so many chunks would. */
async function sendPaced(
  sender: Sender,
  headers: Readonly<Record<string, string>>,
  body: string,
  chunks: number,
  directives: Directives,
): Promise<void> {
  const { delayMs, failAfter } = directives;
  const fails = failAfter !== undefined && failAfter <= chunks;
  if (delayMs !== undefined) await sender.sleep(delayMs * (fails ? failAfter : chunks));
  if (fails) return sender.sendHalf(headers, body);
  sender.sendWhole(200, headers, body);
}

function sendFailure(sender: Sender, dialect: Dialect, failure: Failure): void {
  const retry: Record<string, string> = RETRY_AFTER_STATUSES.has(failure.status) ? { 'retry-after': '1' } : {};
  const headers = { [dialect.requestIdHeader]: failure.requestId, ...retry };
  sender.sendWhole(failure.status, headers, dialect.writeFailure(failure));
}

function requestId(digest: string): string {
  return `req_${digest.slice(0, 24)}`;
}

/** One list that clients of both families can read. */
function modelList(): string {
  const createdAt = new Date(MODELS_CREATED_S * 1000).toISOString();
  const data = MODELS.map((id) => ({
    id,
    object: 'model',
    type: 'model',
    created: MODELS_CREATED_S,
    created_at: createdAt,
    owned_by: 'sandbox',
    display_name: `${id} (simulated)`,
  }));
  return JSON.stringify({ object: 'list', data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) });
}
