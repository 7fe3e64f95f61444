/** Tools in depth: nested schemas and arguments, every tool choice, results of every kind, thinking through a tool loop. */
import { type Conversation, PIXEL, plainWith, type Requests, TOKENS, type Variant } from './conversation.ts';

const ADDRESS = {
  type: 'object',
  properties: {
    street: { type: 'string' },
    lines: { type: 'array', items: { type: ['string', 'null'] } },
    place: { $ref: '#/$defs/place' },
  },
  required: ['street', 'place'],
};
const ORDER = {
  type: 'object',
  $defs: {
    place: {
      type: 'object',
      properties: { lat: { type: 'number' }, lon: { type: 'number' } },
      required: ['lat', 'lon'],
    },
  },
  properties: {
    to: ADDRESS,
    items: {
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'object', properties: { id: { type: 'integer' } } }] },
    },
  },
  required: ['to', 'items'],
};
const LONG_NAME = `shop.orders.${'very_'.repeat(12)}long`;
const ORDERED = {
  to: { street: 'Elm 1', lines: ['c/o "Ann"', null], place: { lat: 59.9, lon: 10.7 } },
  items: ['a', { id: 2 }],
};

const nested: Conversation = {
  name: 'nested-tools',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'user', content: 'Order both.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'order', arguments: JSON.stringify(ORDERED) } },
            { id: 'call_2', type: 'function', function: { name: 'list_all', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_2', content: '[]' },
        { role: 'tool', tool_call_id: 'call_1', content: '{"ok":true}' },
      ],
      tools: [
        { type: 'function', function: { name: 'order', description: 'Orders.', parameters: ORDER } },
        { type: 'function', function: { name: 'list_all' } },
        {
          type: 'function',
          function: { name: 'order_strict', parameters: { ...ORDER, additionalProperties: false }, strict: true },
        },
      ],
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'user', content: 'Order both.' },
        { type: 'function_call', call_id: 'call_1', name: LONG_NAME, arguments: JSON.stringify(ORDERED) },
        { type: 'function_call', call_id: 'call_2', name: 'list_all', namespace: 'shop', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'call_3', name: 'patch', input: 'line "one"\n' },
        { type: 'function_call_output', call_id: 'call_2', output: '[]' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"ok":true}' },
        { type: 'custom_tool_call_output', call_id: 'call_3', output: 'patched' },
      ],
      tools: [
        { type: 'function', name: LONG_NAME, description: 'Orders.', parameters: ORDER, strict: false },
        {
          type: 'namespace',
          name: 'shop',
          description: 'The shop.',
          tools: [{ type: 'function', name: 'list_all', parameters: null }],
        },
        { type: 'custom', name: 'patch', description: 'Patches.' },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        { role: 'user', content: 'Order both.' },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'toolu_1', name: 'order', input: ORDERED },
            { type: 'tool_use', id: 'toolu_2', name: 'list_all', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_2', content: '[]' },
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: '{"ok":true}' }] },
          ],
        },
      ],
      tools: [
        { name: 'order', description: 'Orders.', input_schema: ORDER },
        { name: 'list_all', input_schema: { type: 'object' } },
        { name: 'order_strict', input_schema: { ...ORDER, additionalProperties: false }, strict: true },
      ],
    },
  },
  answer: {
    blocks: [
      {
        kind: 'tool',
        id: 'call_4',
        name: 'order',
        pieces: ['{"to":{"street":"Elm', ' 1","lines":["c/o \\"', 'Ann\\"",null]},"items":[{"id":2}]}'],
      },
      { kind: 'tool', id: 'call_5', name: 'list_all', pieces: ['{}'] },
    ],
    finish: 'tool',
    tokens: TOKENS,
  },
};

const TWO = ['read', 'write'];
const SCHEMA = { type: 'object', properties: {}, additionalProperties: false };

function choosing(what: string, members: Requests): Variant {
  const offered: Requests = {
    chat: { tools: TWO.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })), ...members.chat },
    responses: {
      tools: TWO.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: true })),
      ...members.responses,
    },
    messages: { tools: TWO.map((name) => ({ name, input_schema: SCHEMA })), ...members.messages },
  };
  const known = Object.keys(members);
  const kept = Object.fromEntries(Object.entries(offered).filter(([format]) => known.includes(format)));
  return { what, requests: plainWith(kept) };
}

const named = {
  chat: TWO.map((name) => ({ type: 'function', function: { name } })),
  responses: TWO.map((name) => ({ type: 'function', name })),
};

const toolChoice: Conversation = {
  name: 'tool-choice',
  requests: choosing('', { chat: {}, responses: {}, messages: {} }).requests,
  answer: { blocks: [{ kind: 'tool', id: 'call_1', name: 'read', pieces: ['{}'] }], finish: 'tool', tokens: TOKENS },
  variants: [
    choosing('auto', {
      chat: { tool_choice: 'auto' },
      responses: { tool_choice: 'auto' },
      messages: { tool_choice: { type: 'auto' } },
    }),
    choosing('none', {
      chat: { tool_choice: 'none' },
      responses: { tool_choice: 'none' },
      messages: { tool_choice: { type: 'none' } },
    }),
    choosing('any tool', {
      chat: { tool_choice: 'required' },
      responses: { tool_choice: 'required' },
      messages: { tool_choice: { type: 'any' } },
    }),
    choosing('one tool', {
      chat: { tool_choice: { type: 'function', function: { name: 'write' } } },
      responses: { tool_choice: { type: 'function', name: 'write' } },
      messages: { tool_choice: { type: 'tool', name: 'write' } },
    }),
    choosing('one tool at a time', {
      chat: { parallel_tool_calls: false },
      responses: { parallel_tool_calls: false },
      messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    }),
    choosing('any tool, one at a time', {
      chat: { tool_choice: 'required', parallel_tool_calls: false },
      responses: { tool_choice: 'required', parallel_tool_calls: false },
      messages: { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    }),
    choosing('some of the tools', {
      chat: { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: named.chat.slice(1) } } },
      responses: { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: named.responses.slice(1) } },
    }),
    choosing('any of some of the tools', {
      chat: { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: named.chat.slice(1) } } },
      responses: { tool_choice: { type: 'allowed_tools', mode: 'required', tools: named.responses.slice(1) } },
    }),
    choosing('a custom tool', {
      chat: {
        tools: [{ type: 'custom', custom: { name: 'patch' } }],
        tool_choice: { type: 'custom', custom: { name: 'patch' } },
      },
      responses: { tools: [{ type: 'custom', name: 'patch' }], tool_choice: { type: 'custom', name: 'patch' } },
    }),
    choosing('a hosted tool', { responses: { tool_choice: { type: 'web_search' } } }),
    choosing('a choice without tools', {
      chat: { tools: [], tool_choice: 'none' },
      responses: { tools: [], tool_choice: 'auto' },
      messages: { tools: [], tool_choice: { type: 'none' } },
    }),
  ],
};

const toolResults: Conversation = {
  name: 'tool-results',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          tool_calls: ['a', 'b', 'c'].map((id) => ({
            id,
            type: 'function',
            function: { name: 'look', arguments: '{}' },
          })),
        },
        {
          role: 'tool',
          tool_call_id: 'a',
          content: [
            { type: 'text', text: 'One.' },
            { type: 'text', text: 'Two.' },
          ],
        },
        { role: 'tool', tool_call_id: 'b', content: '' },
        { role: 'tool', tool_call_id: 'c', content: 'Error: no such file' },
      ],
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'user', content: 'Look.' },
        ...['a', 'b', 'c', 'd'].map((call_id) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' })),
        {
          type: 'function_call_output',
          call_id: 'a',
          output: [
            { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'high' },
            { type: 'input_text', text: 'The picture.' },
          ],
        },
        { type: 'function_call_output', call_id: 'b', output: '' },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_image', image_url: 'https://example.com/b.png' }],
        },
        {
          type: 'function_call_output',
          call_id: 'd',
          output: [{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }],
        },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        { role: 'user', content: 'Look.' },
        {
          role: 'assistant',
          content: ['a', 'b', 'c', 'd', 'e'].map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
                { type: 'text', text: 'The picture.' },
              ],
            },
            { type: 'tool_result', tool_use_id: 'b' },
            {
              type: 'tool_result',
              tool_use_id: 'c',
              is_error: true,
              content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/b.png' } }],
            },
            { type: 'tool_result', tool_use_id: 'd', is_error: true, content: 'no such file' },
            {
              type: 'tool_result',
              tool_use_id: 'e',
              content: [
                { type: 'document', title: 'a.txt', source: { type: 'text', media_type: 'text/plain', data: 'A.' } },
              ],
            },
            { type: 'text', text: 'What do you see?' },
          ],
        },
      ],
    },
  },
  answer: { blocks: [{ kind: 'text', pieces: ['A pixel.'] }], finish: 'stop', tokens: TOKENS },
};

const LOOK = { name: 'look', schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } };
const tokens = { ...TOKENS, reasoning: 6 };

const thinkingTurns: Conversation = {
  name: 'thinking-turns',
  requests: {
    chat: {
      model: 'public/model',
      messages: [{ role: 'user', content: 'Look around.' }],
      tools: [{ type: 'function', function: { name: LOOK.name, parameters: LOOK.schema } }],
      reasoning_effort: 'medium',
    },
    responses: {
      model: 'public/model',
      input: [{ role: 'user', content: 'Look around.' }],
      tools: [{ type: 'function', name: LOOK.name, parameters: LOOK.schema, strict: false }],
      reasoning: { effort: 'medium', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
    },
    messages: {
      model: 'public/model',
      max_tokens: 4096,
      messages: [{ role: 'user', content: 'Look around.' }],
      tools: [{ name: LOOK.name, input_schema: LOOK.schema }],
      thinking: { type: 'enabled', budget_tokens: 2048 },
    },
  },
  answer: {
    blocks: [
      { kind: 'thinking', pieces: ['First ', 'left.'], signature: 'signed-1' },
      { kind: 'text', pieces: ['I look.'] },
      { kind: 'tool', id: 'call_1', name: 'look', pieces: ['{"at":"left"}'] },
    ],
    finish: 'tool',
    tokens,
  },
  later: [
    {
      blocks: [
        { kind: 'redacted', data: 'hidden-2' },
        { kind: 'thinking', pieces: ['Then right.'], signature: 'signed-2' },
        { kind: 'tool', id: 'call_2', name: 'look', pieces: ['{"at":"right"}'] },
        { kind: 'tool', id: 'call_3', name: 'look', pieces: ['{"at":"up"}'] },
      ],
      finish: 'tool',
      tokens,
    },
    {
      blocks: [
        { kind: 'thinking', pieces: ['Enough.'], signature: 'signed-3' },
        { kind: 'text', pieces: ['All seen.'] },
      ],
      finish: 'stop',
      tokens,
    },
    { blocks: [{ kind: 'text', pieces: ['Good bye.'] }], finish: 'stop', tokens },
  ],
};

export const TOOLS: readonly Conversation[] = [nested, toolChoice, toolResults, thinkingTurns];
