import { type Answer, type Part, partText } from './answer.ts';
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
  TOKENS_PER_MESSAGE,
  type Tool,
  textOf,
  toolTokens,
} from './prompt.ts';
import { countTokens } from './tokens.ts';

export const responses: Dialect = {
  read,
  writeWhole,
  writeStream,
  writeFailure: writeFormatAFailure,
  requestIdHeader: 'x-request-id',
};

function read(body: JsonObject): Question {
  if (typeof body.input !== 'string' && !Array.isArray(body.input)) {
    throw new BadRequest('input: a string or an array is required', 'input');
  }
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : objectsIn(body.input);
  const last = lastInput(items);
  const format = field(body.text, 'format');
  return {
    userText: lastUserText(items),
    toolResult: isToolOutput(last) ? textOf(last?.output) : undefined,
    tools: objectsIn(body.tools).flatMap(readTool),
    toolChoice: readToolChoice(body.tool_choice, (choice) => field(choice, 'name')),
    parallelCalls: body.parallel_tool_calls !== false,
    outputLimit: limitIn(body, 'max_output_tokens'),
    stops: [],
    answerCount: 1,
    answerSchema: readAnswerSchema(format, format),
    inputTokens: items.reduce(
      (sum, item) => sum + itemTokens(item),
      contentTokens(body.instructions) + toolTokens(body.tools),
    ),
  };
}

function isToolOutput(item: JsonObject | undefined): boolean {
  return item?.type === 'function_call_output' || item?.type === 'custom_tool_call_output';
}

function itemTokens(item: JsonObject): number {
  if (item.role !== undefined) return TOKENS_PER_MESSAGE + contentTokens(item.content);
  if (isToolOutput(item)) return TOKENS_PER_MESSAGE + contentTokens(item.output);
  if (item.type === 'reasoning') return TOKENS_PER_MESSAGE + contentTokens(item.summary);
  if (item.type === 'function_call') {
    return TOKENS_PER_MESSAGE + countTokens(String(item.name)) + contentTokens(item.arguments);
  }
  return jsonTokens(item);
}

function readTool(tool: JsonObject): Tool[] {
  if ((tool.type !== 'function' && tool.type !== 'custom') || typeof tool.name !== 'string') return [];
  return [{ name: tool.name, custom: tool.type === 'custom', schema: tool.parameters }];
}

/** The fields that stay as they are through the life of a response: mostly what the request said. */
function constantsOf(reply: Reply): string {
  const { body, model } = reply.prompt;
  const given = (name: string, otherwise: unknown = null) => body[name] ?? otherwise;
  const givenObject = (name: string) => (isObject(body[name]) ? body[name] : {});
  const constants = JSON.stringify({
    id: `resp_${reply.digest.slice(0, 48)}`,
    object: 'response',
    created_at: reply.createdS,
    access_programs: null,
    background: false,
    conversation: null,
    instructions: given('instructions'),
    max_output_tokens: given('max_output_tokens'),
    max_tool_calls: given('max_tool_calls'),
    metadata: given('metadata', {}),
    model,
    moderation: null,
    parallel_tool_calls: given('parallel_tool_calls', true),
    previous_response_id: given('previous_response_id'),
    prompt: given('prompt'),
    prompt_cache_key: given('prompt_cache_key'),
    prompt_cache_retention: given('prompt_cache_retention'),
    reasoning: { effort: null, summary: null, ...givenObject('reasoning') },
    safety_identifier: given('safety_identifier'),
    service_tier: 'default',
    // It stores nothing, whatever it is asked.
    store: false,
    temperature: given('temperature', 1),
    text: { format: { type: 'text' }, verbosity: 'medium', ...givenObject('text') },
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
    user: given('user'),
  });
  return constants.slice(0, -1);
}

function usageOf(reply: Reply): JsonObject | null {
  if (!reply.reportUsage) return null;
  return {
    input_tokens: reply.inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: reply.outputTokens,
    output_tokens_details: { reasoning_tokens: reply.reasoningTokens },
    total_tokens: reply.inputTokens + reply.outputTokens,
  };
}

type Status = 'in_progress' | 'completed' | 'incomplete';

function responseAt(reply: Reply, constants: string, status: Status, output: readonly JsonObject[]): string {
  const state = {
    status,
    completed_at: status === 'completed' ? reply.createdS : null,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output,
    usage: status === 'in_progress' ? null : usageOf(reply),
  };
  return `${constants},${JSON.stringify(state).slice(1)}`;
}

function endStatus(reply: Reply): Status {
  return reply.answers.some((answer) => answer.finish === 'length') ? 'incomplete' : 'completed';
}

function idPrefix(part: Part): string {
  if (part.kind === 'call') return part.tool.custom ? 'ctc' : 'fc';
  return part.kind === 'text' ? 'msg' : 'rs';
}

function itemId(reply: Reply, part: Part, index: number): string {
  return `${idPrefix(part)}_${reply.digest.slice(0, 40)}${index}`;
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

/** An output item with so much of its text as is given; undefined while nothing was produced. */
function itemOf(reply: Reply, part: Part, index: number, status: Status, text: string | undefined): JsonObject {
  const id = itemId(reply, part, index);
  switch (part.kind) {
    case 'text':
      return { id, type: 'message', status, role: 'assistant', content: text === undefined ? [] : [textPart(text)] };
    case 'thinking': {
      const encrypted = Buffer.from(`simulated reasoning ${reply.digest}`).toString('base64');
      const summary = text === undefined ? [] : [summaryPart(text)];
      return { id, type: 'reasoning', status, summary, encrypted_content: encrypted };
    }
    case 'call': {
      const call = { call_id: `call_${reply.digest.slice(0, 20)}${index}`, name: part.tool.name };
      if (part.tool.custom) return { id, type: 'custom_tool_call', status, ...call, input: text ?? '' };
      return { id, type: 'function_call', status, ...call, arguments: text ?? '' };
    }
  }
}

function endedItem(reply: Reply, answer: Answer, part: Part, index: number): JsonObject {
  const cut = answer.finish === 'length' && index === answer.parts.length - 1;
  return itemOf(reply, part, index, cut ? 'incomplete' : 'completed', partText(part));
}

function writeWhole(reply: Reply): string {
  const output = reply.answers.flatMap((answer) =>
    answer.parts.map((part, index) => endedItem(reply, answer, part, index)),
  );
  return responseAt(reply, constantsOf(reply), endStatus(reply), output);
}

/** Numbers the events of one stream. */
class Numbering {
  #next = 0;

  /** `rest` is the JSON of the other fields, each with its leading comma. */
  event(type: string, rest: string, content = false): StreamEvent {
    const number = this.#next;
    this.#next += 1;
    return { text: `event: ${type}\ndata: {"type":"${type}","sequence_number":${number}${rest}}\n\n`, content };
  }
}

function* writeStream(reply: Reply): Generator<StreamEvent> {
  const constants = constantsOf(reply);
  const open = responseAt(reply, constants, 'in_progress', []);
  const numbering = new Numbering();
  yield numbering.event('response.created', `,"response":${open}`);
  yield numbering.event('response.in_progress', `,"response":${open}`);
  const output: JsonObject[] = [];
  for (const answer of reply.answers) {
    for (const [index, part] of answer.parts.entries()) {
      const item = JSON.stringify(itemOf(reply, part, index, 'in_progress', undefined));
      yield numbering.event('response.output_item.added', `,"output_index":${index},"item":${item}`);
      yield* streamPart(reply, part, index, numbering);
      const ended = endedItem(reply, answer, part, index);
      output.push(ended);
      yield numbering.event('response.output_item.done', `,"output_index":${index},"item":${JSON.stringify(ended)}`);
    }
  }
  const status = endStatus(reply);
  yield numbering.event(`response.${status}`, `,"response":${responseAt(reply, constants, status, output)}`);
}

function* streamPart(reply: Reply, part: Part, index: number, numbering: Numbering): Generator<StreamEvent> {
  const at = `,"item_id":"${itemId(reply, part, index)}","output_index":${index}`;
  const text = partText(part);
  if (part.kind === 'call') {
    const type = part.tool.custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
    for (const piece of part.pieces) {
      yield numbering.event(`${type}.delta`, `${at},"delta":${JSON.stringify(piece)}`, true);
    }
    const name = part.tool.custom ? 'input' : 'arguments';
    yield numbering.event(`${type}.done`, `${at},"${name}":${JSON.stringify(text)}`);
    return;
  }
  const isText = part.kind === 'text';
  const within = `${at},"${isText ? 'content_index' : 'summary_index'}":0`;
  const logprobs = isText ? ',"logprobs":[]' : '';
  const [partType, textType] = isText
    ? ['response.content_part', 'response.output_text']
    : ['response.reasoning_summary_part', 'response.reasoning_summary_text'];
  const partJson = (of: string) => JSON.stringify(isText ? textPart(of) : summaryPart(of));
  yield numbering.event(`${partType}.added`, `${within},"part":${partJson('')}`);
  for (const piece of part.pieces) {
    yield numbering.event(`${textType}.delta`, `${within},"delta":${JSON.stringify(piece)}${logprobs}`, true);
  }
  yield numbering.event(`${textType}.done`, `${within},"text":${JSON.stringify(text)}${logprobs}`);
  yield numbering.event(`${partType}.done`, `${within},"part":${partJson(text)}`);
}
