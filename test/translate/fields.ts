/**
 * Every request field of every format, with a request that uses it. What becomes of it on each way is found by
 * sending that request through the lanes; only the reason of a silent loss is written down here.
 */
import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';

export interface FieldRow {
  readonly field: string;
  /** Laid over the smallest request of the format. */
  readonly probe: JsonObject;
  /** The same without the field, where the field needs company. */
  readonly base?: JsonObject;
  /** Why it is left out where it is, when no warning says so. */
  readonly why?: string;
  /** How the gateway does itself what the target cannot be told. */
  readonly kept?: string;
}

const user = (content: unknown): JsonObject => ({ messages: [{ role: 'user', content }] }) as JsonObject;
const item = (...items: unknown[]): JsonObject =>
  ({ input: [{ role: 'user', content: 'Hi' }, ...items] }) as JsonObject;
const inputPart = (part: unknown): JsonObject =>
  ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }, part] }] }) as JsonObject;
const part = (value: unknown): JsonObject => user([{ type: 'text', text: 'Hi' }, value]);
const chatTool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const responsesTool = { type: 'function', name: 'f', parameters: { type: 'object' } };
const messagesTool = { name: 'f', input_schema: { type: 'object' } };
const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const chatCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const OPENAI_ONLY = 'it concerns the provider that stores or moderates, not the answer';
const KEPT = 'the gateway ends the answer there itself';
const CACHE = 'the target caches by itself and takes no marks';

const CHAT: readonly FieldRow[] = [
  {
    field: 'messages[].role system',
    probe: {
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  {
    field: 'messages[].role developer',
    probe: {
      messages: [
        { role: 'developer', content: 'S' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  {
    field: 'messages[].role system, later on',
    base: user('Hi'),
    probe: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'S' },
      ],
    },
  },
  { field: 'messages[].name', probe: { messages: [{ role: 'user', content: 'Hi', name: 'ann' }] } },
  {
    field: 'messages[].content text parts',
    probe: user([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]),
  },
  {
    field: 'messages[].content image_url (data)',
    probe: part({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
  },
  {
    field: 'messages[].content image_url (URL)',
    probe: part({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
  },
  {
    field: 'messages[].content image_url.detail',
    base: part({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    probe: part({ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } }),
    why: 'the target chooses the resolution itself',
  },
  {
    field: 'messages[].content file (data)',
    probe: part({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }),
  },
  { field: 'messages[].content file_id', probe: part({ type: 'file', file: { file_id: 'file_1' } }) },
  {
    field: 'messages[].content input_audio',
    probe: part({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
  },
  {
    field: 'messages[].content prompt_cache_breakpoint',
    base: part({ type: 'text', text: 'x' }),
    probe: part({ type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }),
    why: 'the two families of marks mean different things',
  },
  {
    field: 'messages[].refusal',
    probe: {
      messages: [
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  {
    field: 'messages[].reasoning_content',
    base: {
      messages: [
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
    probe: {
      messages: [
        { role: 'assistant', content: 'x', reasoning_content: 'Hm' },
        { role: 'user', content: 'Hi' },
      ],
    },
    why: 'unsigned reasoning is refused by providers; the conversation is complete without it',
  },
  {
    field: 'messages[].tool_calls',
    probe: {
      messages: [
        { role: 'assistant', content: null, tool_calls: [chatCall] },
        { role: 'tool', tool_call_id: 'call_1', content: 'r' },
      ],
    },
  },
  {
    field: 'messages[].function_call',
    probe: { messages: [{ role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } }] },
  },
  { field: 'temperature', probe: { temperature: 0.25 } },
  { field: 'temperature over 1', probe: { temperature: 1.5 } },
  { field: 'top_p', probe: { top_p: 0.25 } },
  { field: 'stop', probe: { stop: ['END'] }, kept: KEPT },
  { field: 'n over 1', probe: { n: 2 } },
  { field: 'seed', probe: { seed: 7 } },
  { field: 'frequency_penalty', probe: { frequency_penalty: 0.5 } },
  { field: 'presence_penalty', probe: { presence_penalty: 0.5 } },
  { field: 'logit_bias', probe: { logit_bias: { '1': 1 } } },
  { field: 'logprobs', probe: { logprobs: true } },
  { field: 'top_logprobs', base: {}, probe: { top_logprobs: 3 }, why: 'it has no meaning without log probabilities' },
  {
    field: 'response_format json_schema',
    probe: { response_format: { type: 'json_schema', json_schema: { name: 'o', schema } } },
  },
  { field: 'response_format json_object', probe: { response_format: { type: 'json_object' } } },
  { field: 'reasoning_effort', probe: { reasoning_effort: 'low' } },
  { field: 'verbosity', probe: { verbosity: 'low' } },
  { field: 'tools[] function', probe: { tools: [chatTool] } },
  {
    field: 'tools[] function.strict',
    base: { tools: [chatTool] },
    probe: { tools: [{ type: 'function', function: { ...chatTool.function, strict: true } }] },
  },
  { field: 'tools[] custom', probe: { tools: [{ type: 'custom', custom: { name: 'c' } }] } },
  { field: 'tool_choice auto', base: { tools: [chatTool] }, probe: { tools: [chatTool], tool_choice: 'auto' } },
  { field: 'tool_choice none', base: { tools: [chatTool] }, probe: { tools: [chatTool], tool_choice: 'none' } },
  { field: 'tool_choice required', base: { tools: [chatTool] }, probe: { tools: [chatTool], tool_choice: 'required' } },
  {
    field: 'tool_choice function',
    base: { tools: [chatTool] },
    probe: { tools: [chatTool], tool_choice: { type: 'function', function: { name: 'f' } } },
  },
  {
    field: 'tool_choice allowed_tools',
    base: { tools: [chatTool] },
    probe: {
      tools: [chatTool],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
    },
  },
  {
    field: 'parallel_tool_calls',
    base: { tools: [chatTool] },
    probe: { tools: [chatTool], parallel_tool_calls: false },
  },
  { field: 'functions', probe: { functions: [{ name: 'f' }] } },
  { field: 'modalities, audio', probe: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } } },
  { field: 'web_search_options', probe: { web_search_options: {} } },
  { field: 'prediction', probe: { prediction: { type: 'content', content: 'x' } } },
  { field: 'user', probe: { user: 'ann' } },
  { field: 'safety_identifier', probe: { safety_identifier: 'ann' } },
  { field: 'metadata', probe: { metadata: { a: 'b' } } },
  { field: 'service_tier auto, default', probe: { service_tier: 'default' } },
  { field: 'service_tier flex, priority', probe: { service_tier: 'flex' } },
  { field: 'prompt_cache_key', probe: { prompt_cache_key: 'k' }, why: 'the target caches by marks' },
  { field: 'prompt_cache_retention', probe: { prompt_cache_retention: '24h' }, why: 'the target caches by marks' },
  { field: 'store', probe: { store: true }, why: OPENAI_ONLY },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 }, why: 'they have no counterpart' },
];

const RESPONSES: readonly FieldRow[] = [
  { field: 'instructions', probe: { instructions: 'S' } },
  {
    field: 'input[] message, system or developer',
    probe: {
      input: [
        { role: 'developer', content: 'S' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  { field: 'input[] message, several parts', probe: inputPart({ type: 'input_text', text: 'two' }) },
  {
    field: 'input[] input_image (data)',
    probe: inputPart({ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' }),
  },
  {
    field: 'input[] input_image (URL)',
    probe: inputPart({ type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' }),
  },
  {
    field: 'input[] input_file (data)',
    probe: inputPart({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' }),
  },
  {
    field: 'input[] input_file (URL)',
    probe: inputPart({ type: 'input_file', file_url: 'https://example.com/a.pdf' }),
  },
  { field: 'input[] file_id', probe: inputPart({ type: 'input_file', file_id: 'file_1' }) },
  {
    field: 'input[] output_text',
    probe: item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [] }] }),
  },
  {
    field: 'input[] refusal',
    probe: item({ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }),
  },
  {
    field: 'input[] function_call',
    probe: item({ type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }),
  },
  {
    field: 'input[] function_call_output',
    probe: item({ type: 'function_call_output', call_id: 'call_1', output: 'r' }),
  },
  {
    field: 'input[] custom_tool_call',
    probe: item({ type: 'custom_tool_call', call_id: 'call_1', name: 'c', input: 'x' }),
  },
  {
    field: 'input[] custom_tool_call_output',
    probe: item({ type: 'custom_tool_call_output', call_id: 'call_1', output: 'r' }),
  },
  {
    field: 'input[] reasoning (of a responses provider)',
    base: item(),
    probe: item({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }),
    why: 'only the provider that encrypted it can read it; the conversation stands without it',
  },
  {
    field: 'input[] tool_search_call (client)',
    probe: item({ type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: { query: 'x' } }),
  },
  {
    field: 'input[] tool_search_output (client)',
    probe: item({ type: 'tool_search_output', call_id: 'call_1', execution: 'client', tools: [responsesTool] }),
  },
  {
    field: 'input[] additional_tools',
    base: item(),
    probe: item({ type: 'additional_tools', tools: [responsesTool] }),
  },
  {
    field: 'input[] items of hosted tools',
    base: item(),
    probe: item({ type: 'web_search_call', id: 'ws_1', status: 'completed' }),
  },
  {
    field: 'input[] items of built-in tools',
    probe: item({ type: 'local_shell_call', id: 'x', call_id: 'call_1', status: 'completed' }),
  },
  { field: 'input[] compaction', probe: item({ type: 'compaction', id: 'c', encrypted_content: 'e' }) },
  { field: 'input[] item_reference', probe: item({ type: 'item_reference', id: 'msg_1' }) },
  { field: 'temperature', probe: { temperature: 0.25 } },
  { field: 'top_p', probe: { top_p: 0.25 } },
  { field: 'text.format json_schema', probe: { text: { format: { type: 'json_schema', name: 'o', schema } } } },
  { field: 'text.format json_object', probe: { text: { format: { type: 'json_object' } } } },
  { field: 'text.verbosity', probe: { text: { verbosity: 'low' } } },
  { field: 'reasoning.effort', probe: { reasoning: { effort: 'low' } } },
  {
    field: 'reasoning.summary',
    base: { reasoning: { effort: 'low' } },
    probe: { reasoning: { effort: 'low', summary: 'auto' } },
    why: 'reasoning is always shown where the target shows it',
  },
  {
    field: 'include reasoning.encrypted_content',
    probe: { include: ['reasoning.encrypted_content'] },
    why: 'the answer holds what is needed in any case',
  },
  { field: 'include message.output_text.logprobs', probe: { include: ['message.output_text.logprobs'] } },
  { field: 'tools[] function', probe: { tools: [responsesTool] } },
  {
    field: 'tools[] function.strict',
    base: { tools: [responsesTool] },
    probe: { tools: [{ ...responsesTool, strict: true }] },
  },
  {
    field: 'tools[] namespace',
    probe: { tools: [{ type: 'namespace', name: 'n', description: 'd', tools: [responsesTool] }] },
  },
  {
    field: 'tools[] custom',
    probe: { tools: [{ type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'x' } }] },
  },
  {
    field: 'tools[] tool_search (client)',
    probe: { tools: [{ type: 'tool_search', execution: 'client', parameters: { type: 'object' } }] },
  },
  {
    field: 'tools[] hosted, beside others',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool, { type: 'web_search' }] },
  },
  { field: 'tools[] hosted, alone', probe: { tools: [{ type: 'web_search' }] } },
  { field: 'tools[] built in (shell, apply_patch, computer)', probe: { tools: [{ type: 'apply_patch' }] } },
  {
    field: 'tool_choice auto',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], tool_choice: 'auto' },
  },
  {
    field: 'tool_choice none',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], tool_choice: 'none' },
  },
  {
    field: 'tool_choice required',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], tool_choice: 'required' },
  },
  {
    field: 'tool_choice function',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], tool_choice: { type: 'function', name: 'f' } },
  },
  {
    field: 'tool_choice allowed_tools',
    base: { tools: [responsesTool] },
    probe: {
      tools: [responsesTool],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
  },
  {
    field: 'tool_choice of a hosted tool',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], tool_choice: { type: 'file_search' } },
  },
  {
    field: 'parallel_tool_calls',
    base: { tools: [responsesTool] },
    probe: { tools: [responsesTool], parallel_tool_calls: false },
  },
  { field: 'max_tool_calls', probe: { max_tool_calls: 3 } },
  { field: 'truncation auto', probe: { truncation: 'auto' } },
  { field: 'context_management', probe: { context_management: [{ type: 'compaction' }] } },
  { field: 'previous_response_id', probe: { previous_response_id: 'resp_1' } },
  { field: 'conversation', probe: { conversation: 'conv_1' } },
  { field: 'prompt', probe: { prompt: { id: 'pmpt_1' } } },
  { field: 'background', probe: { background: true } },
  { field: 'store', probe: { store: true }, why: 'the gateway stores no conversation' },
  { field: 'user', probe: { user: 'ann' } },
  { field: 'safety_identifier', probe: { safety_identifier: 'ann' } },
  { field: 'metadata', probe: { metadata: { a: 'b' } } },
  { field: 'service_tier auto, default', probe: { service_tier: 'default' } },
  { field: 'service_tier flex, priority', probe: { service_tier: 'flex' } },
  { field: 'prompt_cache_key', probe: { prompt_cache_key: 'k' }, why: 'the target caches by marks' },
  { field: 'prompt_cache_retention', probe: { prompt_cache_retention: '24h' }, why: 'the target caches by marks' },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 }, why: 'they have no counterpart' },
];

const MESSAGES: readonly FieldRow[] = [
  { field: 'system, text', probe: { system: 'S' } },
  {
    field: 'system, blocks',
    probe: {
      system: [
        { type: 'text', text: 'S' },
        { type: 'text', text: 'T' },
      ],
    },
  },
  {
    field: 'messages[].role system',
    base: user('Hi'),
    probe: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'S' },
      ],
    },
  },
  { field: 'messages[].content text', probe: part({ type: 'text', text: 'two' }) },
  {
    field: 'messages[].content image (data)',
    probe: part({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
  },
  {
    field: 'messages[].content image (URL)',
    probe: part({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }),
  },
  {
    field: 'messages[].content image, document (file_id)',
    probe: part({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
  },
  {
    field: 'messages[].content document (data)',
    probe: part({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }),
  },
  {
    field: 'messages[].content document (text)',
    probe: part({ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
  },
  {
    field: 'messages[].content document (URL)',
    probe: part({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
  },
  {
    field: 'messages[].content search_result',
    probe: part({
      type: 'search_result',
      title: 'T',
      source: 'https://example.com',
      content: [{ type: 'text', text: 'x' }],
    }),
  },
  {
    field: 'cache_control, everywhere',
    base: part({ type: 'text', text: 'x' }),
    probe: {
      ...part({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }),
      cache_control: { type: 'ephemeral' },
    },
    why: CACHE,
  },
  {
    field: 'messages[].content thinking, redacted_thinking (of a messages provider)',
    base: { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }] },
    probe: {
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'text', text: 'x' },
          ],
        },
      ],
    },
    why: 'only the provider that signed it takes it back; the conversation stands without it',
  },
  {
    field: 'messages[].content tool_use',
    probe: { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }] }] },
  },
  { field: 'messages[].content tool_result', probe: user([{ type: 'tool_result', tool_use_id: 't', content: 'r' }]) },
  {
    field: 'messages[].content tool_result.is_error',
    base: user([{ type: 'tool_result', tool_use_id: 't', content: 'r' }]),
    probe: user([{ type: 'tool_result', tool_use_id: 't', content: 'r', is_error: true }]),
  },
  {
    field: 'messages[].content tool_result with an image',
    base: user([{ type: 'tool_result', tool_use_id: 't', content: 'r' }]),
    probe: user([
      {
        type: 'tool_result',
        tool_use_id: 't',
        content: [
          { type: 'text', text: 'r' },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ],
      },
    ]),
  },
  {
    field: 'messages[].content blocks of hosted tools',
    base: { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }] },
    probe: {
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'text', text: 'x' },
          ],
        },
      ],
    },
  },
  { field: 'messages[].content container_upload', probe: part({ type: 'container_upload', file_id: 'f' }) },
  { field: 'temperature', probe: { temperature: 0.25 } },
  { field: 'top_p', probe: { top_p: 0.25 } },
  { field: 'top_k', probe: { top_k: 5 } },
  { field: 'stop_sequences', probe: { stop_sequences: ['END'] }, kept: KEPT },
  { field: 'thinking enabled', probe: { thinking: { type: 'enabled', budget_tokens: 2048 } } },
  {
    field: 'thinking adaptive',
    probe: { thinking: { type: 'adaptive' } },
    why: 'how much to think is left to the model as it is',
  },
  { field: 'thinking disabled', probe: { thinking: { type: 'disabled' } }, why: 'it is what the target does unasked' },
  { field: 'output_config.effort', probe: { output_config: { effort: 'high' } } },
  { field: 'output_config.format', probe: { output_config: { format: { type: 'json_schema', schema } } } },
  { field: 'tools[]', probe: { tools: [messagesTool] } },
  { field: 'tools[].strict', base: { tools: [messagesTool] }, probe: { tools: [{ ...messagesTool, strict: true }] } },
  {
    field: 'tools[] hosted, beside others',
    base: { tools: [messagesTool] },
    probe: { tools: [messagesTool, { type: 'web_search_20250305', name: 'web_search' }] },
  },
  { field: 'tools[] hosted, alone', probe: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } },
  {
    field: 'tools[] built in (bash, text_editor, computer, memory)',
    probe: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
  },
  {
    field: 'tool_choice auto',
    base: { tools: [messagesTool] },
    probe: { tools: [messagesTool], tool_choice: { type: 'auto' } },
  },
  {
    field: 'tool_choice any',
    base: { tools: [messagesTool] },
    probe: { tools: [messagesTool], tool_choice: { type: 'any' } },
  },
  {
    field: 'tool_choice tool',
    base: { tools: [messagesTool] },
    probe: { tools: [messagesTool], tool_choice: { type: 'tool', name: 'f' } },
  },
  {
    field: 'tool_choice none',
    base: { tools: [messagesTool] },
    probe: { tools: [messagesTool], tool_choice: { type: 'none' } },
  },
  {
    field: 'tool_choice.disable_parallel_tool_use',
    base: { tools: [messagesTool], tool_choice: { type: 'auto' } },
    probe: { tools: [messagesTool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  },
  { field: 'metadata.user_id', probe: { metadata: { user_id: 'ann' } } },
  { field: 'service_tier', probe: { service_tier: 'standard_only' } },
  { field: 'speed fast', probe: { speed: 'fast' } },
  { field: 'container', probe: { container: 'c' } },
  { field: 'mcp_servers', probe: { mcp_servers: [{ type: 'url', url: 'https://example.com' }] } },
  { field: 'context_management', probe: { context_management: { edits: [] } } },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 }, why: 'they have no counterpart' },
];

export const FIELDS: Readonly<Record<Format, readonly FieldRow[]>> = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
};
