/** The conversations that everybody has: text, tools, images, thinking, a cached prompt, and how answers end. */
import { type Conversation, PIXEL, plainRequests, TOKENS as tokens } from './conversation.ts';

const WEATHER_SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const text: Conversation = {
  name: 'text',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Say hello' },
            { type: 'text', text: 'in two words.' },
          ],
        },
        { role: 'assistant', content: 'Hello there.' },
        { role: 'user', content: 'And now in French.' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      user: 'user-1',
    },
    responses: {
      model: 'public/model',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Say hello' },
            { type: 'input_text', text: 'in two words.' },
          ],
        },
        {
          type: 'message',
          id: 'msg_earlier',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hello there.', annotations: [] }],
        },
        { role: 'user', content: 'And now in French.' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      user: 'user-1',
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      system: 'Be brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Say hello' },
            { type: 'text', text: 'in two words.' },
          ],
        },
        { role: 'assistant', content: 'Hello there.' },
        { role: 'user', content: 'And now in French.' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      metadata: { user_id: 'user-1' },
    },
  },
  answer: { blocks: [{ kind: 'text', pieces: ['Bon', 'jour à ', 'tous 👋'] }], finish: 'stop', tokens },
};

const parallelTools: Conversation = {
  name: 'parallel-tools',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'user', content: 'Weather in Oslo and Rome?' },
        {
          role: 'assistant',
          content: 'I will look.',
          tool_calls: [
            { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
            { id: 'call_b', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_a', content: '3 degrees' },
        { role: 'tool', tool_call_id: 'call_b', content: 'No data' },
        { role: 'user', content: 'Try again, and Paris too.' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            parameters: WEATHER_SCHEMA,
            strict: true,
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'user', content: 'Weather in Oslo and Rome?' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'I will look.', annotations: [] }],
        },
        { type: 'function_call', call_id: 'call_a', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call', call_id: 'call_b', name: 'weather', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'call_a', output: '3 degrees' },
        { type: 'function_call_output', call_id: 'call_b', output: 'No data' },
        { role: 'user', content: 'Try again, and Paris too.' },
      ],
      tools: [
        {
          type: 'namespace',
          name: 'sky',
          description: 'What the sky does.',
          tools: [
            { type: 'function', name: 'weather', description: 'The weather of a city.', parameters: WEATHER_SCHEMA },
          ],
        },
        {
          type: 'custom',
          name: 'patch',
          description: 'Changes a file.',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
        },
        { type: 'web_search' },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        { role: 'user', content: 'Weather in Oslo and Rome?' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I will look.' },
            { type: 'tool_use', id: 'toolu_a', name: 'weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'toolu_b', name: 'weather', input: { city: 'Rome' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_a', content: '3 degrees' },
            { type: 'tool_result', tool_use_id: 'toolu_b', content: 'No data', is_error: true },
            { type: 'text', text: 'Try again, and Paris too.' },
          ],
        },
      ],
      tools: [{ name: 'weather', description: 'The weather of a city.', input_schema: WEATHER_SCHEMA, strict: true }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    },
  },
  answer: {
    blocks: [
      { kind: 'text', pieces: ['Once more.'] },
      { kind: 'tool', id: 'call_c', name: 'weather', pieces: ['{"city":', '"Rome"}'] },
      { kind: 'tool', id: 'call_d', name: 'weather', pieces: ['{"city"', ':"Paris"', '}'] },
    ],
    finish: 'tool',
    tokens,
  },
};

const images: Conversation = {
  name: 'images',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What do these show?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}`, detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://example.com/cat.jpg' } },
            { type: 'file', file: { filename: 'paper.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          ],
        },
      ],
    },
    responses: {
      model: 'public/model',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What do these show?' },
            { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'low' },
            { type: 'input_image', image_url: 'https://example.com/cat.jpg', detail: 'auto' },
            { type: 'input_file', filename: 'paper.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          ],
        },
        { type: 'function_call', call_id: 'call_shot', name: 'screenshot', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'call_shot',
          output: [
            { type: 'input_text', text: 'The screen:' },
            { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
          ],
        },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What do these show?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/cat.jpg' } },
            {
              type: 'document',
              title: 'paper.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
            },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_shot', name: 'screenshot', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_shot',
              content: [
                { type: 'text', text: 'The screen:' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
              ],
            },
          ],
        },
      ],
    },
  },
  answer: { blocks: [{ kind: 'text', pieces: ['A pixel', ' and a cat.'] }], finish: 'stop', tokens },
};

const thinking: Conversation = {
  name: 'thinking',
  requests: {
    chat: {
      model: 'public/model',
      messages: [{ role: 'user', content: 'Is 91 prime?' }],
      reasoning_effort: 'low',
      max_completion_tokens: 4096,
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'user', content: 'Is 91 prime?' },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'Try 7.' }],
          encrypted_content: 'provider-encrypted',
        },
        { role: 'assistant', content: [{ type: 'output_text', text: 'No.', annotations: [] }] },
        { role: 'user', content: 'Is 97?' },
      ],
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
    },
    messages: {
      model: 'public/model',
      max_tokens: 4096,
      messages: [
        { role: 'user', content: 'Is 91 prime?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Try 7.', signature: 'provider-signed' },
            { type: 'text', text: 'No.' },
          ],
        },
        { role: 'user', content: 'Is 97?' },
      ],
      thinking: { type: 'enabled', budget_tokens: 2048 },
    },
  },
  answer: {
    blocks: [
      { kind: 'thinking', pieces: ['Not by 2, 3, ', '5 or 7.'], signature: 'signed-1' },
      { kind: 'redacted', data: 'hidden-1' },
      { kind: 'text', pieces: ['Yes.'] },
    ],
    finish: 'stop',
    tokens: { ...tokens, reasoning: 8 },
  },
};

const caching: Conversation = {
  name: 'caching',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'developer', content: 'A long preamble.' },
        { role: 'user', content: 'Go on.' },
      ],
      prompt_cache_key: 'thread-1',
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'developer', content: 'A long preamble.' },
        { role: 'user', content: 'Go on.' },
      ],
      prompt_cache_key: 'thread-1',
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      system: [
        { type: 'text', text: 'A long preamble.' },
        { type: 'text', text: 'More of it.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } }] }],
    },
  },
  answer: {
    blocks: [{ kind: 'text', pieces: ['Gladly.'] }],
    finish: 'stop',
    tokens: { ...tokens, cacheRead: 900, cacheWrite: 60 },
  },
};

export const BASICS: readonly Conversation[] = [
  text,
  parallelTools,
  images,
  thinking,
  caching,
  {
    name: 'refusal',
    requests: plainRequests,
    answer: { blocks: [{ kind: 'refusal', pieces: ['I cannot ', 'help with that.'] }], finish: 'refusal', tokens },
  },
  {
    name: 'length-stop',
    requests: plainRequests,
    answer: { blocks: [{ kind: 'text', pieces: ['It was the best of'] }], finish: 'length', tokens },
  },
  {
    name: 'error-mid-stream',
    requests: plainRequests,
    answer: {
      blocks: [{ kind: 'text', pieces: ['It was', ' the best'] }],
      finish: 'stop',
      tokens,
      errorAfterFrames: 5,
    },
  },
];
