/** The members of a request that are optional by the public schema of chat completions. */
import type { OptionalFields } from '../json/omit-nulls.ts';

const PART: OptionalFields = {
  optional: ['prompt_cache_breakpoint', 'cache_control'],
  inside: {
    image_url: { optional: ['detail'] },
    file: { optional: ['file_data', 'file_id', 'filename'] },
  },
};

const FUNCTION: OptionalFields = { optional: ['description', 'parameters', 'strict'] };

const MESSAGE_FIELDS = ['name', 'tool_calls', 'function_call', 'refusal', 'audio', 'reasoning_content', 'annotations'];

/** Only an assistant's message may be without content, and only a tool's needs the id of a call. */
const MESSAGE: OptionalFields = {
  optional: [...MESSAGE_FIELDS, 'tool_call_id'],
  inside: { content: PART },
  by: {
    member: 'role',
    values: {
      assistant: { optional: [...MESSAGE_FIELDS, 'content', 'tool_call_id'], inside: { content: PART } },
      tool: { optional: MESSAGE_FIELDS, inside: { content: PART } },
    },
  },
};

export const chatOptionalFields: OptionalFields = {
  optional: [
    'audio',
    'frequency_penalty',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'max_completion_tokens',
    'max_tokens',
    'metadata',
    'modalities',
    'moderation',
    'n',
    'parallel_tool_calls',
    'prediction',
    'presence_penalty',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'user',
    'verbosity',
    'web_search_options',
  ],
  inside: {
    messages: MESSAGE,
    tools: { optional: [], inside: { function: FUNCTION, custom: { optional: ['description', 'format'] } } },
    functions: FUNCTION,
    response_format: { optional: [], inside: { json_schema: { optional: ['description', 'schema', 'strict'] } } },
    stream_options: { optional: ['include_usage', 'include_obfuscation'] },
    prompt_cache_options: { optional: ['mode', 'ttl'] },
    moderation: { optional: ['policy'], inside: { policy: { optional: ['input', 'output'] } } },
    web_search_options: { optional: ['search_context_size', 'user_location'] },
  },
};
