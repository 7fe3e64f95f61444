/** The fields of messages requests. */
import { CACHE, type FieldRow, KEPT, messagesTool, part, schema, user } from './row.ts';

export const MESSAGES_FIELDS: readonly FieldRow[] = [
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
  {
    field: 'messages[].content tool_addition',
    base: { tools: [messagesTool], messages: [{ role: 'user', content: 'Hi' }] },
    probe: {
      tools: [messagesTool],
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { ...messagesTool, name: 'added' } },
            },
          ],
        },
      ],
    },
  },
  {
    field: 'messages[].content tool_removal',
    base: { tools: [messagesTool, { ...messagesTool, name: 'other' }] },
    probe: {
      tools: [messagesTool, { ...messagesTool, name: 'other' }],
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }] },
      ],
    },
  },
  {
    field: 'messages[].content compaction',
    base: { messages: [{ role: 'user', content: 'Hi' }] },
    probe: {
      messages: [
        { role: 'assistant', content: [{ type: 'compaction', content: 'They greeted.', encrypted_content: null }] },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  {
    field: 'messages[].content blocks that no other format has, answered',
    base: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
    probe: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'hologram' }] },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
  { field: 'messages[].content blocks that no other format has, now', probe: part({ type: 'hologram' }) },
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
    field: 'tools[] built in (bash, text_editor, computer, memory, browser_toolset)',
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
  { field: 'compaction', probe: { compaction: { type: 'summarize' } } },
  { field: 'diagnostics', probe: { diagnostics: { previous_message_id: null } } },
  { field: 'output_config.task_budget', probe: { output_config: { task_budget: { type: 'tokens', total: 50_000 } } } },
  {
    field: 'thinking.block_binding',
    base: { thinking: { type: 'adaptive' } },
    probe: { thinking: { type: 'adaptive', block_binding: {} } },
  },
  { field: 'stream', probe: { stream: true } },
  { field: 'unknown fields', probe: { anything: 1 } },
];
