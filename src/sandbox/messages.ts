import { type Part, partText } from './answer.ts';
import type { Dialect, Failure, Reply, StreamEvent } from './dialect.ts';
import { field, isObject, type JsonObject, objectsIn } from './json.ts';
import {
  ANY_OBJECT,
  contentTokens,
  forced,
  lastInput,
  lastUserText,
  limitIn,
  type Question,
  requireList,
  stringsIn,
  TOKENS_PER_MESSAGE,
  type Tool,
  type ToolChoice,
  textOf,
  toolTokens,
} from './prompt.ts';

const STOP_REASONS = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  calls: 'tool_use',
} as const;

export const messages: Dialect = { read, writeWhole, writeStream, writeFailure, requestIdHeader: 'request-id' };

function read(body: JsonObject): Question {
  const inputs = requireList(body, 'messages');
  const results = objectsIn(lastInput(inputs)?.content).filter((part) => part.type === 'tool_result');
  return {
    userText: lastUserText(inputs),
    toolResult: results.length > 0 ? results.map((result) => textOf(result.content)).join('\n') : undefined,
    tools: objectsIn(body.tools).flatMap(readTool),
    toolChoice: readChoice(body.tool_choice),
    parallelCalls: field(body.tool_choice, 'disable_parallel_tool_use') !== true,
    outputLimit: limitIn(body, 'max_tokens'),
    stops: stringsIn(body.stop_sequences),
    answerCount: 1,
    answerSchema: readAnswerSchema(body),
    inputTokens: inputs.reduce(
      (sum, input) => sum + TOKENS_PER_MESSAGE + contentTokens(input.content),
      contentTokens(body.system) + toolTokens(body.tools),
    ),
  };
}

/** The format has no JSON mode: a simulated model does what the system prompt asks for. */
function readAnswerSchema(body: JsonObject): unknown {
  const format = field(body.output_config, 'format');
  if (field(format, 'type') === 'json_schema') return field(format, 'schema') ?? {};
  return /\bJSON object\b/.test(textOf(body.system)) ? ANY_OBJECT : undefined;
}

/** Tools that the provider would run itself have no `input_schema`; they are never called here. */
function readTool(tool: JsonObject): Tool[] {
  if (typeof tool.name !== 'string' || !isObject(tool.input_schema)) return [];
  return [{ name: tool.name, custom: false, schema: tool.input_schema }];
}

function readChoice(choice: unknown): ToolChoice {
  switch (field(choice, 'type')) {
    case 'none':
      return { kind: 'none' };
    case 'any':
      return forced(undefined);
    case 'tool':
      return forced(field(choice, 'name'));
    default:
      return { kind: 'free' };
  }
}

/** `output` is what was produced so far: none when a stream opens. */
function usageOf(reply: Reply, output: number, thinking: number): JsonObject {
  return {
    input_tokens: reply.inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: thinking },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}

function messageOf(reply: Reply, content: readonly JsonObject[], ending: JsonObject, usage: JsonObject): string {
  return JSON.stringify({
    id: `msg_${reply.digest.slice(0, 24)}`,
    type: 'message',
    role: 'assistant',
    model: reply.prompt.model,
    content,
    ...ending,
    container: null,
    diagnostics: null,
    ...(reply.reportUsage ? { usage } : {}),
  });
}

function endingOf(reply: Reply): JsonObject {
  const answer = reply.answers[0];
  return {
    stop_reason: answer === undefined ? null : STOP_REASONS[answer.finish],
    stop_sequence: answer?.stopSequence ?? null,
    stop_details: null,
  };
}

function writeWhole(reply: Reply): string {
  const content = partsOf(reply).map((part, index) => blockOf(reply, part, index, partText(part)));
  const usage = usageOf(reply, reply.outputTokens, reply.reasoningTokens);
  return messageOf(reply, content, endingOf(reply), usage);
}

/** An empty text has no content block. */
function partsOf(reply: Reply): readonly Part[] {
  return reply.answers.flatMap((answer) => answer.parts).filter((part) => part.pieces.length > 0);
}

/** A content block with its text; without any when it opens in a stream. */
function blockOf(reply: Reply, part: Part, index: number, text: string): JsonObject {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text, citations: null };
    case 'thinking':
      return { type: 'thinking', thinking: text, signature: text === '' ? '' : signatureOf(reply) };
    case 'call':
      return {
        type: 'tool_use',
        id: `toolu_${reply.digest.slice(0, 20)}${index}`,
        name: part.tool.name,
        input: inputOf(text),
        caller: { type: 'direct' },
      };
  }
}

/** Arguments that the output limit cut, or that are yet to come, are not JSON: an empty input is shown then. */
function inputOf(sent: string): JsonObject {
  try {
    const input: unknown = JSON.parse(sent);
    return isObject(input) ? input : {};
  } catch {
    return {};
  }
}

function signatureOf(reply: Reply): string {
  return Buffer.from(`simulated signature ${reply.digest}`).toString('base64');
}

function frame(type: string, rest: string, content = false): StreamEvent {
  return { text: `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`, content };
}

function* writeStream(reply: Reply): Generator<StreamEvent> {
  const open = { stop_reason: null, stop_sequence: null, stop_details: null };
  yield frame('message_start', `,"message":${messageOf(reply, [], open, usageOf(reply, 0, 0))}`);
  yield frame('ping', '');
  for (const [index, part] of partsOf(reply).entries()) yield* streamPart(reply, part, index);
  const usage = usageOf(reply, reply.outputTokens, reply.reasoningTokens);
  const delta = JSON.stringify({ ...endingOf(reply), container: null });
  const cumulative = {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_creation_input_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens,
    output_tokens: usage.output_tokens,
    output_tokens_details: usage.output_tokens_details,
    server_tool_use: usage.server_tool_use,
  };
  const reported = reply.reportUsage ? `,"usage":${JSON.stringify(cumulative)}` : '';
  yield frame('message_delta', `,"delta":${delta}${reported}`);
  yield frame('message_stop', '');
}

const DELTAS = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  call: ['input_json_delta', 'partial_json'],
} as const;

function* streamPart(reply: Reply, part: Part, index: number): Generator<StreamEvent> {
  const at = `,"index":${index}`;
  yield frame('content_block_start', `${at},"content_block":${JSON.stringify(blockOf(reply, part, index, ''))}`);
  const [type, name] = DELTAS[part.kind];
  const open = `event: content_block_delta\ndata: {"type":"content_block_delta"${at},"delta":{"type":"${type}","${name}":`;
  for (const piece of part.pieces) yield { text: `${open}${JSON.stringify(piece)}}}\n\n`, content: true };
  if (part.kind === 'thinking') {
    const signature = JSON.stringify({ type: 'signature_delta', signature: signatureOf(reply) });
    yield frame('content_block_delta', `${at},"delta":${signature}`);
  }
  yield frame('content_block_stop', at);
}

const FAILURE_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

function writeFailure(failure: Failure): string {
  const byClass = failure.status >= 500 ? 'api_error' : 'invalid_request_error';
  const type = FAILURE_TYPES.get(failure.status) ?? byClass;
  return JSON.stringify({ type: 'error', error: { type, message: failure.message }, request_id: failure.requestId });
}
