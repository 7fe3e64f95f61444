/**
 * Refusals of the real APIs that the sandbox otherwise does not make: asked for with `[[strict]]` in a request, or for all of
 * them when the sandbox is started so. It shows what a gateway must not send.
 */
import { field, isObject, type JsonObject, objectsIn } from './json.ts';
import { BadRequest, type Prompt } from './prompt.ts';

export type StrictFormat = 'chat' | 'responses' | 'messages';

const WINDOWS: Readonly<Record<string, number>> = { 'tiny-sim': 2_048 };
const WINDOW_DEFAULT = 128_000;
const STOP_MAX = 4;
/** Models that reason want the newer field for the output limit. */
const REASONING_MODELS: ReadonlySet<string> = new Set(['alpha-sim']);

const FIELDS: Readonly<Record<StrictFormat, ReadonlySet<string>>> = {
  chat: names(
    'model messages audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens',
    'metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention',
    'reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature',
    'tool_choice tools top_logprobs top_p user verbosity web_search_options',
  ),
  responses: names(
    'model input background client_metadata conversation include instructions max_output_tokens max_tool_calls metadata',
    'parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier',
    'service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user',
    'frequency_penalty presence_penalty',
  ),
  messages: names(
    'model messages max_tokens container context_management inference_geo mcp_servers metadata output_config',
    'output_format service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p',
  ),
};

function names(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')));
}

/** Throws `BadRequest`, worded as the API of that format words it. */
export function checkStrictly(format: StrictFormat, prompt: Prompt, generates: boolean): void {
  const { body } = prompt;
  const unknown = Object.keys(body).find((name) => !FIELDS[format].has(name));
  if (unknown !== undefined) {
    const message =
      format === 'messages'
        ? `${unknown}: Extra inputs are not permitted`
        : `Unrecognized request argument supplied: ${unknown}`;
    throw new BadRequest(message, unknown);
  }
  if (generates) CHECKS[format](prompt);
  checkWindow(format, prompt);
}

const CHECKS: Readonly<Record<StrictFormat, (prompt: Prompt) => void>> = {
  chat({ body, model }) {
    if (body.max_tokens !== undefined && REASONING_MODELS.has(model)) {
      const message = `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`;
      throw new BadRequest(message, 'max_tokens');
    }
    if (Array.isArray(body.stop) && (body.stop.length === 0 || body.stop.length > STOP_MAX)) {
      throw new BadRequest(`Invalid 'stop': expected an array with 1 to ${STOP_MAX} elements.`, 'stop');
    }
    const called = new Set<unknown>();
    for (const [index, message] of objectsIn(body.messages).entries()) {
      for (const call of objectsIn(message.tool_calls)) called.add(call.id);
      if (message.role === 'tool' && !called.has(message.tool_call_id)) {
        const text = `messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
        throw new BadRequest(text, `messages.[${index}].role`);
      }
    }
  },
  responses({ body }) {
    if (typeof body.previous_response_id === 'string') {
      throw new BadRequest(
        `Previous response with id '${body.previous_response_id}' not found.`,
        'previous_response_id',
      );
    }
    const called = new Set<unknown>();
    for (const item of objectsIn(body.input)) {
      if (item.type === 'item_reference') throw new BadRequest(`Item with id '${String(item.id)}' not found.`, 'input');
      if (item.type === 'function_call' || item.type === 'custom_tool_call') called.add(item.call_id);
      const isResult = item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
      if (isResult && !called.has(item.call_id)) {
        throw new BadRequest(
          `No tool call found for function call output with call_id ${String(item.call_id)}.`,
          'input',
        );
      }
    }
  },
  messages({ body }) {
    if (body.max_tokens === undefined) throw new BadRequest('max_tokens: Field required', 'max_tokens');
    if (typeof body.temperature === 'number' && body.temperature > 1) {
      throw new BadRequest('temperature: range: 0..1', 'temperature');
    }
    if (Array.isArray(body.stop_sequences) && body.stop_sequences.some((one) => String(one).trim() === '')) {
      throw new BadRequest('stop_sequences: each stop sequence must contain non-whitespace', 'stop_sequences');
    }
    checkSchema(field(field(body.output_config, 'format'), 'schema'));
    const budget = field(body.thinking, 'budget_tokens');
    if (typeof budget === 'number' && typeof body.max_tokens === 'number' && budget >= body.max_tokens) {
      throw new BadRequest('`max_tokens` must be greater than `thinking.budget_tokens`', 'max_tokens');
    }
    checkToolResults(objectsIn(body.messages));
  },
};

/** Keywords that the API does not take in the schema of an answer. */
const UNENFORCED = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
];

function checkSchema(schema: unknown): void {
  if (Array.isArray(schema)) schema.forEach(checkSchema);
  if (!isObject(schema)) return;
  const keyword = UNENFORCED.find((name) => typeof schema[name] === 'number');
  if (keyword !== undefined) {
    const message = `output_config.format.schema: For '${String(schema.type)}' type, property '${keyword}' is not supported`;
    throw new BadRequest(message, 'output_config');
  }
  if (schema.type === 'object' && schema.additionalProperties !== false) {
    const message =
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
    throw new BadRequest(message, 'output_config');
  }
  Object.values(schema).forEach(checkSchema);
}

function checkToolResults(list: readonly JsonObject[]): void {
  let called = new Set<unknown>();
  for (const [index, message] of list.entries()) {
    const blocks = Array.isArray(message.content) ? message.content.filter(isObject) : [];
    const stray = blocks.find(({ type, tool_use_id }) => type === 'tool_result' && !called.has(tool_use_id));
    if (stray !== undefined) {
      const text = `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(stray.tool_use_id)}.`;
      throw new BadRequest(text, 'messages');
    }
    called = new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id));
  }
}

function checkWindow(format: StrictFormat, { model, inputTokens, outputLimit }: Prompt): void {
  const window = WINDOWS[model] ?? WINDOW_DEFAULT;
  const wanted = inputTokens + (outputLimit ?? 0);
  if (inputTokens <= window && (format === 'messages' || wanted <= window)) return;
  const message =
    format === 'messages'
      ? `prompt is too long: ${inputTokens} tokens > ${window} maximum`
      : `This model's maximum context length is ${window} tokens. However, your request resulted in ${wanted} tokens.`;
  throw new BadRequest(message, format === 'responses' ? 'input' : 'messages');
}
