/** The fields of responses requests. */
import { type FieldRow, inputPart, item, responsesTool, schema } from './row.ts';

export const RESPONSES_FIELDS: readonly FieldRow[] = [
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
    base: item(),
    probe: item({ type: 'local_shell_call', id: 'x', call_id: 'call_1', status: 'completed' }),
  },
  {
    field: 'input[] compaction (of a responses provider)',
    base: item(),
    probe: item({ type: 'compaction', id: 'c', encrypted_content: 'e' }),
  },
  { field: 'input[] compaction_trigger', probe: item({ type: 'compaction_trigger' }) },
  {
    field: 'input[] compaction_trigger, answered',
    base: item({ role: 'assistant', content: 'x' }, { role: 'user', content: 'Hi' }),
    probe: item({ type: 'compaction_trigger' }, { role: 'assistant', content: 'x' }, { role: 'user', content: 'Hi' }),
  },
  {
    field: 'input[] configuration_update',
    base: item(),
    probe: item({ type: 'configuration_update', reasoning: { effort: 'high' } }),
  },
  {
    field: 'input[] program, program_output',
    base: item(),
    probe: item(
      { type: 'program', id: 'p', call_id: 'call_1' },
      { type: 'program_output', id: 'o', call_id: 'call_1' },
    ),
  },
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
  { field: 'conversation', probe: { conversation: 'conv_1' } },
  { field: 'prompt', probe: { prompt: { id: 'pmpt_1' } } },
  { field: 'background', probe: { background: true }, why: 'the gateway makes responses in the background itself' },
  { field: 'store', probe: { store: true }, why: 'the gateway stores responses itself' },
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
  { field: 'image', probe: { image: { context_compression: 'disabled' } } },
  { field: 'reasoning.mode', base: { reasoning: {} }, probe: { reasoning: { mode: 'pro' } } },
  { field: 'reasoning.context', base: { reasoning: {} }, probe: { reasoning: { context: 'all_turns' } } },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 } },
];
