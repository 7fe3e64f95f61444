/** The fields of chat completions requests. */
import { chatCall, chatTool, type FieldRow, KEPT, OPENAI_ONLY, part, schema, user } from './row.ts';

export const CHAT_FIELDS: readonly FieldRow[] = [
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
    field: 'messages[].content input_audio, answered',
    base: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
    probe: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          ],
        },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  {
    field: 'messages[].audio',
    base: {
      messages: [
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
    probe: {
      messages: [
        { role: 'assistant', content: 'x', audio: { id: 'audio_1' } },
        { role: 'user', content: 'Hi' },
      ],
    },
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
    probe: {
      messages: [
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'r' },
        { role: 'user', content: 'Hi' },
      ],
    },
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
  {
    field: 'prompt_cache_options',
    probe: { prompt_cache_options: { mode: 'explicit' } },
    why: 'the target caches by marks',
  },
  { field: 'moderation', probe: { moderation: { model: 'omni-moderation-latest' } } },
  { field: 'store', probe: { store: true }, why: OPENAI_ONLY },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 } },
];
