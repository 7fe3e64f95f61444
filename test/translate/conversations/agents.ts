/** Conversations of coding agents: tools that come and go, summaries, settings that change on the way. */
import type { JsonObject } from '../../../src/lib/json.ts';
import { type Conversation, TOKENS } from './conversation.ts';

const schema: JsonObject = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const MODEL = 'public/model';

function messagesTool(name: string): JsonObject {
  return { name, description: `Use ${name}.`, input_schema: schema };
}

function responsesTool(name: string): JsonObject {
  return { type: 'function', name, description: `Use ${name}.`, parameters: schema };
}

const CALL: Conversation['answer'] = {
  blocks: [{ kind: 'tool', id: 'call_1', name: 'write_file', pieces: ['{"path":', '"a.txt"}'] }],
  finish: 'tool',
  tokens: TOKENS,
};

export const AGENTS: readonly Conversation[] = [
  {
    name: 'tools-on-the-way',
    requests: {
      messages: {
        model: MODEL,
        max_tokens: 1024,
        tools: [messagesTool('read_file'), messagesTool('list_files')],
        messages: [
          { role: 'user', content: 'Look at a.txt.' },
          { role: 'assistant', content: 'It says hello.' },
          {
            role: 'system',
            content: [
              {
                type: 'tool_addition',
                tool: { type: 'tool_definition', definition: messagesTool('write_file') },
                cache_control: { type: 'ephemeral' },
              },
              { type: 'tool_removal', tool: { type: 'tool_reference', name: 'list_files' } },
            ],
          },
          { role: 'user', content: 'Change it.' },
        ],
      },
      responses: {
        model: MODEL,
        tools: [responsesTool('read_file')],
        input: [
          { role: 'user', content: 'Look at a.txt.' },
          { role: 'assistant', content: 'It says hello.' },
          { type: 'additional_tools', role: 'developer', tools: [responsesTool('write_file')] },
          { role: 'user', content: 'Change it.' },
        ],
      },
    },
    answer: CALL,
    variants: [
      {
        what: 'tools that only their own format has, added before an answer',
        requests: {
          messages: {
            model: MODEL,
            max_tokens: 1024,
            tools: [messagesTool('read_file')],
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'Look at a.txt.' },
                  {
                    type: 'tool_addition',
                    tool: { type: 'tool_definition', definition: { type: 'bash_20250124', name: 'bash' } },
                  },
                ],
              },
              { role: 'assistant', content: 'It says hello.' },
              { role: 'user', content: 'Go on.' },
            ],
          },
          responses: {
            model: MODEL,
            tools: [responsesTool('read_file')],
            input: [
              { role: 'user', content: 'Look at a.txt.' },
              { type: 'additional_tools', role: 'developer', tools: [{ type: 'apply_patch' }] },
              { role: 'assistant', content: 'It says hello.' },
              { role: 'user', content: 'Go on.' },
            ],
          },
        },
      },
      {
        what: 'such a tool added now',
        requests: {
          messages: {
            model: MODEL,
            max_tokens: 1024,
            tools: [messagesTool('read_file')],
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'Look at a.txt.' },
                  {
                    type: 'tool_addition',
                    tool: { type: 'tool_definition', definition: { type: 'bash_20250124', name: 'bash' } },
                  },
                ],
              },
            ],
          },
        },
      },
    ],
  },
  {
    name: 'compacted',
    requests: {
      messages: {
        model: MODEL,
        max_tokens: 1024,
        tools: [messagesTool('read_file')],
        messages: [
          { role: 'user', content: 'This is not said again.' },
          {
            role: 'assistant',
            content: [
              {
                type: 'compaction',
                content: 'They talked about a.txt.',
                encrypted_content: null,
                tool_changes: [
                  { type: 'tool_addition', tool: { type: 'tool_definition', definition: messagesTool('write_file') } },
                ],
              },
              { type: 'text', text: 'Shall I change it?' },
            ],
          },
          { role: 'user', content: 'Yes.' },
        ],
      },
      responses: {
        model: MODEL,
        tools: [responsesTool('write_file')],
        input: [
          { role: 'user', content: 'Look at a.txt.' },
          { type: 'compaction', id: 'cmp_1', encrypted_content: 'sealed by the provider' },
          { type: 'configuration_update', reasoning: { effort: 'high' } },
          { role: 'user', content: 'Change it.' },
        ],
      },
    },
    answer: CALL,
    variants: [
      {
        what: 'a compaction asked for now',
        requests: {
          messages: {
            model: MODEL,
            max_tokens: 1024,
            messages: [{ role: 'user', content: 'Hi' }],
            compaction: { type: 'summarize' },
          },
          responses: { model: MODEL, input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }] },
        },
      },
      {
        what: 'a compaction that failed',
        requests: {
          messages: {
            model: MODEL,
            max_tokens: 1024,
            messages: [
              { role: 'user', content: 'Hi' },
              {
                role: 'assistant',
                content: [
                  { type: 'compaction', content: null, encrypted_content: null },
                  { type: 'text', text: 'Hello.' },
                ],
              },
              { role: 'user', content: 'Go on.' },
            ],
          },
        },
      },
    ],
  },
];
