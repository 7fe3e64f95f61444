/** What stands in a conversation beside text: cached prompts, documents and citations, refusals, audio. */
import { type Conversation, plainRequests, plainWith, TOKENS } from './conversation.ts';

const SCHEMA = { type: 'object', properties: {} };
const EPHEMERAL = { type: 'ephemeral' };
const HOUR = { type: 'ephemeral', ttl: '1h' };
const BREAKPOINT = { mode: 'explicit' };

const cachedPrompts: Conversation = {
  name: 'cached-prompts',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'A long preamble.', prompt_cache_breakpoint: BREAKPOINT }] },
        { role: 'user', content: [{ type: 'text', text: 'A long question.', prompt_cache_breakpoint: BREAKPOINT }] },
      ],
      prompt_cache_key: 'thread-1',
      prompt_cache_retention: '24h',
    },
    responses: {
      model: 'public/model',
      instructions: 'A long preamble.',
      input: [
        {
          role: 'user',
          content: [{ type: 'input_text', text: 'A long question.', prompt_cache_breakpoint: BREAKPOINT }],
        },
      ],
      prompt_cache_key: 'thread-1',
      prompt_cache_retention: '24h',
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      cache_control: EPHEMERAL,
      tools: [{ name: 'look', input_schema: SCHEMA, cache_control: HOUR }],
      system: [{ type: 'text', text: 'A long preamble.', cache_control: HOUR }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'A long question.', cache_control: EPHEMERAL }] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, cache_control: EPHEMERAL }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'A long result.', cache_control: EPHEMERAL },
          ],
        },
      ],
    },
  },
  answer: {
    blocks: [{ kind: 'text', pieces: ['Gladly.'] }],
    finish: 'stop',
    tokens: { ...TOKENS, cacheRead: 900, cacheWrite: 60, cacheWrite1h: 30 },
  },
};

const documents: Conversation = {
  name: 'documents-and-citations',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
            { type: 'file', file: { filename: 'b.txt', file_data: 'data:text/plain;base64,R3Jhc3MgaXMgZ3JlZW4u' } },
            { type: 'text', text: 'Which colour has grass?' },
          ],
        },
        {
          role: 'assistant',
          content: 'Green.',
          annotations: [
            {
              type: 'url_citation',
              url_citation: { url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 5 },
            },
          ],
        },
        { role: 'user', content: 'Sure?' },
      ],
    },
    responses: {
      model: 'public/model',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
            { type: 'input_file', filename: 'b.txt', file_data: 'data:text/plain;base64,R3Jhc3MgaXMgZ3JlZW4u' },
            { type: 'input_text', text: 'Which colour has grass?' },
          ],
        },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [
            {
              type: 'output_text',
              text: 'Green.',
              annotations: [
                { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 5 },
              ],
            },
          ],
        },
        { role: 'user', content: 'Sure?' },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'a.pdf',
              context: 'A scan.',
              citations: { enabled: true },
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
            },
            {
              type: 'document',
              title: 'b.txt',
              citations: { enabled: true },
              source: { type: 'text', media_type: 'text/plain', data: 'Grass is green.' },
            },
            {
              type: 'document',
              source: {
                type: 'content',
                content: [
                  { type: 'text', text: 'The sky' },
                  { type: 'text', text: 'is blue.' },
                ],
              },
            },
            {
              type: 'search_result',
              title: 'Trees',
              source: 'https://example.com/trees',
              citations: { enabled: true },
              content: [{ type: 'text', text: 'Trees are brown.' }],
            },
            { type: 'text', text: 'Which colour has grass?' },
          ],
        },
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'Green.',
              citations: [
                {
                  type: 'char_location',
                  cited_text: 'Grass is green.',
                  document_index: 1,
                  document_title: 'b.txt',
                  start_char_index: 0,
                  end_char_index: 15,
                },
              ],
            },
          ],
        },
        { role: 'user', content: 'Sure?' },
      ],
    },
  },
  answer: {
    blocks: [
      {
        kind: 'text',
        pieces: ['Grass 🌱', ' is green.'],
        citations: [
          { url: 'https://example.com/a', title: 'A', start: 0, end: 8 },
          { document: 1, title: 'b.txt', cited: 'Grass is green.' },
        ],
      },
    ],
    finish: 'stop',
    tokens: TOKENS,
  },
};

const explained: Conversation = {
  name: 'refusal-in-turns',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'user', content: 'Help me with that.' },
        { role: 'assistant', content: null, refusal: 'I cannot help.' },
        { role: 'user', content: 'Why not?' },
      ],
    },
    responses: {
      model: 'public/model',
      input: [
        { role: 'user', content: 'Help me with that.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'I cannot help.' }] },
        { role: 'user', content: 'Why not?' },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [
        { role: 'user', content: 'Help me with that.' },
        { role: 'assistant', content: 'I cannot help.' },
        { role: 'user', content: 'Why not?' },
      ],
    },
  },
  answer: {
    blocks: [
      { kind: 'text', pieces: ['Because'] },
      { kind: 'refusal', pieces: [' I must not.'] },
    ],
    finish: 'refusal',
    explanation: 'It is dangerous.',
    tokens: TOKENS,
  },
};

const audio: Conversation = {
  name: 'audio',
  requests: plainRequests,
  answer: { blocks: [{ kind: 'text', pieces: ['Text only.'] }], finish: 'stop', tokens: TOKENS },
  variants: [
    {
      what: 'audio in a message',
      requests: {
        chat: {
          model: 'public/model',
          messages: [
            { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
          ],
        },
        responses: {
          model: 'public/model',
          input: [
            { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
          ],
        },
      },
    },
    {
      what: 'an audio answer',
      requests: plainWith({ chat: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } } }),
    },
    { what: 'only the audio settings', requests: plainWith({ chat: { audio: { voice: 'alloy', format: 'wav' } } }) },
    { what: 'text as the only modality', requests: plainWith({ chat: { modalities: ['text'] } }) },
    {
      what: 'an earlier audio answer',
      requests: {
        chat: {
          model: 'public/model',
          messages: [
            { role: 'user', content: 'Say it.' },
            { role: 'assistant', audio: { id: 'audio_1' } },
            { role: 'user', content: 'Again.' },
          ],
        },
      },
    },
  ],
};

export const CONTENT: readonly Conversation[] = [cachedPrompts, documents, explained, audio];
