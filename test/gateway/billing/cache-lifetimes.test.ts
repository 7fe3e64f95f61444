/** Cache writes that live longer than the provider's default have a price of their own, or are refused by name. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Format } from '../../../src/core/endpoints.ts';
import { accountWhen, refusal, visit } from '../../support/requests.ts';
import { ask, withScene } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

/** Models `priced-FORMAT` have a price for the longer lifetime, models `bare-FORMAT` have not. */
const { gateway, upstream } = await withScene({
  providers: Object.fromEntries(FORMAT_NAMES.map((format) => [`to-${format}`, { formats: [format] }])),
  models: FORMAT_NAMES.flatMap((format) =>
    [
      { id: 'priced', prices: { cache_write_1h: 2 } },
      { id: 'bare', prices: {} },
    ].map(({ id, prices }) => ({
      id: `${id}-${format}`,
      provider: `to-${format}`,
      pricing: { input: 1, output: 4, cache_write: 1.25, ...prices },
    })),
  ),
});

interface Asked {
  readonly param: string;
  readonly body: (ttl: unknown) => object;
}

const control = (ttl: unknown) => ({ type: 'ephemeral', ttl });
const text = (ttl: unknown) => ({ type: 'text', text: 'Hi', cache_control: control(ttl) });
const marked = (type: string, ttl: unknown) => ({
  type,
  text: 'Hi',
  prompt_cache_breakpoint: { mode: 'explicit', ttl },
});

const OPTIONS: Asked = {
  param: 'prompt_cache_options.ttl',
  body: (ttl) => ({ prompt_cache_options: { mode: 'implicit', ttl } }),
};

const ASKED: Readonly<Record<Format, readonly Asked[]>> = {
  messages: [
    { param: 'cache_control.ttl', body: (ttl) => ({ cache_control: control(ttl) }) },
    { param: 'system[0].cache_control.ttl', body: (ttl) => ({ system: [text(ttl)] }) },
    {
      param: 'messages[0].content[1].cache_control.ttl',
      body: (ttl) => ({ messages: [{ role: 'user', content: [text('5m'), text(ttl)] }] }),
    },
    {
      param: 'messages[0].content[0].content[0].cache_control.ttl',
      body: (ttl) => ({
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [text(ttl)] }] }],
      }),
    },
    {
      param: 'tools[0].cache_control.ttl',
      body: (ttl) => ({ tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: control(ttl) }] }),
    },
    {
      param: 'messages[0].content[0].tool.definition.cache_control.ttl',
      body: (ttl) => ({
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'tool_addition',
                tool: {
                  type: 'tool_definition',
                  definition: { name: 'f', input_schema: { type: 'object' }, cache_control: control(ttl) },
                },
              },
              { type: 'text', text: 'Hi' },
            ],
          },
        ],
      }),
    },
  ],
  responses: [
    OPTIONS,
    {
      param: 'input[0].content[0].prompt_cache_breakpoint.ttl',
      body: (ttl) => ({ input: [{ role: 'user', content: [marked('input_text', ttl)] }] }),
    },
    {
      param: 'input[1].output[0].prompt_cache_breakpoint.ttl',
      body: (ttl) => ({
        input: [
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: [marked('input_text', ttl)] },
        ],
      }),
    },
  ],
  chat: [
    OPTIONS,
    {
      param: 'messages[0].content[0].prompt_cache_breakpoint.ttl',
      body: (ttl) => ({ messages: [{ role: 'user', content: [marked('text', ttl)] }] }),
    },
    {
      param: 'messages[0].content[0].cache_control.ttl',
      body: (ttl) => ({ messages: [{ role: 'user', content: [text(ttl)] }] }),
    },
    {
      param: 'tools[0].function.cache_control.ttl',
      body: (ttl) => ({
        tools: [{ type: 'function', function: { name: 'f', parameters: {}, cache_control: control(ttl) } }],
      }),
    },
  ],
};

const LONG: Readonly<Record<Format, string>> = { messages: '1h', responses: '12h', chat: '1h' };

function answering(format: Format, usage: object = {}): (call: ScriptedCall) => void {
  return (call) => {
    const whole = SPEECH[format].whole('Hi') as { readonly usage: object };
    call.reply(200, { ...whole, usage: { ...whole.usage, ...usage } });
  };
}

describe('[R60] the lifetime of cache writes', () => {
  for (const format of FORMAT_NAMES) {
    for (const { param, body } of ASKED[format]) {
      test(`${format}, ${param}: a longer one needs a price, an unknown one is refused`, async () => {
        const key = await gateway.creditKey();
        const send = (model: string, ttl: unknown) => {
          const request = SPEECH[format].request({ model: `${model}-${format}`, ...body(ttl) });
          return visit(key, format, { body: JSON.stringify(request) });
        };
        upstream.answer = answering(format);
        for (const ttl of ['5m', '30m', null, undefined]) {
          assert.equal((await send('bare', ttl)).status, 200, String(ttl));
        }
        assert.equal((await send('priced', LONG[format])).status, 200);
        for (const [model, ttl] of [
          ['bare', LONG[format]],
          ['bare', '24h'],
          ['priced', '24h'],
          ['priced', '1H'],
          ['priced', 3_600],
          ['priced', { hours: 1 }],
        ] as const) {
          const error = await refusal(send(model, ttl), format, 400, 'invalid_request');
          assert.equal(error.param, param, `${model} ${String(ttl)}`);
          assert.match(error.message, /no configured price/);
        }
      });
    }
  }

  test('what a translation carries needs a price, what it leaves out needs none', async () => {
    const key = await gateway.creditKey();
    for (const target of ['chat', 'responses'] as const) {
      upstream.answer = answering(target);
      const answer = await ask(key, 'messages', { model: `bare-${target}`, system: [text('1h')] });
      assert.equal(answer.status, 200, answer.text);
    }
    const [, breakpoint] = ASKED.chat;
    const carried = SPEECH.chat.request({ model: 'bare-responses', ...breakpoint?.body('12h') });
    const error = await refusal(visit(key, 'chat', { body: JSON.stringify(carried) }), 'chat', 400, 'invalid_request');
    assert.equal(error.param, breakpoint?.param);
  });

  test('what looks like one in the words and schemas of a client is none', async () => {
    const key = await gateway.creditKey();
    const data = { cache_control: { ttl: '1h' }, prompt_cache_options: { ttl: '12h' } };
    upstream.answer = answering('messages');
    const answer = await ask(key, 'messages', {
      model: 'bare-messages',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: data }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: JSON.stringify(data) }] },
      ],
      tools: [{ name: 'f', input_schema: { type: 'object', properties: data } }],
    });
    assert.equal(answer.status, 200, answer.text);
  });

  test('the retention that costs nothing passes, any other is refused', async () => {
    const key = await gateway.creditKey();
    upstream.answer = answering('responses');
    for (const retention of ['in_memory', '24h', null]) {
      const answer = await ask(key, 'responses', { model: 'bare-responses', prompt_cache_retention: retention });
      assert.equal(answer.status, 200, answer.text);
    }
    const body = JSON.stringify(SPEECH.responses.request({ model: 'priced-responses', prompt_cache_retention: '7d' }));
    const error = await refusal(visit(key, 'responses', { body }), 'responses', 400, 'invalid_request');
    assert.equal(error.param, 'prompt_cache_retention');
  });

  test('each write is charged at the price of its lifetime', async () => {
    const details = { cache_write_tokens: 100, cache_write_tokens_details: { ttl_12h_tokens: 60, ttl_30m_tokens: 40 } };
    const reports = {
      messages: {
        input_tokens: 10,
        output_tokens: 1,
        cache_creation_input_tokens: 100,
        cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 60 },
      },
      responses: { input_tokens: 110, output_tokens: 1, input_tokens_details: details },
      chat: { prompt_tokens: 110, completion_tokens: 1, prompt_tokens_details: details },
    };
    for (const format of FORMAT_NAMES) {
      const key = await gateway.creditKey();
      upstream.answer = answering(format, reports[format]);
      const asked = ASKED[format][0]?.body(LONG[format]);
      assert.equal((await ask(key, format, { model: `priced-${format}`, ...asked })).status, 200);
      const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
      // 10 × 1 + 40 × 1.25 + 60 × 2 + 1 × 4
      assert.equal(Math.round(used * 1e9), 184_000, format);
    }
  });
});
