/** What only a provider with a format of its own can show: what it is sent, caching and signatures. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { isObject } from '../../../src/lib/json.ts';
import { ask, errorOf, type ScriptedGateway, secretOf, settled } from '../../support/scripted-gateway.ts';
import { call as request } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';
import { bedrockGateway, bedrockModel, bedrockStream, geminiEnd, geminiGateway, geminiParts } from './scripted.ts';

const USAGE = { promptTokenCount: 21, candidatesTokenCount: 8 };
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
} as const;

let gemini: ScriptedGateway;
let bedrock: ScriptedGateway;

before(async () => {
  gemini = await geminiGateway();
  bedrock = await bedrockGateway();
});
after(async () => {
  await gemini[Symbol.asyncDispose]();
  await bedrock[Symbol.asyncDispose]();
});

function openai(key: CreatedKey): OpenAI {
  return new OpenAI({ baseURL: `${key.origin}/v1`, apiKey: key.key, maxRetries: 0 });
}

function anthropic(key: CreatedKey): Anthropic {
  return new Anthropic({ baseURL: key.origin, authToken: key.key, apiKey: null, maxRetries: 0 });
}

/** The members of the provider's request that a test looks at. */
function partsOf(call: ScriptedCall): unknown[] {
  const contents = call.body.contents ?? call.body.messages;
  assert.ok(Array.isArray(contents));
  return contents.map((content: unknown) => (isObject(content) ? (content.parts ?? content.content) : undefined));
}

describe('what the provider is sent', () => {
  test('the credential, the output limit, the system prompt, settings and tools reach Gemini in its own terms', async () => {
    const key = await gemini.gateway.creditKey();
    const answer = request(`${key.origin}/v1/messages`, {
      key: key.key,
      body: {
        model: 'tested',
        max_tokens: 77,
        temperature: 0.5,
        top_k: 7,
        system: 'Be brief.',
        messages: [{ role: 'user', content: 'Hello' }],
        tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }],
        tool_choice: { type: 'tool', name: 'get_weather' },
      },
    });
    const call = await gemini.first.next();
    call.stream([geminiParts({ text: 'Hi' }), geminiEnd(USAGE)]);
    assert.equal((await answer).status, 200);
    assert.match(call.requestLine, /^POST \/v1\/models\/upstream-model:streamGenerateContent\?alt=sse /);
    assert.equal(call.headers.get('x-goog-api-key'), secretOf('one'));
    assert.deepEqual(call.body.systemInstruction, { parts: [{ text: 'Be brief.' }] });
    const config = call.body.generationConfig as Record<string, unknown>;
    assert.deepEqual([config.maxOutputTokens, config.temperature, config.topK], [77, 0.5, 7]);
    assert.deepEqual(call.body.toolConfig, {
      functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] },
    });
    assert.match(JSON.stringify(call.body.tools), /"name":"get_weather"/);
  });

  for (const format of FORMAT_NAMES) {
    test(`an image of a ${format} client arrives as data; one by its address is refused before the provider is asked`, async () => {
      const key = await gemini.gateway.creditKey();
      const send = (url: string): Promise<Response> =>
        request(key.origin + SPEECH[format].path, { key: key.key, body: withImage(format, url) });
      const answer = send(`data:image/png;base64,${PIXEL}`);
      const call = await gemini.first.next();
      call.stream([geminiParts({ text: 'A pixel.' }), geminiEnd(USAGE)]);
      assert.equal((await answer).status, 200);
      assert.deepEqual(partsOf(call), [
        [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data: PIXEL } }],
      ]);
      const calls = gemini.first.calls;
      const refused = await send('https://images.invalid/cat.png');
      assert.equal(refused.status, 400);
      assert.match(await refused.text(), /does not take images or files by their address/);
      assert.equal(gemini.first.calls, calls);
    });
  }

  test('a system message inside the conversation and an image in a tool result are carried', async () => {
    const key = await bedrock.gateway.creditKey();
    const answer = openai(key).responses.create({
      model: 'tested',
      input: [
        { role: 'user', content: 'Look' },
        { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [
            { type: 'input_text', text: 'the map' },
            { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
          ],
        },
        { role: 'system', content: 'Answer in French.' },
      ],
      tools: [WEATHER],
    });
    const call = await bedrock.first.next();
    bedrockStream(call, bedrockText('Oui'));
    assert.equal((await answer).output_text, 'Oui');
    assert.deepEqual(partsOf(call), [
      [{ text: 'Look' }],
      [{ toolUse: { toolUseId: 'c1', name: 'get_weather', input: { city: 'Rome' } } }],
      [
        {
          toolResult: {
            toolUseId: 'c1',
            content: [{ text: 'the map' }, { image: { format: 'png', source: { bytes: PIXEL } } }],
          },
        },
        { text: '<system>\nAnswer in French.\n</system>' },
      ],
    ]);
  });
});

function withImage(format: string, url: string): object {
  const text = 'What is this?';
  if (format === 'responses') {
    const content = [
      { type: 'input_text', text },
      { type: 'input_image', image_url: url },
    ];
    return { model: 'tested', input: [{ role: 'user', content }] };
  }
  const source = url.startsWith('data:')
    ? { type: 'base64', media_type: 'image/png', data: PIXEL }
    : { type: 'url', url };
  const image = format === 'chat' ? { type: 'image_url', image_url: { url } } : { type: 'image', source };
  return { model: 'tested', messages: [{ role: 'user', content: [{ type: 'text', text }, image] }] };
}

function bedrockText(text: string): (readonly [string, object])[] {
  return [
    ['messageStart', { role: 'assistant' }],
    ['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage: { inputTokens: 21, outputTokens: 8, totalTokens: 29 }, metrics: { latencyMs: 1 } }],
  ];
}

describe('[R60] the service tier', () => {
  for (const stream of [false, true]) {
    test(`that the provider reports is charged and shown, ${stream ? 'streamed' : 'whole'}`, async () => {
      const multipliers = { service_tier: { priority: 2 } };
      await using fixture = await geminiGateway({ provider: { multipliers } });
      for (const [tier, charge, shown] of [
        ['priority', 106_000, 'priority'],
        ['standard', 53_000, 'default'],
        [undefined, 53_000, 'default'],
      ] as const) {
        const key = await fixture.gateway.creditKey();
        const asked = ask(key, 'responses', { stream });
        const call = await fixture.first.next();
        const usage = { ...USAGE, ...(tier === undefined ? {} : { serviceTier: tier }) };
        call.stream([geminiParts({ text: 'Hi' }), geminiEnd(usage)]);
        assert.match((await asked).text, new RegExp(`"service_tier":"${shown}"[^]*$`));
        assert.equal(Math.round((await settled(fixture.gateway, key)).used * 1e9), charge);
      }
    });
  }

  test('is refused in a request: the package is not given it', async () => {
    await using fixture = await geminiGateway({ provider: { multipliers: { service_tier: { priority: 2 } } } });
    const key = await fixture.gateway.creditKey();
    for (const format of ['chat', 'responses'] as const) {
      const { status, message } = errorOf(await ask(key, format, { service_tier: 'priority' }));
      assert.deepEqual([status, message], [400, 'service_tier "priority" is not supported by this model.']);
    }
    const plain = ask(key, 'chat', { service_tier: 'default' });
    (await fixture.first.next()).stream([geminiParts({ text: 'Hi' }), geminiEnd(USAGE)]);
    assert.equal((await plain).status, 200);
    assert.equal(Math.round((await settled(fixture.gateway, key)).used * 1e9), 53_000);
  });
});

describe('prompt caching', () => {
  for (const [model, cached] of [
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
    ['meta.llama3-3-70b-instruct-v1:0', false],
  ] as const) {
    test(`cache_control reaches ${model} ${cached ? 'as cache points, and its cache is charged by its class' : 'not: it would be refused'}`, async () => {
      const { server, gateway } = await bedrockModel(model);
      const key = await gateway.creditKey();
      const cache_control = { type: 'ephemeral' as const };
      const answer = anthropic(key).messages.create({
        model: 'tested',
        max_tokens: 100,
        system: [{ type: 'text', text: 'Be brief.', cache_control }],
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Look', cache_control }] },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'seen', cache_control }] },
        ],
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
      });
      const call = await server.next();
      const usage = { inputTokens: 3, outputTokens: 8, cacheReadInputTokens: 20, cacheWriteInputTokens: 7 };
      bedrockStream(call, [...bedrockText('Yes').slice(0, -1), ['metadata', { usage, metrics: { latencyMs: 1 } }]]);
      const point = cached ? [{ cachePoint: { type: 'default' } }] : [];
      assert.deepEqual(call.body.system, [{ text: 'Be brief.' }, ...point]);
      assert.deepEqual(partsOf(call), [
        [{ text: 'Look' }, ...point],
        [{ toolUse: { toolUseId: 'c1', name: 'look', input: {} } }],
        [{ toolResult: { toolUseId: 'c1', content: [{ text: 'seen' }] } }, ...point],
      ]);
      const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = (await answer).usage;
      assert.deepEqual([input_tokens, cache_read_input_tokens, cache_creation_input_tokens], [3, 20, 7]);
      await gateway[Symbol.asyncDispose]();
      await server.close();
    });
  }
});

describe('thoughts and signatures', () => {
  const thoughts = [
    geminiParts({ text: 'Where is it? ', thought: true }),
    geminiParts({ text: 'In Rome.', thought: true, thoughtSignature: 'sig-of-thought' }),
    geminiParts({ functionCall: { name: 'get_weather', args: { city: 'Rome' } }, thoughtSignature: 'sig-of-call' }),
    geminiEnd({ ...USAGE, thoughtsTokenCount: 5, cachedContentTokenCount: 20 }),
  ];
  const modelParts = (call: ScriptedCall): unknown => {
    const [, parts] = partsOf(call);
    assert.ok(Array.isArray(parts));
    // The id of the call is the package's own invention.
    return JSON.parse(JSON.stringify(parts, (name, value) => (name === 'id' ? undefined : value)));
  };
  const replayed = [
    { text: 'Where is it? In Rome.', thought: true, thoughtSignature: 'sig-of-thought' },
    { functionCall: { name: 'get_weather', args: { city: 'Rome' } }, thoughtSignature: 'sig-of-call' },
  ];

  for (const stream of [false, true]) {
    test(`Gemini gets its signatures back from a responses client (${stream ? 'streamed' : 'whole'})`, async () => {
      const key = await gemini.gateway.creditKey();
      const client = openai(key);
      const body = { model: 'tested', tools: [WEATHER] };
      const first = stream
        ? client.responses.stream({ ...body, input: 'Weather?' }).finalResponse()
        : client.responses.create({ ...body, input: 'Weather?' });
      (await gemini.first.next()).stream(thoughts);
      const { output, usage }: OpenAI.Responses.Response = await first;
      assert.deepEqual(
        [usage?.input_tokens, usage?.input_tokens_details.cached_tokens, usage?.output_tokens],
        [21, 20, 13],
      );
      assert.equal(usage?.output_tokens_details.reasoning_tokens, 5);
      const made = output.find((item) => item.type === 'function_call');
      assert.ok(made);
      const result = { type: 'function_call_output' as const, call_id: made.call_id, output: 'sunny' };
      const input = [{ role: 'user' as const, content: 'Weather?' }, ...output, result];
      const second = client.responses.create({ ...body, input: input as OpenAI.Responses.ResponseInput });
      const call = await gemini.first.next();
      call.stream([geminiParts({ text: 'Sunny.' }), geminiEnd(USAGE)]);
      assert.equal((await second).output_text, 'Sunny.');
      assert.deepEqual(modelParts(call), replayed);
    });

    test(`Gemini gets its signatures back from a messages client (${stream ? 'streamed' : 'whole'})`, async () => {
      const key = await gemini.gateway.creditKey();
      const client = anthropic(key);
      const body = {
        model: 'tested',
        max_tokens: 2_000,
        tools: [{ name: 'get_weather', input_schema: { type: 'object' as const, properties: {} } }],
      };
      const question = { role: 'user' as const, content: 'Weather?' };
      const first = stream
        ? client.messages.stream({ ...body, messages: [question] }).finalMessage()
        : client.messages.create({ ...body, messages: [question] });
      (await gemini.first.next()).stream(thoughts);
      const { content, usage } = await first;
      assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [1, 20, 13]);
      const [thinking] = content;
      assert.ok(thinking?.type === 'thinking');
      assert.equal(thinking.thinking, 'Where is it? In Rome.');
      const made = content.find((block) => block.type === 'tool_use');
      assert.ok(made);
      const result = { type: 'tool_result' as const, tool_use_id: made.id, content: 'sunny' };
      const second = client.messages.create({
        ...body,
        messages: [question, { role: 'assistant', content }, { role: 'user', content: [result] }],
      });
      const call = await gemini.first.next();
      call.stream([geminiParts({ text: 'Sunny.' }), geminiEnd(USAGE)]);
      await second;
      assert.deepEqual(modelParts(call), replayed);
    });
  }

  test('Bedrock gets its signed and its redacted thoughts back', async () => {
    const key = await bedrock.gateway.creditKey();
    const client = anthropic(key);
    const question = { role: 'user' as const, content: 'Think.' };
    const body = { model: 'tested', max_tokens: 2_000 };
    const first = client.messages.stream({ ...body, messages: [question] }).finalMessage();
    const [start, ...text] = bedrockText('Done.');
    assert.ok(start);
    const thought = (index: number, delta: object): readonly [string, object] => [
      'contentBlockDelta',
      { contentBlockIndex: index, delta: { reasoningContent: delta } },
    ];
    bedrockStream(await bedrock.first.next(), [
      start,
      thought(1, { text: 'Hm, ' }),
      thought(1, { text: 'yes.' }),
      thought(1, { signature: 'bedrock-sig' }),
      ['contentBlockStop', { contentBlockIndex: 1 }],
      thought(2, { data: 'hidden' }),
      ['contentBlockStop', { contentBlockIndex: 2 }],
      ...text,
    ]);
    const { content } = await first;
    const second = client.messages.create({
      ...body,
      messages: [question, { role: 'assistant', content }, { role: 'user', content: 'More.' }],
    });
    const call = await bedrock.first.next();
    bedrockStream(call, bedrockText('More.'));
    await second;
    assert.deepEqual(partsOf(call)[1], [
      { reasoningContent: { reasoningText: { text: 'Hm, yes.', signature: 'bedrock-sig' } } },
      { reasoningContent: { redactedReasoning: { data: 'hidden' } } },
      { text: 'Done.' },
    ]);
  });

  test('thoughts of one provider are not shown to another, and nothing but signatures is taken from a client', async () => {
    const forge = (value: object): string => `aisdk1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const key = await bedrock.gateway.creditKey();
    const options = { signature: 'ok', cachePoint: { type: 'default' }, itemId: 'stored' };
    const thought = (provider: string, text: string): OpenAI.Responses.ResponseInputItem => ({
      type: 'reasoning',
      id: `rs_${provider}`,
      summary: [{ type: 'summary_text', text }],
      encrypted_content: forge({ provider, signatures: { amazonBedrock: options, bedrock: options } }),
    });
    const answer = openai(key).responses.create({
      model: 'tested',
      input: [
        { role: 'user', content: 'Hi' },
        thought('google.generative-ai', 'of Gemini'),
        thought('amazon-bedrock', 'of Bedrock'),
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Again' },
      ],
    });
    const call = await bedrock.first.next();
    bedrockStream(call, bedrockText('Hi'));
    await answer;
    assert.deepEqual(partsOf(call)[1], [
      { reasoningContent: { reasoningText: { text: 'of Bedrock', signature: 'ok' } } },
      { text: 'Hello.' },
    ]);
  });
});
