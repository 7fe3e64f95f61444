import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countTokens } from '../../../src/sandbox/tokens.ts';
import { content, dataOf, useSandbox, WEATHER } from './clients.ts';

const started = useSandbox();
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];
const flatTools = [{ type: 'function' as const, name: 'weather', parameters: WEATHER, strict: false }];

const ask = (text: string) => ({ model: 'alpha-sim', messages: [{ role: 'user' as const, content: text }] });

const PROMPTS = ['Hello there', '[[thinking]] why', '[[tool=2]] weather?', '[[thinking]][[tool]]', '[[tokens=300]]'];

describe('sandbox chat completions with the official client', () => {
  for (const text of PROMPTS) {
    test(`streamed equals whole: ${text}`, async () => {
      const whole = await started.openai.chat.completions.create({ ...ask(text), tools });
      const streamed = await started.openai.chat.completions
        .stream({ ...ask(text), tools, stream_options: { include_usage: true } })
        .finalChatCompletion();
      const [a, b] = [whole.choices[0]?.message, streamed.choices[0]?.message];
      assert.equal(b?.content || null, a?.content ?? null);
      const calls = (message: typeof a) =>
        message?.tool_calls?.map((call) =>
          call.type === 'function' ? [call.function.name, call.function.arguments] : [],
        );
      assert.deepEqual(calls(b), calls(a));
      assert.equal(streamed.choices[0]?.finish_reason, whole.choices[0]?.finish_reason);
      assert.deepEqual(streamed.usage, whole.usage);
    });
  }

  test('the answer is labelled as simulated, refers to the message and is told exactly in usage', async () => {
    const answer = await started.openai.chat.completions.create(ask('What is a gateway?'));
    const text = answer.choices[0]?.message.content ?? '';
    assert.match(text, /^Simulated answer.*What is a gateway\?/);
    assert.equal(answer.model, 'alpha-sim');
    assert.equal(answer.usage?.completion_tokens, countTokens(text));
    assert.ok(countTokens(text) >= 20 && countTokens(text) <= 40);
    assert.equal(answer.usage?.prompt_tokens, countTokens('What is a gateway?') + 3);
    assert.equal(answer.usage?.prompt_tokens_details?.cached_tokens, 0);
  });

  test('a stream opens with the role, tells one token per chunk, ends with [DONE]; usage only where asked for', async () => {
    const plain = await (await started.post('/v1/chat/completions', { ...ask('[[tokens=5]]'), stream: true })).text();
    assert.ok(plain.endsWith('data: [DONE]\n\n'));
    const chunks = dataOf(plain) as { choices: { delta: object; finish_reason: unknown }[] }[];
    assert.equal(chunks.length, 7);
    assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '', refusal: null });
    assert.deepEqual(
      chunks.map((chunk) => chunk.choices[0]?.finish_reason),
      [null, null, null, null, null, null, 'stop'],
    );
    assert.ok(!plain.includes('usage'));

    const request = { ...ask('[[tokens=5]]'), stream: true, stream_options: { include_usage: true } };
    const metered = dataOf(await (await started.post('/v1/chat/completions', request)).text());
    assert.equal(metered.length, 8);
    assert.deepEqual(metered[7]?.choices, []);
    assert.ok(metered.slice(0, 7).every((chunk) => chunk.usage === null));
  });

  test('thinking is reasoning_content and counted as reasoning', async () => {
    const answer = await started.openai.chat.completions.create(ask('[[thinking]]'));
    const message = answer.choices[0]?.message as { reasoning_content?: string; content: string };
    assert.match(message.reasoning_content ?? '', /^Simulated thinking/);
    const reasoning = countTokens(message.reasoning_content ?? '');
    assert.equal(answer.usage?.completion_tokens_details?.reasoning_tokens, reasoning);
    assert.equal(answer.usage?.completion_tokens, reasoning + countTokens(message.content));
  });

  test('n answers are given, whole and streamed, and summed in usage', async () => {
    const whole = await started.openai.chat.completions.create({ ...ask('[[tokens=7]]'), n: 3 });
    assert.deepEqual(
      whole.choices.map((choice) => choice.index),
      [0, 1, 2],
    );
    assert.equal(whole.usage?.completion_tokens, 21);
    const streamed = await started.openai.chat.completions
      .stream({ ...ask('[[tokens=7]]'), n: 3, stream_options: { include_usage: true } })
      .finalChatCompletion();
    assert.deepEqual(
      streamed.choices.map((choice) => choice.message.content),
      whole.choices.map((choice) => choice.message.content),
    );
    assert.equal(streamed.usage?.completion_tokens, 21);
  });

  for (const limit of [{ max_tokens: 4 }, { max_completion_tokens: 4 }]) {
    test(`the output limit is honoured: ${Object.keys(limit)[0]}`, async () => {
      const cut = await started.openai.chat.completions.create({ ...ask('Hello'), ...limit });
      assert.equal(cut.choices[0]?.finish_reason, 'length');
      assert.equal(cut.usage?.completion_tokens, 4);
      assert.equal(countTokens(cut.choices[0]?.message.content ?? ''), 4);
      const exact = await started.openai.chat.completions.create({ ...ask('[[tokens=4]]'), ...limit });
      assert.equal(exact.choices[0]?.finish_reason, 'stop');
    });
  }

  test('stop sequences end the answer before them', async () => {
    const answer = await started.openai.chat.completions.create({ ...ask('Hello'), stop: ['wrote', 'model'] });
    assert.equal(answer.choices[0]?.message.content, 'Simulated answer: no ');
    assert.equal(answer.choices[0]?.finish_reason, 'stop');
    assert.equal(answer.usage?.completion_tokens, countTokens('Simulated answer: no '));
  });

  test('a forced tool is called with arguments of its schema, and its result is mentioned', async () => {
    const forcing = ['required' as const, { type: 'function' as const, function: { name: 'weather' } }];
    for (const tool_choice of forcing) {
      const called = await started.openai.chat.completions.create({ ...ask('weather?'), tools, tool_choice });
      const message = called.choices[0]?.message;
      const call = message?.tool_calls?.[0];
      assert.ok(message && call?.type === 'function');
      assert.equal(called.choices[0]?.finish_reason, 'tool_calls');
      assert.deepEqual(JSON.parse(call.function.arguments), { city: 'simulated', days: 1 });
      assert.equal(called.usage?.completion_tokens, countTokens(call.function.arguments));
      const result = { role: 'tool' as const, tool_call_id: call.id, content: 'sunny, 21 degrees' };
      const messages = [...ask('weather? [[tool]]').messages, message, result];
      const answer = await started.openai.chat.completions.create({ model: 'alpha-sim', messages, tools, tool_choice });
      assert.match(answer.choices[0]?.message.content ?? '', /sunny, 21 degrees/);
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
    }
    const never = await started.openai.chat.completions.create({ ...ask('[[tool]]'), tools, tool_choice: 'none' });
    assert.equal(never.choices[0]?.message.tool_calls, undefined);
  });

  test('a structured answer fits its schema', async () => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'place', schema: WEATHER } };
    const answer = await started.openai.chat.completions.create({ ...ask('where?'), response_format });
    assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ''), { city: 'simulated', days: 1 });
  });
});

describe('sandbox responses with the official client', () => {
  for (const text of PROMPTS) {
    test(`streamed equals whole: ${text}`, async () => {
      const request = { model: 'alpha-sim', input: text, tools: flatTools };
      const whole = await started.openai.responses.create(request);
      const streamed = await started.openai.responses.stream(request).finalResponse();
      assert.deepEqual(content(streamed.output), content(whole.output));
      assert.deepEqual(streamed.usage, whole.usage);
      assert.equal(streamed.status, 'completed');
      assert.equal(whole.status, 'completed');
    });
  }

  test('every event is numbered and named, in the order of the protocol', async () => {
    const request = { model: 'a', input: '[[thinking]][[tool]][[tokens=30]]', tools: flatTools, stream: true };
    const stream = await (await started.post('/v1/responses', request)).text();
    const events = dataOf(stream);
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
    const names = stream.split('\n').filter((line) => line.startsWith('event: '));
    assert.deepEqual(
      names,
      events.map((event) => `event: ${event.type}`),
    );
    const order = events.map((event) => String(event.type)).filter((type, index, all) => type !== all[index - 1]);
    assert.deepEqual(order, [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    assert.equal(events.filter((event) => String(event.type).endsWith('.delta')).length, 30);
  });

  test('reasoning has a summary and encrypted content, and is counted', async () => {
    const answer = await started.openai.responses.create({ model: 'a', input: '[[thinking]]' });
    const [reasoning, message] = answer.output;
    assert.ok(reasoning?.type === 'reasoning' && message?.type === 'message');
    assert.ok(reasoning.encrypted_content);
    const thought = countTokens(reasoning.summary[0]?.text ?? '');
    assert.equal(answer.usage?.output_tokens_details.reasoning_tokens, thought);
    assert.equal(answer.usage?.output_tokens, thought + countTokens(answer.output_text));
  });

  test('the output limit makes it incomplete, whole and streamed', async () => {
    const request = { model: 'a', input: 'Hello', max_output_tokens: 3 };
    const whole = await started.openai.responses.create(request);
    const body = await (await started.post('/v1/responses', { ...request, stream: true })).text();
    const last = dataOf(body).at(-1);
    assert.equal(last?.type, 'response.incomplete');
    assert.deepEqual(content((last as { response: { output: unknown } }).response.output), content(whole.output));
    assert.equal(whole.status, 'incomplete');
    assert.deepEqual(whole.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(whole.usage?.output_tokens, 3);
    assert.equal(whole.output[0]?.type === 'message' && whole.output[0].status, 'incomplete');
  });

  test('a forced function is called, and its output is mentioned', async () => {
    const request = { model: 'a', tools: flatTools, tool_choice: { type: 'function' as const, name: 'weather' } };
    const called = await started.openai.responses.create({ ...request, input: 'weather?' });
    const call = called.output[0];
    assert.ok(call?.type === 'function_call');
    assert.deepEqual(JSON.parse(call.arguments), { city: 'simulated', days: 1 });
    const answer = await started.openai.responses.create({
      ...request,
      input: [
        { role: 'user', content: 'weather?' },
        call,
        { type: 'function_call_output', call_id: call.call_id, output: 'rain until noon' },
      ],
    });
    assert.match(answer.output_text, /rain until noon/);
  });

  test('a custom tool gets plain text, streamed as its input', async () => {
    const request = { model: 'a', input: '[[tool]]', tools: [{ type: 'custom' as const, name: 'patch' }] };
    const whole = await started.openai.responses.create(request);
    assert.ok(whole.output[0]?.type === 'custom_tool_call');
    const events = dataOf(await (await started.post('/v1/responses', { ...request, stream: true })).text());
    const deltas = events.filter((event) => event.type === 'response.custom_tool_call_input.delta');
    assert.equal(deltas.map((event) => event.delta).join(''), whole.output[0].input);
  });
});

test('the model list can be read by the official client', async () => {
  const ids = (await started.openai.models.list()).data.map((model) => model.id);
  assert.deepEqual(ids, ['alpha-sim', 'beta-sim', 'tiny-sim']);
});
