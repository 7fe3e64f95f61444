import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { type ParsedBody, parseBody } from '../../src/wire/json/parse-request.ts';
import { stripPackedReasoning } from '../../src/wire/passthrough/strip-packed-reasoning.ts';
import { packReasoning } from '../../src/wire/translate/packed-reasoning.ts';
import { lane, MINIMAL, upstreamBody } from './run-lane.ts';

const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };

function refused(from: Format, to: Format, body: JsonObject, param: string): void {
  assert.throws(
    () => lane(from, to, { ...MINIMAL[from], ...body }),
    (error) => error instanceof GatewayError && error.condition === 'invalid_request' && error.param === param,
  );
}

describe('a request that cannot be carried', () => {
  test('[R43] is refused by name, before anything is held', () => {
    refused('chat', 'messages', { n: 2 }, 'n');
    refused('chat', 'responses', { n: 2 }, 'n');
    refused('chat', 'messages', { logprobs: true }, 'logprobs');
    refused('chat', 'messages', { modalities: ['text', 'audio'] }, 'modalities');
    refused('chat', 'messages', { service_tier: 'flex' }, 'service_tier');
    refused('messages', 'chat', { mcp_servers: [{ url: 'https://example.com' }] }, 'mcp_servers');
    refused('responses', 'chat', { previous_response_id: 'resp_1' }, 'previous_response_id');
    refused('responses', 'messages', { conversation: 'conv_1' }, 'conversation');
  });

  test('[R43] a content part that the target does not know is named by its path', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } };
    refused(
      'chat',
      'messages',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, audio] }] },
      'messages[0].content[1]',
    );
    const stored = { type: 'input_image', file_id: 'file_1', detail: 'auto' };
    refused('responses', 'messages', { input: [{ role: 'user', content: [stored] }] }, 'input[0].content[0]');
    refused('responses', 'messages', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]');
    const sheet = {
      type: 'file',
      file: { filename: 'a.xlsx', file_data: 'data:application/vnd.ms-excel;base64,AA==' },
    };
    refused('chat', 'messages', { messages: [{ role: 'user', content: [sheet] }] }, 'messages[0].content[0]');
  });

  test('[R81] what an answer follows is left out instead, so that a conversation is never locked', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } };
    const sheet = {
      type: 'file',
      file: { filename: 'a.xlsx', file_data: 'data:application/vnd.ms-excel;base64,AA==' },
    };
    const said = { role: 'user', content: [{ type: 'text', text: 'x' }, audio, sheet] };
    const messages = [said, { role: 'assistant', content: 'y' }, { role: 'user', content: 'z' }];
    assert.deepEqual(lane('chat', 'messages', { ...MINIMAL.chat, messages }).warnings, [
      'messages[0].content[1]: "input_audio" is left out',
      'messages[0].content[2]: left out, files of type "application/vnd.ms-excel" are not supported by this model',
    ]);
    const report = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } };
    const result = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'hologram' }, report] };
    const use = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] };
    const asked = [use, { role: 'user', content: [result] }];
    assert.deepEqual(
      lane('messages', 'chat', {
        ...MINIMAL.messages,
        messages: [...asked, { role: 'assistant', content: 'y' }, { role: 'user', content: 'z' }],
      }).warnings,
      [
        'messages[1].content[0].content[1]: left out, this model takes files as data, not by URL',
        'messages[1].content[0].content[0]: "hologram" is left out',
      ],
    );
    refused('messages', 'chat', { messages: asked }, 'messages[1].content[0].content[1]');
    // The beginning of an answer that the model is to go on with is none.
    const begun = [...asked, { role: 'assistant', content: 'y' }];
    refused('messages', 'chat', { messages: begun }, 'messages[1].content[0].content[1]');
    const call = { type: 'local_shell_call', id: 'x', call_id: 'y', action: {}, status: 'completed' };
    const output = { type: 'local_shell_call_output', id: 'o', call_id: 'y', output: 'r' };
    assert.deepEqual(
      lane('responses', 'chat', { ...MINIMAL.responses, input: [{ role: 'user', content: 'x' }, call, output] })
        .warnings,
      ['input[1]: "local_shell_call" is left out', 'input[2]: "local_shell_call_output" is left out'],
    );
  });

  test('[R43] a hosted tool is left out with a warning while other tools remain, and refused alone', () => {
    const body = { ...MINIMAL.responses, tools: [{ type: 'web_search' }, FUNCTION] };
    const running = lane('responses', 'messages', body);
    assert.deepEqual(running.warnings, ['tools[0]: the hosted tool "web_search" is left out']);
    refused('responses', 'messages', { tools: [{ type: 'web_search' }] }, 'tools[0]');
    refused('messages', 'chat', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0]');
  });

  test('[R43] a tool that the client runs to a built-in schema is always refused', () => {
    refused(
      'messages',
      'chat',
      {
        tools: [
          { type: 'bash_20250124', name: 'bash' },
          { name: 'f', input_schema: {} },
        ],
      },
      'tools[0]',
    );
    refused('responses', 'chat', { tools: [{ type: 'local_shell' }, FUNCTION] }, 'tools[0]');
  });
});

describe('the output limit', () => {
  test('[R14] is sent in the field that the target understands', () => {
    assert.equal(upstreamBody('messages', 'chat', MINIMAL.messages).max_tokens, 4096);
    const named = upstreamBody('messages', 'chat', MINIMAL.messages, { outputLimitField: 'max_completion_tokens' });
    assert.equal(named.max_completion_tokens, 4096);
    assert.equal(named.max_tokens, undefined);
    assert.equal(upstreamBody('chat', 'responses', MINIMAL.chat).max_output_tokens, 4096);
    assert.equal(upstreamBody('chat', 'messages', MINIMAL.chat).max_tokens, 4096);
  });

  test('[R39] usage of a chat stream is always asked for', () => {
    const body = upstreamBody('messages', 'chat', { ...MINIMAL.messages, stream: true });
    assert.deepEqual(body.stream_options, { include_usage: true });
    assert.equal(upstreamBody('messages', 'chat', MINIMAL.messages).stream_options, undefined);
  });

  test('the client asking for its own format keeps every field it sent', () => {
    const body = { ...MINIMAL.responses, truncation: 'auto', user: 'u', anything: { goes: 1 } };
    const sent = upstreamBody('responses', 'responses', body);
    assert.deepEqual(sent, { ...body, model: 'up', max_output_tokens: 4096, store: false });
  });
});

describe('tools', () => {
  const named = (body: JsonObject): unknown =>
    (body.tools as { name?: string; function?: { name: string } }[]).map((tool) => tool.name ?? tool.function?.name);

  test('of a namespace are flattened to unique names within the length that the target takes', () => {
    const long = 'x'.repeat(80);
    const tools = [
      {
        type: 'namespace',
        name: 'fs',
        description: '',
        tools: [
          { type: 'function', name: 'read' },
          { type: 'function', name: long },
        ],
      },
      { type: 'function', name: 'fs__read' },
    ];
    const names = named(upstreamBody('responses', 'chat', { ...MINIMAL.responses, tools })) as string[];
    assert.equal(names[0], 'fs__read');
    assert.equal(new Set(names).size, 3);
    for (const name of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  });

  test('found by a client-side tool search become tools of the request, once', () => {
    const found = { type: 'tool_search_output', call_id: 'c1', execution: 'client', tools: [FUNCTION] };
    const body = {
      model: 'm',
      tools: [
        { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
      ],
      input: [
        { role: 'user', content: 'x' },
        { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'f' } },
        found,
        { type: 'tool_search_call', call_id: 'c2', execution: 'client', arguments: { query: 'f' } },
        { ...found, call_id: 'c2' },
      ],
    };
    const sent = upstreamBody('responses', 'messages', body);
    assert.deepEqual(named(sent), ['tool_search', 'f']);
    assert.match(JSON.stringify(sent.messages), /"tool_use","id":"c1","name":"tool_search","input":\{"query":"f"\}/);
  });

  test('choices are carried in every form', () => {
    const tools = [FUNCTION, { ...FUNCTION, name: 'g' }];
    const choice = (value: unknown): JsonObject =>
      upstreamBody('responses', 'messages', { ...MINIMAL.responses, tools, tool_choice: value } as JsonObject);
    assert.deepEqual(choice('auto').tool_choice, { type: 'auto' });
    assert.deepEqual(choice('none').tool_choice, { type: 'none' });
    assert.deepEqual(choice('required').tool_choice, { type: 'any' });
    assert.deepEqual(choice({ type: 'function', name: 'g' }).tool_choice, { type: 'tool', name: 'g' });
    const allowed = choice({ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] });
    assert.deepEqual(allowed.tool_choice, { type: 'any' });
    assert.deepEqual(named(allowed), ['g']);
    const back = (value: JsonObject): unknown =>
      upstreamBody('messages', 'chat', {
        ...MINIMAL.messages,
        tools: [{ name: 'g', input_schema: {} }],
        tool_choice: value,
      }).tool_choice;
    assert.equal(back({ type: 'any' }), 'required');
    assert.deepEqual(back({ type: 'tool', name: 'g' }), { type: 'function', function: { name: 'g' } });
  });

  test('results come directly behind their calls, and images of results behind all results', () => {
    const image = { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' };
    const body = {
      model: 'm',
      input: [
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
        { role: 'developer', content: 'Be careful.' },
        { type: 'function_call_output', call_id: 'a', output: [image] },
        { type: 'function_call_output', call_id: 'b', output: 'done' },
      ],
    };
    const sent = upstreamBody('responses', 'chat', body).messages as { role: string }[];
    assert.deepEqual(
      sent.map((message) => message.role),
      ['assistant', 'tool', 'tool', 'user', 'system'],
    );
    const blocks = upstreamBody('responses', 'messages', body).messages as {
      role: string;
      content: { type: string }[];
    }[];
    assert.deepEqual(
      blocks[1]?.content.map((block) => block.type),
      ['tool_result', 'tool_result', 'text'],
    );
  });
});

describe('thinking', () => {
  const effort = { ...MINIMAL.chat, reasoning_effort: 'high' };

  test('asked for by effort gets a budget below the output limit, and sampling settings give way', () => {
    const sent = upstreamBody('chat', 'messages', { ...effort, temperature: 0.2 });
    assert.deepEqual(sent.thinking, { type: 'enabled', budget_tokens: 3072 });
    assert.equal(sent.temperature, undefined);
    const adaptive = upstreamBody('chat', 'messages', effort, { thinking: 'adaptive' });
    assert.deepEqual([adaptive.thinking, adaptive.output_config], [{ type: 'adaptive' }, { effort: 'high' }]);
    const always = upstreamBody('chat', 'messages', { ...effort, reasoning_effort: 'none' }, { thinking: 'always' });
    assert.deepEqual([always.thinking, always.output_config], [undefined, { effort: 'low' }]);
  });

  test('is left out where the target would refuse it', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    assert.equal(upstreamBody('chat', 'messages', { ...effort, tools, tool_choice: 'required' }).thinking, undefined);
    const messages = [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'y' },
    ];
    assert.equal(upstreamBody('chat', 'messages', { ...effort, tools, messages }).thinking, undefined);
    assert.equal(upstreamBody('chat', 'messages', effort, { reasoning: false }).thinking, undefined);
  });

  test('budgets are told as efforts', () => {
    const sent = (budget: number): unknown =>
      upstreamBody('messages', 'chat', { ...MINIMAL.messages, thinking: { type: 'enabled', budget_tokens: budget } })
        .reasoning_effort;
    assert.deepEqual([1024, 8192, 30_000].map(sent), ['low', 'medium', 'high']);
  });
});

describe('system prompts', () => {
  test('said inside the conversation stay in their place for a target that has none there', () => {
    const body = {
      model: 'm',
      messages: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'B' },
        { role: 'system', content: 'C' },
      ],
    };
    const sent = upstreamBody('chat', 'messages', body);
    assert.equal(sent.system, 'A');
    assert.deepEqual(sent.messages, [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'B' },
          { type: 'text', text: '<system>\nC\n</system>' },
        ],
      },
    ]);
    assert.equal(lane('chat', 'messages', body).warnings.length, 1);
  });

  test('alone are asked as the user', () => {
    const sent = upstreamBody('chat', 'messages', { model: 'm', messages: [{ role: 'system', content: 'A' }] });
    assert.deepEqual([sent.system, sent.messages], [undefined, [{ role: 'user', content: 'A' }]]);
  });
});

describe('structured output', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };

  test('is carried between all three formats', () => {
    const chat = {
      ...MINIMAL.chat,
      response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema } },
    };
    assert.deepEqual(upstreamBody('chat', 'messages', chat).output_config, { format: { type: 'json_schema', schema } });
    assert.deepEqual(upstreamBody('chat', 'responses', chat).text, {
      format: { type: 'json_schema', name: 'out', schema, strict: true },
    });
    const messages = { ...MINIMAL.messages, output_config: { format: { type: 'json_schema', schema } } };
    assert.deepEqual(upstreamBody('messages', 'chat', messages).response_format, {
      type: 'json_schema',
      json_schema: { name: 'output', schema, strict: true },
    });
  });
});

describe('a tool loop of a thinking model', () => {
  const signed = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    encrypted_content: packReasoning({ origin: 'messages', texts: ['Hm'], signature: 's' }),
  };
  const call = (id: string): JsonObject => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
  const output = (id: string): JsonObject => ({ type: 'function_call_output', call_id: id, output: 'ok' });
  const body = (...input: JsonObject[]): JsonObject => ({
    model: 'm',
    reasoning: { effort: 'low' },
    input: [{ role: 'user', content: 'x' }, ...input],
  });

  test('goes on thinking when its first step was signed, though later steps have no reasoning of their own', () => {
    const sent = upstreamBody('responses', 'messages', body(signed, call('a'), output('a'), call('b'), output('b')));
    assert.deepEqual(sent.thinking, { type: 'enabled', budget_tokens: 2048 });
    const without = upstreamBody('responses', 'messages', body(call('a'), output('a')));
    assert.equal(without.thinking, undefined);
  });
});

describe('broken arguments of an earlier call', () => {
  test('are kept as text, so that the conversation can go on', () => {
    const messages = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'not JSON' },
    ];
    const sent = upstreamBody('chat', 'messages', { model: 'm', messages });
    assert.match(JSON.stringify(sent.messages), /"input":\{"arguments":"\{\\"x\\":"\}/);
  });
});

describe('reasoning of another provider', () => {
  const packed = packReasoning({ origin: 'responses', texts: ['Hm'], encrypted: 'e' });
  const request = (body: JsonObject): ParsedBody => parseBody(Buffer.from(JSON.stringify(body)));

  test('[R43] do not reach a provider of the client’s own format, which could only refuse them', () => {
    const own = { type: 'thinking', thinking: 'Mine', signature: 'provider-signed' };
    const foreign = { type: 'thinking', thinking: 'Hm', signature: packed };
    const text = { type: 'text', text: `"${packed}` };
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [foreign, { type: 'redacted_thinking', data: packed }, own, text] },
      { role: 'assistant', content: [foreign] },
      { role: 'user', content: 'y' },
    ];
    const cleaned = stripPackedReasoning('messages', request({ ...MINIMAL.messages, messages }));
    assert.deepEqual(cleaned.body.messages, [messages[0], { role: 'assistant', content: [own, text] }, messages[3]]);
    assert.deepEqual(JSON.parse(cleaned.bytes.toString()), cleaned.body);
    const item = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: packReasoning({ origin: 'messages', texts: [] }),
    };
    const input = [{ role: 'user', content: 'x' }, item, { ...item, encrypted_content: 'own' }];
    const items = stripPackedReasoning('input', request({ ...MINIMAL.responses, input }));
    assert.deepEqual(items.body.input, [input[0], input[2]]);
  });

  test('a request without any is the same bytes', () => {
    const untouched = request({ ...MINIMAL.messages, messages: [{ role: 'user', content: `"${packed}"` }] });
    assert.equal(stripPackedReasoning('messages', untouched), untouched);
  });
});
