/** The official SDKs take a stream that was cut for what it is: an answer that ended at its length limit. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { cutGateway, dense, elasticRequest, FIRST_TOKENS, keyForOneSlice } from '../../support/cut-gateway.ts';
import { settled } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';
import { numbered, TOOL_CALLS } from '../../support/upstreams/tool-calls.ts';

const cut = await cutGateway();
const { gateway, provider } = cut;
after(() => cut[Symbol.asyncDispose]());

/** What the hold carries with what it can grow by, and more behind it. */
const WORDS = dense(FIRST_TOKENS);
const BEYOND = dense(3_000);

/** Answers every call with text, or with two tool calls of which the second is never completed, and stays open. */
function speak(tools: boolean): void {
  provider.answer = (call: ScriptedCall) => {
    const target = call.requestLine.includes('/messages')
      ? 'messages'
      : call.requestLine.includes('/responses')
        ? 'responses'
        : 'chat';
    call.streamHead();
    for (const frame of numbered(
      tools ? toolFrames(target) : [...SPEECH[target].opening, SPEECH[target].text(WORDS), SPEECH[target].text(BEYOND)],
    ))
      call.chunk(frame);
  };
}

function toolFrames(target: Format): readonly string[] {
  const { begin, piece, end } = TOOL_CALLS[target];
  const head = SPEECH[target].opening.slice(0, target === 'responses' ? 2 : 1);
  const first = '{"text":"whole"}';
  const calls = [begin(0), piece(0, first), end(0, first), begin(1), piece(1, `{"text":"${WORDS}`), piece(1, BEYOND)];
  return [...head, ...calls].filter((frame) => frame !== '');
}

async function keyFor(client: Format, model: string, extra: object): Promise<CreatedKey> {
  return keyForOneSlice(gateway, elasticRequest(client, model, { padding: 'x'.repeat(200), ...extra }));
}

const PARAMETERS = { type: 'object', properties: { text: { type: 'string' } } } as const;

for (const model of [UPSTREAM_MODEL, ...FORMAT_NAMES.map((format) => `via-${format}`)]) {
  describe(model === UPSTREAM_MODEL ? 'a target of the client’s own format' : model, () => {
    test('[R13] openai: chat', async () => {
      speak(false);
      const key = await keyFor('chat', model, {});
      const client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
      const answer = await client.chat.completions
        .stream({ model, max_tokens: 8_000, messages: [{ role: 'user', content: 'Hello' }] })
        .finalChatCompletion();
      assert.equal(answer.choices[0]?.finish_reason, 'length');
      assert.equal(answer.choices[0]?.message.content, WORDS);
      await settled(gateway, key);
    });

    test('[R13] openai: chat, in a tool call', async () => {
      speak(true);
      const tools = [{ type: 'function' as const, function: { name: 'write_file', parameters: PARAMETERS } }];
      const key = await keyFor('chat', model, { tools });
      const client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
      const answer = await client.chat.completions
        .stream({ model, max_tokens: 8_000, messages: [{ role: 'user', content: 'Hello' }], tools })
        .finalChatCompletion();
      assert.equal(answer.choices[0]?.finish_reason, 'length');
      const calls = answer.choices[0]?.message.tool_calls ?? [];
      assert.equal(calls.length, 2);
      assert.equal(calls[0]?.type === 'function' && calls[0].function.arguments, '{"text":"whole"}');
      await settled(gateway, key);
    });

    test('[R13] openai: responses', async () => {
      speak(false);
      const key = await keyFor('responses', model, {});
      const client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
      const answer = await client.responses.stream({ model, max_output_tokens: 8_000, input: 'Hello' }).finalResponse();
      assert.equal(answer.status, 'incomplete');
      assert.equal(answer.incomplete_details?.reason, 'max_output_tokens');
      assert.equal(answer.output_text, WORDS);
      await settled(gateway, key);
    });

    test('[R13] openai: responses, in a tool call', async () => {
      speak(true);
      const tools = [{ type: 'function' as const, name: 'write_file', parameters: PARAMETERS, strict: false }];
      const key = await keyFor('responses', model, { tools });
      const client = new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
      const answer = await client.responses
        .stream({ model, max_output_tokens: 8_000, input: 'Hello', tools })
        .finalResponse();
      assert.equal(answer.status, 'incomplete');
      const calls = answer.output.filter((item) => item.type === 'function_call');
      assert.deepEqual(
        calls.map(({ call_id, status }) => [call_id, status]),
        [
          ['call_0', 'completed'],
          ['call_1', 'incomplete'],
        ],
      );
      await settled(gateway, key);
    });

    for (const inTool of [false, true]) {
      const what = inTool ? ', in a tool call' : '';
      test(`[R13] @anthropic-ai/sdk: messages${what}`, async () => {
        speak(inTool);
        const tools = inTool ? [{ name: 'write_file', input_schema: { ...PARAMETERS } }] : [];
        const key = await keyFor('messages', model, { tools });
        const client = new Anthropic({ apiKey: key.key, authToken: null, baseURL: key.origin, maxRetries: 0 });
        const message = await client.messages
          .stream({
            model,
            max_tokens: 8_000,
            messages: [{ role: 'user', content: 'Hello' }],
            ...(inTool ? { tools } : {}),
          })
          .finalMessage();
        assert.equal(message.stop_reason, 'max_tokens');
        assert.deepEqual(
          message.content.map(({ type }) => type),
          inTool ? ['tool_use', 'tool_use'] : ['text'],
        );
        assert.ok(message.usage.output_tokens > 0);
        await settled(gateway, key);
      });
    }
  });
}
