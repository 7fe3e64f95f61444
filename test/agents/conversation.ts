/** What a model hears in a request of each format: its instructions, the tools it is offered, and the loop so far. */
import type { Format } from '../../src/core/endpoints.ts';

export interface OfferedTool {
  readonly name: string;
  /** The description that tells the model what the tool is for. */
  readonly description: string;
  /** The JSON Schema of the arguments; null for a tool that takes free text. */
  readonly schema: object | null;
}

export interface ToolResult {
  readonly callId: string;
  readonly text: string;
}

export interface Conversation {
  /** Everything that is said by the system, the developer or the user. */
  readonly said: string;
  readonly tools: readonly OfferedTool[];
  /** The ids of the calls that the model made so far, in their order. */
  readonly calls: readonly string[];
  readonly results: readonly ToolResult[];
  /** The signatures or encrypted contents of the model's own thoughts that came back. */
  readonly thoughts: readonly string[];
  /** Whether the client wants to see the model think. */
  readonly wantsThoughts: boolean;
}

interface Part {
  readonly type?: string;
  readonly text?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly signature?: string;
  readonly content?: Content;
  /** Of a reference to a tool that a search has found. */
  readonly tool_name?: string;
}

type Content = string | readonly Part[] | null | undefined;

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? part.tool_name ?? '').join('\n');
}

interface ChatRequest {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: Content;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly { readonly id: string }[];
  }[];
  readonly tools?: readonly {
    readonly function?: { readonly name: string; readonly description?: string; readonly parameters: object };
    readonly custom?: { readonly name: string; readonly description?: string };
  }[];
}

function chat({ messages, tools = [] }: ChatRequest): Conversation {
  return {
    said: messages
      .filter(({ role }) => role !== 'assistant' && role !== 'tool')
      .map(({ content }) => textOf(content))
      .join('\n'),
    tools: tools.map(({ function: declared, custom }) => ({
      name: declared?.name ?? custom?.name ?? '',
      description: declared?.description ?? custom?.description ?? '',
      schema: declared?.parameters ?? null,
    })),
    calls: messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id)),
    results: messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id: callId = '', content }) => ({ callId, text: textOf(content) })),
    thoughts: [],
    wantsThoughts: true,
  };
}

interface ResponsesTool {
  readonly type: string;
  readonly name?: string;
  readonly description?: string;
  readonly parameters?: object;
  readonly tools?: readonly ResponsesTool[];
}

interface ResponsesItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: Content;
  readonly call_id?: string;
  readonly output?: Content;
  readonly encrypted_content?: string;
  readonly tools?: readonly ResponsesTool[];
}

interface ResponsesRequest {
  readonly instructions?: string;
  readonly input: string | readonly ResponsesItem[];
  readonly tools?: readonly ResponsesTool[];
  readonly reasoning?: object;
}

function responsesTools(tools: readonly ResponsesTool[]): OfferedTool[] {
  return tools.flatMap((tool) => {
    if (tool.type === 'namespace') return responsesTools(tool.tools ?? []);
    if (tool.type !== 'function' && tool.type !== 'custom') return [];
    return [{ name: tool.name ?? '', description: tool.description ?? '', schema: tool.parameters ?? null }];
  });
}

function responses({ instructions = '', input: sent, tools = [], reasoning }: ResponsesRequest): Conversation {
  const input: readonly ResponsesItem[] = typeof sent === 'string' ? [{ role: 'user', content: sent }] : sent;
  const told = input.filter(({ role }) => role !== undefined && role !== 'assistant');
  const declared = input.flatMap((item) => (item.type === 'additional_tools' ? (item.tools ?? []) : []));
  return {
    said: [instructions, ...told.map(({ content }) => textOf(content))].join('\n'),
    tools: responsesTools([...tools, ...declared]),
    calls: input
      .filter(({ type = '' }) => type === 'function_call' || type === 'custom_tool_call')
      .map(({ call_id = '' }) => call_id),
    results: input
      .filter(({ type = '' }) => type === 'function_call_output' || type === 'custom_tool_call_output')
      .map(({ call_id: callId = '', output }) => ({ callId, text: textOf(output) })),
    thoughts: input.flatMap(({ encrypted_content: thought }) => (thought === undefined ? [] : [thought])),
    wantsThoughts: reasoning !== undefined,
  };
}

interface MessagesRequest {
  readonly system?: Content;
  readonly messages: readonly { readonly role: string; readonly content: Content }[];
  readonly tools?: readonly { readonly name: string; readonly description?: string; readonly input_schema: object }[];
  readonly thinking?: { readonly type: string };
}

function messages({ system, messages: turns, tools = [], thinking }: MessagesRequest): Conversation {
  const parts = turns.flatMap(({ content }) => (typeof content === 'string' ? [] : (content ?? [])));
  const told = turns.filter(({ role }) => role !== 'assistant');
  return {
    said: [textOf(system), ...told.map(({ content }) => textOf(content))].join('\n'),
    tools: tools.map(({ name, description = '', input_schema: schema }) => ({ name, description, schema })),
    calls: parts.filter(({ type }) => type === 'tool_use').map(({ id = '' }) => id),
    results: parts
      .filter(({ type }) => type === 'tool_result')
      .map(({ tool_use_id: callId = '', content }) => ({ callId, text: textOf(content) })),
    thoughts: parts.flatMap(({ signature }) => (signature === undefined ? [] : [signature])),
    wantsThoughts: thinking !== undefined && thinking.type !== 'disabled',
  };
}

/** The body is the gateway's, so its shape is the format's own; a surprise in it throws. */
export function conversationOf(format: Format, body: unknown): Conversation {
  if (format === 'chat') return chat(body as ChatRequest);
  return format === 'responses' ? responses(body as ResponsesRequest) : messages(body as MessagesRequest);
}
