import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countTokens } from '../../../src/sandbox/tokens.ts';
import { content, dataOf, useSandbox, WEATHER } from './clients.ts';

const started = useSandbox();
const tools = [{ name: 'weather', input_schema: { ...WEATHER, required: [...WEATHER.required] } }];

const ask = (text: string) => ({
  model: 'beta-sim',
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content: text }],
});

describe('sandbox messages with the official client', () => {
  for (const text of ['Hello there', '[[thinking]] why', '[[tool=2]] weather?', '[[thinking]][[tool]][[tokens=60]]']) {
    test(`streamed equals whole: ${text}`, async () => {
      const whole = await started.anthropic.messages.create({ ...ask(text), tools });
      const streamed = await started.anthropic.messages.stream({ ...ask(text), tools }).finalMessage();
      assert.deepEqual(content(streamed), content(whole));
    });
  }

  test('every event comes in the order of the protocol', async () => {
    const request = { ...ask('[[thinking]][[tool]][[tokens=40]]'), tools, stream: true };
    const stream = await (await started.post('/v1/messages', request)).text();
    const events = dataOf(stream) as { type: string; delta?: { type?: string } }[];
    const names = stream.split('\n').filter((line) => line.startsWith('event: '));
    assert.deepEqual(
      names,
      events.map((event) => `event: ${event.type}`),
    );
    const order = events
      .map((event) => event.delta?.type ?? event.type)
      .filter((type, index, all) => type !== all[index - 1]);
    assert.deepEqual(order, [
      'message_start',
      'ping',
      'content_block_start',
      'thinking_delta',
      'signature_delta',
      'content_block_stop',
      'content_block_start',
      'text_delta',
      'content_block_stop',
      'content_block_start',
      'input_json_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('thinking is signed and counted; usage is exact', async () => {
    const answer = await started.anthropic.messages.create(ask('[[thinking]] Hello'));
    const [thinking, text] = answer.content;
    assert.ok(thinking?.type === 'thinking' && text?.type === 'text');
    assert.ok(thinking.signature);
    assert.equal(answer.usage.output_tokens, countTokens(thinking.thinking) + countTokens(text.text));
    assert.equal(answer.usage.output_tokens_details?.thinking_tokens, countTokens(thinking.thinking));
    assert.equal(answer.usage.cache_read_input_tokens, 0);
    assert.equal(answer.stop_reason, 'end_turn');
  });

  test('the count of tokens is the input that a generation reports', async () => {
    const image = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA'.repeat(100) };
    const request = {
      model: 'beta-sim',
      system: 'Be brief.',
      tools,
      messages: [
        {
          role: 'user' as const,
          content: [
            { type: 'image' as const, source: image },
            { type: 'text' as const, text: 'Look' },
          ],
        },
      ],
    };
    const counted = await started.anthropic.messages.countTokens(request);
    const answer = await started.anthropic.messages.create({ ...request, max_tokens: 10 });
    assert.equal(counted.input_tokens, answer.usage.input_tokens);
    const expected = countTokens('Be brief.') + countTokens(JSON.stringify(tools)) + countTokens('Look') + 3 + 85;
    assert.equal(counted.input_tokens, expected);
  });

  test('the output limit and stop sequences end the answer with their reason', async () => {
    const cut = await started.anthropic.messages.create({ ...ask('Hello'), max_tokens: 6 });
    assert.equal(cut.stop_reason, 'max_tokens');
    assert.equal(cut.usage.output_tokens, 6);
    const stopped = await started.anthropic.messages.create({ ...ask('Hello'), stop_sequences: ['nothing', 'You'] });
    assert.equal(stopped.stop_reason, 'stop_sequence');
    assert.equal(stopped.stop_sequence, 'You');
    assert.deepEqual(
      stopped.content[0]?.type === 'text' && stopped.content[0].text,
      'Simulated answer: no model was run. ',
    );
  });

  test('a forced tool is called, and its result is mentioned', async () => {
    for (const tool_choice of [{ type: 'any' as const }, { type: 'tool' as const, name: 'weather' }]) {
      const called = await started.anthropic.messages.create({ ...ask('weather?'), tools, tool_choice });
      const call = called.content[0];
      assert.ok(call?.type === 'tool_use');
      assert.equal(called.stop_reason, 'tool_use');
      assert.deepEqual(call.input, { city: 'simulated', days: 1 });
      const answer = await started.anthropic.messages.create({
        ...ask(''),
        tools,
        tool_choice,
        messages: [
          { role: 'user', content: 'weather? [[tool]]' },
          { role: 'assistant', content: called.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'fog at dawn' }] },
        ],
      });
      assert.match(answer.content[0]?.type === 'text' ? answer.content[0].text : '', /fog at dawn/);
      assert.equal(answer.stop_reason, 'end_turn');
    }
  });

  test('the model list can be read by the official client', async () => {
    const ids = (await started.anthropic.models.list()).data.map((model) => model.id);
    assert.deepEqual(ids, ['alpha-sim', 'beta-sim', 'tiny-sim']);
  });
});
