/**
 * A session of Claude Code on a model whose provider speaks another format, turn by turn: the recorded request of its tool
 * loop, to which the session adds what it holds later. The `tool_addition` is as Claude Code 2.1.325 sends it for a tool of an
 * MCP server that comes on the way (`npm run agents`); the `compaction` is what the provider of another model has left there.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { type Conversation, conversationOf } from '../agents/conversation.ts';
import { auditClean } from '../support/requests.ts';
import { withScene } from '../support/scripted-gateway.ts';
import { call } from '../support/started-gateway.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, spoken } from '../support/upstreams/spoken.ts';

const FORMATS = ['chat', 'responses'] as const;
const SUMMARY = 'The drawer was opened, and the pen is wanted.';

interface Message {
  readonly role: string;
  readonly content: string | readonly object[];
}

interface Asked {
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly name: string }[];
}

const RECORDED: readonly { readonly body: Asked | null }[] = JSON.parse(
  readFileSync(new URL('../fixtures/traffic/claude.json', import.meta.url), 'utf8'),
);
const LOOP = RECORDED.at(-1)?.body;
assert.ok(LOOP);

const { gateway, upstream } = await withScene({
  providers: { chat: { formats: ['chat'] }, responses: { formats: ['responses'] } },
  models: FORMATS.map((format) => ({ id: format, provider: format, max_output_tokens: 64_000 })),
});

function tool(name: string): { name: string; description: string; input_schema: object } {
  return {
    name,
    description: `Use ${name}.`,
    input_schema: { type: 'object', properties: { how: { type: 'string' } } },
  };
}

function used(name: string, id: string): readonly Message[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input: { how: 'slowly' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `${name} was done` }] },
  ];
}

const TAKE_PEN = 'mcp__house__take_pen';
const DRAW = 'mcp__house__draw';
const ADDED: Message = {
  role: 'system',
  content: [
    { type: 'text', text: `The following tools just became available and are ready to use:\n${TAKE_PEN}` },
    {
      type: 'tool_addition',
      tool: { type: 'tool_reference', name: TAKE_PEN },
      cache_control: { type: 'ephemeral' },
    },
  ],
};
const COMPACTED: Message = {
  role: 'assistant',
  content: [
    {
      type: 'compaction',
      content: SUMMARY,
      encrypted_content: null,
      tool_changes: [
        { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool(DRAW) } },
        { type: 'tool_removal', tool: { type: 'tool_reference', name: 'ToolSearch' } },
      ],
    },
    { type: 'text', text: 'Shall I go on?' },
  ],
};
const FAILED: Message = {
  role: 'assistant',
  content: [
    { type: 'compaction', content: null, encrypted_content: null },
    { type: 'text', text: 'Go on then.' },
  ],
};

for (const format of FORMATS) {
  describe(`[R81] Claude Code on a model that speaks ${format}`, () => {
    /** What the provider hears of a turn that ends as every turn does. */
    async function turn(key: CreatedKey, messages: readonly Message[], tools: Asked['tools']): Promise<Conversation> {
      let heard: unknown = null;
      upstream.answer = (asked) => {
        heard = asked.body;
        asked.stream(spoken(format, 'Fine.'));
      };
      const response = await call(`${key.origin}/v1/messages?beta=true`, {
        key: key.key,
        headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'mid-conversation-tool-changes-2026-07-01' },
        body: { ...LOOP, model: format, messages, tools, stream: true },
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /"type":"message_stop"/);
      return conversationOf(format, heard);
    }

    test('goes on after tool_addition, after a compaction, and turns later with both in its history', async () => {
      const key = await gateway.creditKey();
      const deferred = { ...tool(TAKE_PEN), defer_loading: true };
      const names = ({ tools }: Conversation): string[] => tools.map(({ name }) => name);
      const declared = [...LOOP.tools, deferred];
      let turns = 0;
      const play = (messages: readonly Message[], tools: Asked['tools'] = declared): Promise<Conversation> => {
        turns += 1;
        return turn(key, messages, tools);
      };

      const before = await play(LOOP.messages, LOOP.tools);
      assert.ok(!names(before).includes(TAKE_PEN));

      const withAddition = [...LOOP.messages, ADDED];
      const added = await play(withAddition);
      assert.ok(names(added).includes(TAKE_PEN));
      assert.deepEqual(added.calls, before.calls, 'what was said before is said again');

      const later = [...withAddition, ...used(TAKE_PEN, 'toolu_pen')];
      const heard = await play(later);
      assert.deepEqual(heard.results.at(-1), { callId: heard.calls.at(-1) ?? '', text: `${TAKE_PEN} was done` });

      const compacted = [...later, COMPACTED, { role: 'user', content: 'Yes.' }];
      const short = await play(compacted);
      assert.deepEqual([short.calls, short.results], [[], []], 'what was summarised is not said again');
      assert.match(short.said, new RegExp(`${SUMMARY}[^]*Yes\\.`));
      assert.ok(names(short).includes(DRAW) && names(short).includes(TAKE_PEN));
      assert.ok(!names(short).includes('ToolSearch'), 'a tool that was withdrawn');

      const failed = [...compacted, FAILED, { role: 'user', content: 'More.' }, ...used(DRAW, 'toolu_draw')];
      const last = await play([...failed, { role: 'user', content: 'Is it done?' }]);
      assert.equal(last.calls.length, 1);
      assert.deepEqual(
        last.results.map(({ text }) => text),
        [`${DRAW} was done`],
      );
      assert.match(last.said, new RegExp(`${SUMMARY}[^]*More\\.[^]*Is it done\\?`));

      const account = await gateway.admin.showKey(key.id);
      const each = (INPUT_TOKENS * 1 + OUTPUT_TOKENS * 4) / 1e6;
      assert.deepEqual([account.requests, account.used.toFixed(9)], [turns, (each * turns).toFixed(9)]);
      await auditClean(gateway);
    });
  });
}
