import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../src/lib/json.ts';
import { streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { events, objects, TOKENS } from './answer-helpers.ts';
import { lane, MINIMAL, runStream, runWhole, upstreamBody } from './run-lane.ts';
import { accumulate } from './sdk.ts';

describe('tools of a Codex client on a target of another format', () => {
  const body = {
    ...MINIMAL.responses,
    stream: true,
    tools: [
      { type: 'namespace', name: 'fs', description: 'Files.', tools: [{ type: 'function', name: 'read' }] },
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'tool_search', execution: 'client', parameters: { type: 'object' } },
    ],
  };
  const patch = '*** Begin "Patch"\n\t\\ é 👋\n*** End';
  const wrapped = JSON.stringify({ input: patch });
  const blocks = [
    { kind: 'tool', id: 'call_1', name: 'fs__read', pieces: ['{"path"', ':"a"}'] },
    { kind: 'tool', id: 'call_2', name: 'apply_patch', pieces: wrapped.match(/[\s\S]{1,5}/g) ?? [] },
    { kind: 'tool', id: 'call_3', name: 'tool_search', pieces: ['{"query":"x"}'] },
  ] as const;
  const spec = { blocks, finish: 'tool', tokens: TOKENS } as const;

  for (const to of ['chat', 'messages'] as const) {
    test(`[R43] get their calls back as what they are, from ${to}`, async () => {
      const run = runStream(lane('responses', to, body), streamedAnswer(to, spec));
      const final = await accumulate('responses', run.text + run.terminal);
      const whole = runWhole(lane('responses', to, body), wholeAnswer(to, spec)).body;
      for (const answer of [final, whole]) {
        const [read, applied, searched] = objects(answer, 'output');
        assert.deepEqual(
          [read?.type, read?.namespace, read?.name, read?.arguments],
          ['function_call', 'fs', 'read', '{"path":"a"}'],
        );
        assert.deepEqual([applied?.type, applied?.name, applied?.input], ['custom_tool_call', 'apply_patch', patch]);
        assert.deepEqual(
          [searched?.type, searched?.call_id, searched?.arguments],
          ['tool_search_call', 'call_3', { query: 'x' }],
        );
      }
      const deltas = events(run.text).filter((event) => event.type === 'response.custom_tool_call_input.delta');
      assert.ok(deltas.length > 3, 'the input flows as it comes');
      assert.equal(deltas.map((event) => event.delta).join(''), patch);
    });
  }
});

describe('signed thinking', () => {
  const thinking = {
    blocks: [
      { kind: 'thinking', pieces: ['First, ', 'then.'], signature: 'provider-signed' },
      { kind: 'redacted', data: 'provider-hidden' },
      { kind: 'text', pieces: ['Done.'] },
      { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{}'] },
    ],
    finish: 'tool',
    tokens: TOKENS,
  } as const;

  test('[R43] of a messages target comes back to it through a responses client, whole or streamed', async () => {
    const run = runStream(
      lane('responses', 'messages', { ...MINIMAL.responses, stream: true }),
      streamedAnswer('messages', thinking),
    );
    const final = await accumulate('responses', run.text + run.terminal);
    const whole = runWhole(lane('responses', 'messages', MINIMAL.responses), wholeAnswer('messages', thinking)).body;
    for (const answer of [final, whole]) {
      const input = [...objects(answer, 'output'), { type: 'function_call_output', call_id: 'call_1', output: 'ok' }];
      const sent = upstreamBody('responses', 'messages', { model: 'm', input, reasoning: { effort: 'low' } });
      const [assistant] = objects(sent, 'messages');
      assert.deepEqual(objects(assistant ?? {}, 'content'), [
        { type: 'thinking', thinking: 'First, then.', signature: 'provider-signed' },
        { type: 'redacted_thinking', data: 'provider-hidden' },
        { type: 'text', text: 'Done.' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      ]);
      assert.deepEqual(sent.thinking, { type: 'enabled', budget_tokens: 2048 });
    }
  });

  test('[R43] of a responses target comes back to it through a messages client, whole or streamed', async () => {
    const run = runStream(
      lane('messages', 'responses', { ...MINIMAL.messages, stream: true }),
      streamedAnswer('responses', thinking),
    );
    const final = await accumulate('messages', run.text + run.terminal);
    const whole = runWhole(lane('messages', 'responses', MINIMAL.messages), wholeAnswer('responses', thinking)).body;
    for (const answer of [final, whole]) {
      assert.deepEqual(
        objects(answer, 'content').map((block) => block.type),
        ['thinking', 'redacted_thinking', 'text', 'tool_use'],
      );
      const messages = [
        { role: 'assistant', content: answer.content },
        { role: 'user', content: 'x' },
      ] as unknown as JsonObject[];
      const sent = upstreamBody('messages', 'responses', { model: 'm', max_tokens: 9, messages });
      assert.deepEqual(objects(sent, 'input').slice(0, 2), [
        {
          type: 'reasoning',
          id: 'rs_up0',
          summary: [{ type: 'summary_text', text: 'First, then.' }],
          encrypted_content: 'provider-signed',
        },
        { type: 'reasoning', id: 'rs_up1', summary: [], encrypted_content: 'provider-hidden' },
      ]);
    }
  });

  test('[R43] of one provider is never sent to another, and the conversation goes on without it', () => {
    const whole = runWhole(lane('messages', 'responses', MINIMAL.messages), wholeAnswer('responses', thinking)).body;
    const messages = [
      { role: 'assistant', content: whole.content },
      { role: 'user', content: 'x' },
    ] as unknown as JsonObject[];
    const sent = upstreamBody('messages', 'chat', { model: 'm', max_tokens: 9, messages });
    assert.doesNotMatch(JSON.stringify(sent), /provider-|mgt1|First/);
    assert.match(JSON.stringify(sent), /Done\./);
  });
});
