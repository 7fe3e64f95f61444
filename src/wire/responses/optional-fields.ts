/** The members of a request that are optional by the public schemas of responses. */
import type { OptionalFields } from '../json/omit-nulls.ts';

const PART: OptionalFields = {
  optional: [
    'annotations',
    'detail',
    'file_data',
    'file_id',
    'file_url',
    'filename',
    'image_url',
    'logprobs',
    'prompt_cache_breakpoint',
  ],
};

const TOOL_FIELDS: OptionalFields = {
  optional: [
    'allowed_callers',
    'allowed_tools',
    'async',
    'authorization',
    'connector_id',
    'defer_loading',
    'description',
    'execution',
    'filters',
    'format',
    'headers',
    'max_num_results',
    'output_schema',
    'parameters',
    'ranking_options',
    'require_approval',
    'search_context_size',
    'server_description',
    'server_url',
    'strict',
    'user_location',
  ],
  inside: { user_location: { optional: ['city', 'country', 'region', 'timezone', 'type'] } },
};
/** A namespace holds tools. */
const TOOL: OptionalFields = { ...TOOL_FIELDS, inside: { ...TOOL_FIELDS.inside, tools: TOOL_FIELDS } };

const ITEM_FIELDS = ['async', 'caller', 'created_by', 'id', 'namespace', 'phase', 'status', 'type'];
const PARTS = { content: PART, output: PART, summary: PART, tools: TOOL };

/** An item without a type is a message; what refers to an item needs its id. */
const ITEM: OptionalFields = {
  optional: ITEM_FIELDS,
  inside: PARTS,
  by: {
    member: 'type',
    values: {
      item_reference: { optional: [] },
      reasoning: { optional: [...ITEM_FIELDS, 'content', 'encrypted_content'], inside: PARTS },
      function_call_output: { optional: [...ITEM_FIELDS, 'name'], inside: PARTS },
      computer_call_output: { optional: [...ITEM_FIELDS, 'acknowledged_safety_checks'] },
      mcp_call: { optional: ['approval_request_id', 'error', 'output', 'status'] },
      mcp_approval_response: { optional: ['id', 'reason'] },
      mcp_list_tools: { optional: ['error'] },
      shell_call: { optional: [...ITEM_FIELDS, 'environment'] },
      tool_search_call: { optional: [...ITEM_FIELDS, 'call_id', 'execution'] },
      tool_search_output: { optional: [...ITEM_FIELDS, 'call_id', 'execution'], inside: PARTS },
    },
  },
};

export const responsesOptionalFields: OptionalFields = {
  optional: [
    'access_programs',
    'background',
    'context_management',
    'conversation',
    'frequency_penalty',
    'image',
    'include',
    'instructions',
    'max_output_tokens',
    'max_tool_calls',
    'metadata',
    'moderation',
    'multi_agent',
    'parallel_tool_calls',
    'presence_penalty',
    'previous_response_id',
    'prompt',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'reasoning',
    'safety_identifier',
    'service_tier',
    'store',
    'stream',
    'stream_options',
    'temperature',
    'text',
    'tool_choice',
    'tools',
    'top_logprobs',
    'top_p',
    'truncation',
    'user',
  ],
  inside: {
    input: ITEM,
    tools: TOOL,
    text: { optional: ['format', 'verbosity'], inside: { format: { optional: ['description', 'strict'] } } },
    reasoning: { optional: ['context', 'effort', 'generate_summary', 'mode', 'summary'] },
    stream_options: { optional: ['include_obfuscation'] },
    prompt: { optional: ['variables', 'version'] },
    context_management: { optional: ['compact_threshold'] },
    prompt_cache_options: { optional: ['comparison_response_id', 'mode', 'prewarm', 'ttl'] },
    moderation: { optional: ['policy'], inside: { policy: { optional: ['input', 'output'] } } },
  },
};
