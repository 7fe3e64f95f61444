import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/core/conditions.ts';
import type { RequestInfo } from '../../../src/wire/format.ts';
import { validateCountRequest } from '../../../src/wire/messages/validate-request.ts';
import { asObject, type FormatName, infoOf } from './streams.ts';

const USER = { role: 'user', content: 'hi' };
const CHAT = { model: 'm', messages: [USER] };

function refused(format: FormatName, body: object, betas = false): GatewayError {
  try {
    infoOf(format, body, betas);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.condition, 'invalid_request');
    return error;
  }
  throw new assert.AssertionError({ message: `was not refused: ${JSON.stringify(body)}` });
}

const CASES: Record<FormatName, [body: object, param: string][]> = {
  chat: [
    [{ messages: [USER] }, 'model'],
    [{ model: '', messages: [USER] }, 'model'],
    [{ model: 'm' }, 'messages'],
    [{ model: 'm', messages: [] }, 'messages'],
    [{ model: 'm', messages: [{ role: 'robot' }] }, 'messages[0].role'],
    [{ model: 'm', messages: [USER, {}] }, 'messages[1].role'],
    [{ model: 'm', messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    [{ model: 'm', messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]'],
    [{ model: 'm', messages: [{ role: 'user', name: 5 }] }, 'messages[0].name'],
    [{ model: 'm', messages: [{ role: 'assistant', tool_calls: [5] }] }, 'messages[0].tool_calls[0]'],
    [{ model: 'm', messages: [{ role: 'assistant', tool_calls: [{}] }] }, 'messages[0].tool_calls[0].id'],
    [{ model: 'm', messages: [{ role: 'assistant', tool_calls: [{ type: 5 }] }] }, 'messages[0].tool_calls[0].type'],
    [
      { model: 'm', messages: [{ role: 'assistant', tool_calls: [{ type: 'function' }] }] },
      'messages[0].tool_calls[0].id',
    ],
    [
      {
        model: 'm',
        messages: [
          { role: 'assistant', tool_calls: [{ type: 'function', id: 'x', function: { name: 'f', arguments: {} } }] },
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
    ],
    [{ ...CHAT, stream: 'yes' }, 'stream'],
    [{ ...CHAT, max_tokens: 1.5 }, 'max_tokens'],
    [{ ...CHAT, temperature: 2.1 }, 'temperature'],
    [{ ...CHAT, temperature: -0.1 }, 'temperature'],
    [{ ...CHAT, top_p: 1.1 }, 'top_p'],
    [{ ...CHAT, stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    [{ ...CHAT, stop: [1] }, 'stop[0]'],
    [{ ...CHAT, tools: {} }, 'tools'],
    [{ ...CHAT, tools: ['x'] }, 'tools[0]'],
    [{ ...CHAT, tool_choice: 5 }, 'tool_choice'],
    [{ ...CHAT, user: 5 }, 'user'],
    [{ ...CHAT, n: 0 }, 'n'],
    [{ ...CHAT, n: 129 }, 'n'],
    [
      { ...CHAT, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
    ],
  ],
  responses: [
    [{ input: 'x' }, 'model'],
    [{ model: 'm' }, 'input'],
    [{ model: 'm', input: 5 }, 'input'],
    [{ model: 'm', input: ['x'] }, 'input[0]'],
    [{ model: 'm', input: 'x', instructions: 5 }, 'instructions'],
    [{ model: 'm', input: 'x', max_output_tokens: 0 }, 'max_output_tokens'],
    [{ model: 'm', input: 'x', user: 'u'.repeat(1_025) }, 'user'],
    [{ model: 'm', input: 'x', background: true }, 'background'],
    [{ model: 'm', input: 'x', previous_response_id: 'r' }, 'previous_response_id'],
    [{ model: 'm', input: 'x', conversation: { id: 'c' } }, 'conversation'],
    [{ model: 'm', input: [{ type: 'item_reference', id: 'x' }] }, 'input[0]'],
    [
      { model: 'm', input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      { model: 'm', input: [{ type: 'function_call_output', output: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].output[0].file_id',
    ],
  ],
  messages: [
    [{ messages: [USER] }, 'model'],
    [{ model: 'm', messages: [] }, 'messages'],
    [{ model: 'm', messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ model: 'm', messages: [{ role: 'user', content: [{ text: 'x' }] }] }, 'messages[0].content[0].type'],
    [{ ...CHAT, system: [{}] }, 'system[0].type'],
    [{ ...CHAT, top_k: 1.5 }, 'top_k'],
    [{ ...CHAT, stop_sequences: [1] }, 'stop_sequences[0]'],
    [{ ...CHAT, tool_choice: 'auto' }, 'tool_choice'],
    [{ ...CHAT, metadata: [] }, 'metadata'],
    [
      {
        model: 'm',
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
      },
      'messages[0].content[0].source.file_id',
    ],
  ],
};

for (const [format, cases] of Object.entries(CASES) as [FormatName, [object, string][]][]) {
  for (const [body, param] of cases) {
    test(`[R35] ${format}: ${JSON.stringify(body).slice(0, 110)} is refused at ${param}`, () => {
      const error = refused(format, body);
      assert.equal(error.param, param);
      assert.ok(error.message.includes(param) || error.message.includes('role'), error.message);
    });
  }
}

test('metadata has the public limits, where it is repeated and stored', () => {
  const bodies = { chat: CHAT, responses: { model: 'm', input: 'x' } };
  for (const [format, body] of Object.entries(bodies) as [FormatName, object][]) {
    const sixteen = Object.fromEntries(
      Array.from({ length: 16 }, (_none, i) => [`${i}`.padEnd(64, 'k'), 'v'.repeat(512)]),
    );
    infoOf(format, { ...body, metadata: sixteen });
    for (const [metadata, param, message] of [
      [{ ...sixteen, more: 'v' }, 'metadata', 'metadata must not have more than 16 fields.'],
      [{ ['k'.repeat(65)]: 'v' }, 'metadata', 'metadata must not have a name of more than 64 characters.'],
      [{ a: 'v'.repeat(513) }, 'metadata.a', 'metadata.a must not have more than 512 characters.'],
      [{ a: 1 }, 'metadata.a', 'metadata.a must be a string.'],
      [['a'], 'metadata', 'metadata must be an object.'],
    ] as const) {
      const error = refused(format, { ...body, metadata });
      assert.deepEqual([error.param, error.message], [param, message]);
    }
  }
  infoOf('messages', { ...CHAT, max_tokens: 1, metadata: { user_id: 'v'.repeat(1_000) } });
});

test('[R60] stored state, background work and provider file ids are refused by name', () => {
  const bodies = [{ background: true }, { previous_response_id: 'r' }, { conversation: 'c' }];
  for (const extra of bodies) {
    assert.equal(refused('responses', { model: 'm', input: 'x', ...extra }).param, Object.keys(extra)[0]);
  }
  assert.equal(
    infoOf('responses', { model: 'm', input: 'x', background: false, previous_response_id: null }).model,
    'm',
  );
});

test('[F23] an output limit that is no positive integer is refused; a huge one is left to the model check', () => {
  const fields: [FormatName, string][] = [
    ['chat', 'max_tokens'],
    ['chat', 'max_completion_tokens'],
    ['responses', 'max_output_tokens'],
    ['messages', 'max_tokens'],
  ];
  for (const [format, field] of fields) {
    const base = format === 'responses' ? { model: 'm', input: 'x' } : CHAT;
    for (const bad of [0, -1, '5', 0.5, null]) assert.equal(refused(format, { ...base, [field]: bad }).param, field);
    const info = infoOf(format, { ...base, [field]: 1e308 });
    assert.deepEqual([info.outputLimit, info.outputLimitParam], [Number.MAX_SAFE_INTEGER, field]);
  }
});

test('[R40] max_completion_tokens is an alias: equal is fine, unequal is refused', () => {
  assert.equal(infoOf('chat', { ...CHAT, max_completion_tokens: 7 }).outputLimit, 7);
  assert.equal(infoOf('chat', { ...CHAT, max_completion_tokens: 7, max_tokens: 7 }).outputLimit, 7);
  assert.equal(refused('chat', { ...CHAT, max_completion_tokens: 7, max_tokens: 8 }).param, 'max_completion_tokens');
});

describe('[R42] roles of Format B', () => {
  const system = { model: 'm', messages: [USER, { role: 'system', content: 'x' }] };
  test('system needs a native client that opts into extensions', () => {
    const error = refused('messages', system);
    assert.equal(error.param, 'messages[1].role');
    assert.match(error.message, /Unexpected role/);
    assert.match(error.message, /input message role/);
    assert.equal(infoOf('messages', system, true).model, 'm');
    assert.match(
      refused('messages', { model: 'm', messages: [{ role: 'tool', content: '' }] }, true).message,
      /Unexpected role "tool"/,
    );
  });
  test('the same holds for token counts', () => {
    assert.equal(validateCountRequest(asObject(system), { betas: true }).model, 'm');
    assert.throws(() => validateCountRequest(asObject(system), { betas: false }), /Unexpected role/);
    assert.equal(
      validateCountRequest({ model: 'm', messages: [USER], tools: [] }, { betas: false }).needs.tools,
      undefined,
    );
  });
});

function declarations({ hostedTools }: RequestInfo): object[] {
  return hostedTools.map(({ type, param }) => ({ type, param }));
}

describe('info', () => {
  test('unknown fields are accepted, and defaults are those of the interface', () => {
    assert.deepEqual(infoOf('chat', { ...CHAT, whatever: { deep: [1] }, tools: [] }), {
      model: 'm',
      stream: false,
      outputLimit: null,
      outputLimitParam: 'max_tokens',
      choices: 1,
      needs: {},
      attachments: { count: 0, inlineBytes: 0 },
      hostedTools: [],
      reasoning: 'unsaid',
    });
  });

  test('what a request needs, where it is, and what it takes', () => {
    const chat = infoOf('chat', {
      ...CHAT,
      n: 3,
      stream: true,
      service_tier: 'flex',
      tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }],
      messages: [
        USER,
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://example.com/x.png' } },
            { type: 'input_audio', input_audio: { data: 'BBBB' } },
          ],
        },
      ],
    });
    assert.deepEqual(chat.needs, {
      images: 'messages[1].content[1]',
      files: 'messages[2].content[1]',
      tools: 'tools',
      streaming: 'stream',
    });
    assert.deepEqual(chat.attachments, { count: 3, inlineBytes: 30 });
    assert.deepEqual(declarations(chat), [{ type: 'web_search', param: 'tools[1]' }]);
    assert.deepEqual([chat.choices, chat.stream], [3, true]);
  });

  test('images in tool results count', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAAAA' } };
    const messages = infoOf('messages', {
      model: 'm',
      tools: [
        { name: 'f', input_schema: {} },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'w' },
      ],
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [image] }] }],
    });
    assert.equal(messages.needs.images, 'messages[0].content[0].content[0]');
    assert.deepEqual(messages.attachments, { count: 1, inlineBytes: 6 });
    assert.deepEqual(declarations(messages), [{ type: 'web_search_20250305', param: 'tools[2]' }]);
    const responses = infoOf('responses', {
      model: 'm',
      input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'data:x' }] }],
    });
    assert.equal(responses.needs.images, 'input[0].output[0]');
  });

  test('[R43] tools that the client runs are not hosted, wherever they are declared', () => {
    const clientSide = [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'apply_patch' },
      { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn' }] },
      { type: 'tool_search', execution: 'client' },
      { type: 'local_shell' },
      { type: 'shell' },
    ];
    const { hostedTools } = infoOf('responses', { model: 'm', input: 'Hi', tools: clientSide });
    assert.deepEqual(hostedTools, []);
    const declared = infoOf('responses', {
      model: 'm',
      input: [{ type: 'additional_tools', role: 'developer', tools: [...clientSide, { type: 'web_search' }] }],
      tools: [{ type: 'tool_search' }, { type: 'shell', environment: { type: 'container_auto' } }],
    });
    assert.deepEqual(declarations(declared), [
      { type: 'tool_search', param: 'tools[0]' },
      { type: 'shell', param: 'tools[1]' },
      { type: 'web_search', param: 'input[0].tools[6]' },
    ]);
    const items = [{ type: 'additional_tools', role: 'developer', tools: clientSide }];
    assert.equal(infoOf('responses', { model: 'm', input: items }).needs.tools, 'input[0].tools');
  });
});
