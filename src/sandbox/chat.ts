import { type Answer, partText } from './answer.ts';
import { type Dialect, type Reply, type StreamEvent, writeFormatAFailure } from './dialect.ts';
import { field, isObject, type JsonObject, objectsIn } from './json.ts';
import {
  BadRequest,
  contentTokens,
  jsonTokens,
  lastInput,
  lastUserText,
  limitIn,
  type Question,
  readAnswerSchema,
  readToolChoice,
  requireList,
  stringsIn,
  TOKENS_PER_MESSAGE,
  type Tool,
  textOf,
  toolTokens,
} from './prompt.ts';

const ANSWERS_MAX = 128;
const FINISH_REASONS = { stop: 'stop', stop_sequence: 'stop', length: 'length', calls: 'tool_calls' } as const;

export const chat: Dialect = {
  read,
  writeWhole,
  writeStream,
  writeFailure: writeFormatAFailure,
  requestIdHeader: 'x-request-id',
};

function read(body: JsonObject): Question {
  const messages = requireList(body, 'messages');
  const last = lastInput(messages);
  const answerCount = limitIn(body, 'n') ?? 1;
  if (answerCount > ANSWERS_MAX) throw new BadRequest(`n: must be at most ${ANSWERS_MAX}`, 'n');
  return {
    userText: lastUserText(messages),
    toolResult: last?.role === 'tool' ? textOf(last.content) : undefined,
    tools: objectsIn(body.tools).flatMap(readTool),
    toolChoice: readToolChoice(body.tool_choice, (choice) =>
      field(field(choice, 'function') ?? field(choice, 'custom'), 'name'),
    ),
    parallelCalls: body.parallel_tool_calls !== false,
    outputLimit: limitIn(body, 'max_completion_tokens') ?? limitIn(body, 'max_tokens'),
    stops: stringsIn(body.stop),
    answerCount,
    answerSchema: readAnswerSchema(body.response_format, field(body.response_format, 'json_schema')),
    inputTokens: messages.reduce((sum, message) => sum + messageTokens(message), toolTokens(body.tools)),
  };
}

function messageTokens(message: JsonObject): number {
  return TOKENS_PER_MESSAGE + contentTokens(message.content) + jsonTokens(message.tool_calls);
}

function readTool(tool: JsonObject): Tool[] {
  const custom = tool.type === 'custom';
  const definition = custom ? tool.custom : tool.function;
  if (!isObject(definition) || typeof definition.name !== 'string') return [];
  return [{ name: definition.name, custom, schema: definition.parameters }];
}

function usageOf(reply: Reply): JsonObject {
  return {
    prompt_tokens: reply.inputTokens,
    completion_tokens: reply.outputTokens,
    total_tokens: reply.inputTokens + reply.outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reply.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function headOf(reply: Reply, object: string): JsonObject {
  return {
    id: `chatcmpl-${reply.digest.slice(0, 29)}`,
    object,
    created: reply.createdS,
    model: reply.prompt.model,
    service_tier: 'default',
    system_fingerprint: 'fp_sandbox',
  };
}

/** The same call has the same id in a whole and in a streamed answer to one request. */
function callOf(reply: Reply, answerIndex: number, callIndex: number, tool: Tool, sent: string): JsonObject {
  return {
    id: `call_${reply.digest.slice(0, 20)}${answerIndex}x${callIndex}`,
    type: tool.custom ? 'custom' : 'function',
    ...payloadOf(tool, { name: tool.name }, sent),
  };
}

function writeWhole(reply: Reply): string {
  return JSON.stringify({
    ...headOf(reply, 'chat.completion'),
    choices: reply.answers.map((answer, index) => ({
      index,
      message: messageOf(reply, answer, index),
      logprobs: null,
      finish_reason: FINISH_REASONS[answer.finish],
    })),
    ...(reply.reportUsage ? { usage: usageOf(reply) } : {}),
  });
}

function messageOf(reply: Reply, answer: Answer, answerIndex: number): JsonObject {
  const text = answer.parts.find((part) => part.kind === 'text');
  const thinking = answer.parts.find((part) => part.kind === 'thinking');
  const calls = answer.parts.filter((part) => part.kind === 'call');
  return {
    role: 'assistant',
    content: text === undefined ? null : partText(text),
    refusal: null,
    annotations: [],
    ...(thinking === undefined ? {} : { reasoning_content: partText(thinking) }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call, index) => callOf(reply, answerIndex, index, call.tool, partText(call))),
        }),
  };
}

function payloadOf(tool: Tool, named: JsonObject, sent: string): JsonObject {
  return tool.custom ? { custom: { ...named, input: sent } } : { function: { ...named, arguments: sent } };
}

function* writeStream(reply: Reply): Generator<StreamEvent> {
  const head = `data: ${JSON.stringify(headOf(reply, 'chat.completion.chunk')).slice(0, -1)},"choices":`;
  const withUsage = reply.reportUsage && field(reply.prompt.body.stream_options, 'include_usage') === true;
  const tail = withUsage ? ',"usage":null}\n\n' : '}\n\n';
  for (const [index, answer] of reply.answers.entries()) yield* streamAnswer(reply, answer, index, head, tail);
  if (withUsage) yield { text: `${head}[],"usage":${JSON.stringify(usageOf(reply))}}\n\n`, content: false };
  yield { text: 'data: [DONE]\n\n', content: false };
}

function* streamAnswer(
  reply: Reply,
  answer: Answer,
  index: number,
  head: string,
  tail: string,
): Generator<StreamEvent> {
  const chunk = (delta: string, content: boolean, finish = 'null'): StreamEvent => ({
    text: `${head}[{"index":${index},"delta":{${delta}},"logprobs":null,"finish_reason":${finish}}]${tail}`,
    content,
  });
  yield chunk('"role":"assistant","content":"","refusal":null', false);
  let callIndex = 0;
  for (const part of answer.parts) {
    if (part.kind !== 'call') {
      const name = part.kind === 'text' ? 'content' : 'reasoning_content';
      for (const piece of part.pieces) yield chunk(`"${name}":${JSON.stringify(piece)}`, true);
      continue;
    }
    const first = { index: callIndex, ...callOf(reply, index, callIndex, part.tool, '') };
    yield chunk(`"tool_calls":${JSON.stringify([first])}`, false);
    for (const piece of part.pieces) {
      const delta = [{ index: callIndex, ...payloadOf(part.tool, {}, piece) }];
      yield chunk(`"tool_calls":${JSON.stringify(delta)}`, true);
    }
    callIndex += 1;
  }
  yield chunk('', false, `"${FINISH_REASONS[answer.finish]}"`);
}
