/** Tools that cost the operator by the call, declared where they are not looked for at first. */
import type { Format } from '../../../src/core/endpoints.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL, modelOf } from '../arena.ts';
import { type Answer, send } from '../client.ts';
import type { Attack } from '../trial.ts';
import { formatOf } from './frames.ts';

const PRICED_MODEL = 'abused-tools';
const SEARCHES = 5;
/** Of five searches at 10 USD for a thousand, or of what a model of the client's choice says. */
const COST_NANOS = SEARCHES * 10_000_000;
const MESSAGES_BETAS =
  'inline-tools-2026-09-15,mcp-client-2026-09-15,advisor-tool-2026-03-01,compact-2026-01-12,mid-conversation-tool-changes-2026-07-01';

interface Case {
  readonly format: Format;
  readonly name: string;
  readonly body: object;
  /** What a refusal must name. `passes`: it costs nothing and is not refused. */
  readonly named: RegExp | 'passes';
}

const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: SEARCHES };
const FETCH = { type: 'web_fetch_20250910', name: 'web_fetch' };
const ADVISOR = { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-5' };
const CODE = { type: 'code_execution_20250825', name: 'code_execution' };
const TOOLSET = { type: 'mcp_toolset', mcp_server_name: 'far' };
const OWN = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } };

const addition = (definition: object): object => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
});

function inTurn(...blocks: readonly object[]): object {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Go on.' }, ...blocks] }] };
}

function messages(name: string, body: object, named: Case['named']): Case {
  return { format: 'messages', name, body, named };
}

function responses(name: string, body: object, named: Case['named']): Case {
  return { format: 'responses', name, body, named };
}

const input = (...items: readonly object[]): object => ({ input: [{ role: 'user', content: 'Go on.' }, ...items] });

const CASES: readonly Case[] = [
  messages('tools: web search', { tools: [SEARCH] }, /web_search/),
  messages('tools: advisor', { tools: [ADVISOR] }, /advisor/),
  messages(
    'tools: MCP toolset',
    { tools: [TOOLSET], mcp_servers: [{ type: 'url', name: 'far', url: 'https://far.example' }] },
    /mcp/,
  ),
  messages('tool_addition: web search', inTurn(addition(SEARCH)), /web_search/),
  messages('tool_addition: web fetch', inTurn(addition(FETCH)), /web_fetch/),
  messages('tool_addition: code execution', inTurn(addition(CODE)), /code_execution/),
  messages('tool_addition: advisor of another model', inTurn(addition(ADVISOR)), /advisor/),
  messages('tool_addition: MCP toolset', inTurn(addition(TOOLSET)), /mcp/),
  messages(
    'tool_addition in a system message',
    {
      messages: [
        { role: 'user', content: 'Go on.' },
        { role: 'system', content: [addition(SEARCH)] },
      ],
    },
    /web_search|system/,
  ),
  messages(
    'compaction.tool_changes: web search',
    {
      messages: [
        { role: 'assistant', content: [{ type: 'compaction', content: 'So far.', tool_changes: [addition(SEARCH)] }] },
        { role: 'user', content: 'Go on.' },
      ],
    },
    /web_search/,
  ),
  messages(
    'compaction.tool_changes: advisor',
    {
      messages: [
        { role: 'assistant', content: [{ type: 'compaction', content: 'So far.', tool_changes: [addition(ADVISOR)] }] },
        { role: 'user', content: 'Go on.' },
      ],
    },
    /advisor/,
  ),
  messages('tool_addition: a tool of the client', inTurn(addition(OWN)), 'passes'),
  messages('tools: browser toolset', { tools: [{ type: 'browser_toolset_20260801' }] }, 'passes'),
  responses('tools: web search', { tools: [{ type: 'web_search' }] }, /web_search/),
  responses(
    'namespace: web search',
    {
      tools: [{ type: 'namespace', name: 'far', description: 'Far.', tools: [{ type: 'web_search' }] }],
    },
    /web_search/,
  ),
  responses(
    'additional_tools: web search',
    input({ type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] }),
    /web_search/,
  ),
  responses(
    'additional_tools: namespace',
    input({
      type: 'additional_tools',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'far',
          description: 'Far.',
          tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
        },
      ],
    }),
    /code_interpreter/,
  ),
  responses(
    'tool_search_output: image generation',
    input({
      type: 'tool_search_output',
      call_id: 'call_1',
      execution: 'client',
      status: 'completed',
      tools: [{ type: 'image_generation' }],
    }),
    /image_generation/,
  ),
  responses(
    'tools: a function',
    { tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }] },
    'passes',
  ),
];

/** What the tool has cost is in the usage, where the format says it, and in the answer's items. */
function answerOf(format: Format): object {
  const whole = SPEECH[format].whole('Done.') as { usage?: object; output?: readonly object[] };
  if (format === 'messages')
    return {
      ...whole,
      usage: { ...whole.usage, server_tool_use: { web_search_requests: SEARCHES, web_fetch_requests: 0 } },
    };
  if (format !== 'responses') return whole;
  const call = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'far' } };
  const calls = Array.from({ length: SEARCHES }, (_none, index) => ({ ...call, id: `ws_${index}` }));
  return { ...whole, output: [...calls, ...(whole.output ?? [])] };
}

async function tryCase(
  arena: Arena,
  model: string,
  { format, name, body, named }: Case,
): Promise<'refused' | 'charged' | 'passed' | 'free'> {
  const key = await arena.key();
  const answer = await send(key, SPEECH[format].path, SPEECH[format].request({ ...body, model }), {
    headers: format === 'messages' ? { 'anthropic-beta': MESSAGES_BETAS } : {},
  });
  await arena.settled([key]);
  const charged = (await arena.charges(key)).get(answer.requestId) ?? 0;
  const label = `${format}, ${model}, ${name}`;
  if (answer.status === 200) {
    if (named === 'passes') return 'passed';
    if (charged >= COST_NANOS) return 'charged';
    arena.fault(`${label}: reached the provider, which it cost ${COST_NANOS / 1e9}, and was charged ${charged / 1e9}`);
    return 'free';
  }
  if (answer.status !== 400) arena.fault(`${label}: status ${answer.status}`);
  else if (named === 'passes') arena.fault(`${label}: refused although it costs nothing: ${messageOf(answer)}`);
  else if (!named.test(answer.text)) arena.fault(`${label}: refused, but not by its name: ${messageOf(answer)}`);
  return 'refused';
}

function messageOf({ text }: Answer): string {
  return /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);
}

export const INLINE_TOOLS: Attack = {
  name: 'hosted tools declared inline',
  tags: 'F51, R60',
  settings: () => ({
    models: [modelOf(PRICED_MODEL, { hosted_tools: { web_search: { per_1000_calls: 10, max_calls: SEARCHES } } })],
  }),
  run: async (arena) => {
    arena.provider.answer = (call) => call.reply(200, answerOf(formatOf(call)));
    const count = { refused: 0, charged: 0, passed: 0, free: 0 };
    for (const model of [MODEL, PRICED_MODEL]) {
      for (const one of CASES) {
        if (!arena.isAlive) return;
        count[await tryCase(arena, model, one)] += 1;
      }
    }
    arena.figure(
      `${2 * CASES.length} requests: ${count.refused} refused, ${count.charged} charged, ${count.passed} passed, ${count.free} free`,
    );
  },
};
