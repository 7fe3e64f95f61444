/** The members of a request that are optional by the public schema of messages. */
import type { OptionalFields } from '../json/omit-nulls.ts';

const CACHE_CONTROL: OptionalFields = { optional: ['ttl'] };
const CITATIONS: OptionalFields = { optional: ['enabled'] };
const BLOCK_FIELDS = ['cache_control', 'citations', 'caller', 'toolset_name', 'transformations'];
const INSIDE_BLOCK = { cache_control: CACHE_CONTROL, citations: CITATIONS };

/** A block without blocks of its own. */
const PLAIN_BLOCK: OptionalFields = {
  optional: BLOCK_FIELDS,
  inside: INSIDE_BLOCK,
  by: {
    member: 'type',
    values: {
      document: {
        optional: [...BLOCK_FIELDS, 'context', 'title'],
        inside: { ...INSIDE_BLOCK, source: { optional: [], inside: { content: { optional: BLOCK_FIELDS } } } },
      },
      search_result: { optional: BLOCK_FIELDS, inside: { ...INSIDE_BLOCK, content: { optional: BLOCK_FIELDS } } },
    },
  },
};

const BLOCK: OptionalFields = {
  ...PLAIN_BLOCK,
  by: {
    member: 'type',
    values: {
      ...PLAIN_BLOCK.by?.values,
      tool_result: {
        optional: [...BLOCK_FIELDS, 'content', 'is_error'],
        inside: { ...INSIDE_BLOCK, content: PLAIN_BLOCK },
      },
    },
  },
};

const TOOL: OptionalFields = {
  optional: [
    'allowed_callers',
    'allowed_domains',
    'blocked_domains',
    'cache_control',
    'citations',
    'defer_loading',
    'description',
    'display_number',
    'eager_input_streaming',
    'input_examples',
    'max_characters',
    'max_content_tokens',
    'max_uses',
    'strict',
    'type',
    'user_location',
  ],
  inside: { ...INSIDE_BLOCK, user_location: { optional: ['city', 'country', 'region', 'timezone'] } },
};

export const messagesOptionalFields: OptionalFields = {
  optional: [
    'cache_control',
    'compaction',
    'container',
    'context_management',
    'diagnostics',
    'fallback_credit_token',
    'fallbacks',
    'inference_geo',
    'max_tokens',
    'mcp_servers',
    'metadata',
    'output_config',
    'output_format',
    'service_tier',
    'speed',
    'stop_sequences',
    'stream',
    'system',
    'temperature',
    'thinking',
    'thread',
    'tool_choice',
    'tools',
    'top_k',
    'top_p',
    'user_profile_id',
    'workspace_id',
  ],
  inside: {
    cache_control: CACHE_CONTROL,
    system: BLOCK,
    messages: { optional: [], inside: { content: BLOCK } },
    tools: TOOL,
    tool_choice: { optional: ['disable_parallel_tool_use'] },
    thinking: { optional: ['block_binding', 'display'] },
    output_config: { optional: ['effort', 'format', 'task_budget'] },
    metadata: { optional: ['user_id'] },
    mcp_servers: { optional: ['authorization_token', 'tool_configuration'] },
  },
};
