/**
 * The simulated upstream, a process of its own: `node bench/upstream.ts PORT [SECURE_PORT CERT KEY]`. The model's name says what to answer (see
 * requests.ts), the path says in which format. Frames are rendered once per model, so that little of the load core's time
 * goes into them.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { answerFromModel, MARK, outputTokens, PROMPT_TOKENS, prose, type Wire } from './requests.ts';

export interface UpstreamCounts {
  readonly requests: number;
  readonly completed: number;
  /** Ended by the other side before the answer was complete. */
  readonly cut: number;
  readonly open: number;
}

interface Script {
  readonly body: Buffer;
  /** One streamed chunk each. */
  readonly opening: Buffer;
  readonly chunks: readonly Buffer[];
  readonly closing: Buffer;
  readonly closingWithUsage: Buffer;
  readonly paceMs: number;
}

const CREATED_S = 1_700_000_000;
const counts = { requests: 0, completed: 0, cut: 0, open: 0 };
const scripts = new Map<string, Script>();

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  // Traces and metrics of a gateway that is told to send them here.
  if (request.url === '/v1/traces' || request.url === '/v1/metrics') {
    response.writeHead(200, { 'content-type': 'application/x-protobuf', 'content-length': 0 }).end();
    return;
  }
  const text = body.toString('latin1');
  const model = /"model"\s*:\s*"([^"]{1,200})"/.exec(text)?.[1] ?? '';
  const wire: Wire = request.url?.includes('/messages') ? 'messages' : 'chat';
  const script = scriptFor(wire, model);
  if (!script) {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `unknown model ${model}`, type: 'invalid_request_error' } }));
    return;
  }
  counts.requests++;
  counts.open++;
  response.once('close', () => {
    counts.open--;
    if (response.writableFinished) counts.completed++;
    else counts.cut++;
  });
  if (!/"stream"\s*:\s*true/.test(text)) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': script.body.length });
    response.end(script.body);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  const wantsUsage = wire === 'messages' || /"include_usage"\s*:\s*true/.test(text);
  stream(response, script, wantsUsage ? script.closingWithUsage : script.closing);
}

/** One chunk per turn of the loop when unpaced, so that chunks leave one by one and not as a single write. */
function stream(response: ServerResponse, script: Script, closing: Buffer): void {
  let next = 0;
  let timer: NodeJS.Timeout | undefined;
  const step = (): void => {
    if (response.destroyed) return;
    const chunk = script.chunks[next++];
    if (!chunk) {
      clearInterval(timer);
      response.end(closing);
      return;
    }
    const flowing = response.write(chunk);
    if (script.paceMs > 0) return;
    if (flowing) setImmediate(step);
    else response.once('drain', step);
  };
  response.write(script.opening);
  if (script.paceMs > 0) {
    timer = setInterval(step, script.paceMs);
    response.once('close', () => clearInterval(timer));
  } else {
    setImmediate(step);
  }
}

function scriptFor(wire: Wire, model: string): Script | null {
  const key = `${wire} ${model}`;
  const known = scripts.get(key);
  if (known) return known;
  const shape = answerFromModel(model);
  if (!shape) return null;
  const output = outputTokens(shape);
  const texts = shape.kind === 'stream' ? Array.from({ length: shape.chunks }, (_, i) => `${MARK}word${i} `) : [];
  const whole = `${MARK}${prose(shape.kind === 'whole' ? shape.bytes - 2 : 0)}${MARK}`;
  const rendered =
    wire === 'chat' ? chatScript(model, whole, texts, output) : messagesScript(model, whole, texts, output);
  const script = { ...rendered, paceMs: shape.kind === 'stream' ? shape.paceMs : 0 };
  scripts.set(key, script);
  return script;
}

type Rendered = Omit<Script, 'paceMs'>;

function chatScript(model: string, whole: string, texts: readonly string[], output: number): Rendered {
  const base = { id: 'chatcmpl-bench0123456789', created: CREATED_S, model, system_fingerprint: 'fp_bench' };
  const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: output, total_tokens: PROMPT_TOKENS + output };
  const frame = (choices: object[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  const delta = (value: object, reason: string | null): string =>
    frame([{ index: 0, delta: value, logprobs: null, finish_reason: reason }]);
  const message = { role: 'assistant', content: whole };
  const end = delta({}, 'stop');
  return {
    body: Buffer.from(
      JSON.stringify({
        ...base,
        object: 'chat.completion',
        choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
        usage,
      }),
    ),
    opening: Buffer.from(delta({ role: 'assistant', content: '' }, null)),
    chunks: texts.map((content) => Buffer.from(delta({ content }, null))),
    closing: Buffer.from(`${end}data: [DONE]\n\n`),
    closingWithUsage: Buffer.from(`${end}${frame([], { usage })}data: [DONE]\n\n`),
  };
}

function messagesScript(model: string, whole: string, texts: readonly string[], output: number): Rendered {
  const base = { id: 'msg_bench0123456789', type: 'message', role: 'assistant', model };
  const frame = (type: string, value: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
  const usage = { input_tokens: PROMPT_TOKENS, output_tokens: output };
  const start = { ...base, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } };
  const closing = Buffer.from(
    frame('content_block_stop', { index: 0 }) +
      frame('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: output },
      }) +
      frame('message_stop', {}),
  );
  return {
    body: Buffer.from(
      JSON.stringify({
        ...base,
        content: [{ type: 'text', text: whole }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage,
      }),
    ),
    opening: Buffer.from(
      frame('message_start', { message: start }) +
        frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ),
    chunks: texts.map((text) =>
      Buffer.from(frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
    ),
    closing,
    closingWithUsage: closing,
  };
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'POST') {
    // Thousands of streams leave as many connections idle in each peer: with those of all, this process runs out of files.
    if (request.method === 'DELETE') for (const server of servers) server.closeIdleConnections();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(counts satisfies UpstreamCounts));
    return;
  }
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => answer(request, response, parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
}

const [port, securePort, certFile, keyFile] = process.argv.slice(2);
const servers: Server[] = [createServer(serve)];
if (certFile !== undefined && keyFile !== undefined) {
  servers.push(createSecureServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, serve));
}
for (const [index, server] of servers.entries()) {
  // A connection that idles between two rounds must not be closed just when the next round takes it up.
  server.keepAliveTimeout = 600_000;
  server.requestTimeout = 0;
  server.listen({ port: Number(index === 0 ? port : securePort), host: '127.0.0.1', backlog: 4096 });
}
