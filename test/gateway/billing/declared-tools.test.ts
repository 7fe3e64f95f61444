/**
 * Every hosted tool × every place where a request can declare one: what it may call is held before it is called, or it is
 * refused by name. The upstream reports 21 tokens of input and 8 of output: 53,000 billionths of a credit.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { accountWhen, auditClean, refusal, visit } from '../../support/requests.ts';
import { ask, withScene } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

const PLAIN = 53_000;
/** 10 USD per thousand calls. */
const CALL = 10_000_000;
const MAX_CALLS = 3;
const PRICED = [
  ...['web_search', 'web_fetch', 'code_execution', 'advisor', 'tool_search_tool_regex', 'mcp', 'shiny_new'],
  ...['file_search', 'code_interpreter', 'image_generation', 'programmatic_tool_calling', 'tool_search', 'shell'],
];

const NAMES = FORMAT_NAMES.flatMap((format) => [`priced-${format}`, `bare-${format}`]);
const PRICES = Object.fromEntries(PRICED.map((type) => [type, { per_1000_calls: 10, max_calls: MAX_CALLS }]));
/** Models `priced-FORMAT` and `bare-FORMAT`, each on a provider of its own; tools have a price at the first alone. */
const { gateway, upstream } = await withScene({
  providers: Object.fromEntries(
    NAMES.map((name) => [
      name,
      { formats: [name.replace(/^.*-/, '')], hosted_tools: name.startsWith('bare') ? {} : PRICES },
    ]),
  ),
  models: [
    ...NAMES.map((name) => ({ id: name, provider: name })),
    ...FORMAT_NAMES.map((format) => ({
      id: `adviser-${format}`,
      provider: `priced-${format}`,
      upstream: 'upstream-adviser',
    })),
    { id: 'elsewhere', provider: 'bare-messages', upstream: 'upstream-elsewhere' },
  ],
});

type Members = Readonly<Record<string, unknown>>;

interface Place {
  /** The JSON path of the declaration. */
  readonly param: string;
  readonly body: (tool: object) => object;
  /** It tells of what was done before: a translation leaves it out. */
  readonly past?: boolean;
}

const user = (...content: object[]) => ({ role: 'user', content: [...content, { type: 'text', text: 'Hi' }] });
const definition = (tool: object) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition: tool } });

const PLACES: Readonly<Record<Format, readonly Place[]>> = {
  messages: [
    { param: 'tools[0]', body: (tool) => ({ tools: [tool] }) },
    {
      param: 'messages[1].content[0].tool.definition',
      body: (tool) => ({ messages: [user(), user(definition(tool))] }),
    },
    {
      param: 'messages[0].content[0].tool',
      body: (tool) => ({ messages: [user({ type: 'tool_addition', tool })] }),
    },
    {
      param: 'messages[0].content[0].tool_changes[1].tool.definition',
      body: (tool) => ({
        messages: [
          user({
            type: 'compaction',
            content: 'So far',
            tool_changes: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } }, definition(tool)],
          }),
        ],
      }),
    },
    { param: 'system[0].tool.definition', body: (tool) => ({ system: [definition(tool)] }) },
  ],
  responses: [
    { param: 'tools[0]', body: (tool) => ({ tools: [tool] }) },
    {
      param: 'tools[0].tools[1]',
      body: (tool) => ({
        tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', parameters: {} }, tool] }],
      }),
    },
    {
      param: 'input[0].tools[0]',
      body: (tool) => ({
        input: [
          { type: 'additional_tools', role: 'developer', tools: [tool] },
          { role: 'user', content: 'Hi' },
        ],
      }),
    },
    {
      param: 'input[1].tools[0].tools[0]',
      past: true,
      body: (tool) => ({
        input: [
          { role: 'user', content: 'Hi' },
          {
            type: 'tool_search_output',
            execution: 'server',
            call_id: null,
            tools: [{ type: 'namespace', name: 'n', description: 'd', tools: [tool] }],
          },
        ],
      }),
    },
  ],
  chat: [
    { param: 'tools[0]', body: (tool) => ({ tools: [tool] }) },
    {
      param: 'messages[0].tools[0]',
      body: (tool) => ({ messages: [{ role: 'system', content: '', tools: [tool] }, user()] }),
    },
  ],
};

/** Each with the name that a usage report has for its calls. */
const TOOLS: Readonly<Record<Format, readonly (readonly [tool: Members, reported: string])[]>> = {
  messages: [
    [{ type: 'web_search_20250305', name: 'web_search' }, 'web_search'],
    [{ type: 'web_search_20990101', name: 'web_search', max_uses: null }, 'web_search'],
    [{ type: 'web_fetch_20260318', name: 'web_fetch', max_uses: 99 }, 'web_fetch'],
    [{ type: 'code_execution_20260521', name: 'code_execution' }, 'code_execution'],
    [{ type: 'advisor_20260301', name: 'advisor', model: 'adviser-messages' }, 'advisor'],
    [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }, 'tool_search_tool_regex'],
    [{ type: 'mcp_toolset', mcp_server_name: 'm' }, 'mcp'],
    [{ type: 'shiny_new_20990101', name: 'shiny_new' }, 'shiny_new'],
  ],
  responses: [
    [{ type: 'web_search' }, 'web_search'],
    [{ type: 'web_search_2025_08_26' }, 'web_search'],
    [{ type: 'web_search_preview_2025_03_11' }, 'web_search'],
    [{ type: 'file_search', vector_store_ids: [] }, 'file_search'],
    [{ type: 'code_interpreter', container: { type: 'auto' } }, 'code_interpreter'],
    [{ type: 'image_generation', model: 'adviser-responses', svg: { model: 'adviser-responses' } }, 'image_generation'],
    [{ type: 'mcp', server_label: 'm', server_url: 'https://m.example' }, 'mcp'],
    [{ type: 'shell', environment: { type: 'container_auto' } }, 'shell'],
    [{ type: 'tool_search' }, 'tool_search'],
    [{ type: 'programmatic_tool_calling' }, 'programmatic_tool_calling'],
  ],
  chat: [
    [{ type: 'web_search', web_search: { enable: true } }, 'web_search'],
    [{ type: 'mcp', server_label: 'm' }, 'mcp'],
  ],
};

/** The value at a JSON path. */
function at(body: unknown, param: string): Members {
  const steps = param.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.reduce((value: unknown, step) => (value as Members)[step], body) as Members;
}

function answering(format: Format, counts: Members): (call: ScriptedCall) => void {
  return (call) => {
    const whole = SPEECH[format].whole('Hi') as { readonly usage: object };
    call.reply(200, { ...whole, usage: { ...whole.usage, server_tool_use: counts } });
  };
}

async function chargeOf(key: CreatedKey): Promise<number> {
  const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  return Math.round(used * 1e9);
}

/** Sends the request; the answer reports as many calls as the hold may carry. */
async function sent(format: Format, body: object, reported: string): Promise<{ body: Members; charge: number }> {
  const key = await gateway.creditKey();
  let seen: Members = {};
  upstream.answer = (call) => {
    seen = call.body;
    answering(format, { [`${reported}_requests`]: MAX_CALLS })(call);
  };
  const before = (await gateway.audit()).flagged;
  const answer = await ask(key, format, { model: `priced-${format}`, ...body });
  assert.equal(answer.status, 200, answer.text);
  const charge = await chargeOf(key);
  assert.equal((await gateway.audit()).flagged, before, 'the charge was within the hold, and everything had a price');
  return { body: seen, charge };
}

describe('[R60] [F51] a hosted tool, wherever it is declared', () => {
  for (const format of FORMAT_NAMES) {
    for (const { param, body, past } of PLACES[format]) {
      test(`${format}, ${param}: its calls are held, bounded and charged`, async () => {
        for (const [tool, reported] of TOOLS[format]) {
          const { body: received, charge } = await sent(format, body(tool), reported);
          assert.equal(charge, PLAIN + MAX_CALLS * CALL, String(tool.type));
          const declared = at(received, param);
          assert.equal(declared.type, tool.type);
          if (format === 'responses') assert.equal(received.max_tool_calls, MAX_CALLS);
          if (format === 'messages' && /^(web|advisor)_/.test(String(tool.type))) {
            assert.equal(declared.max_uses, MAX_CALLS);
          }
          if ('model' in tool) assert.equal(declared.model, 'upstream-adviser');
          if ('svg' in tool) assert.deepEqual(declared.svg, { model: 'upstream-adviser' });
        }
        await auditClean(gateway);
      });

      for (const target of past ? [format] : FORMAT_NAMES) {
        test(`${format} to ${target}, ${param}: without a price it is refused by its path`, async () => {
          const key = await gateway.creditKey();
          upstream.answer = (call) => call.reply(500, {});
          for (const [tool] of TOOLS[format]) {
            const wanted = { ...SPEECH[format].request({ model: `bare-${target}`, ...body(tool) }) };
            const reply = visit(key, format, { body: JSON.stringify(wanted) });
            const error = await refusal(reply, format, 400, 'invalid_request');
            assert.equal(error.param, param);
            assert.ok(error.message.includes(String(tool.type)), error.message);
          }
          assert.equal(await chargeOf(key), 0);
        });
      }
    }
  }

  test('tools that the client runs pass, wherever they are declared', async () => {
    const types = ['browser_toolset_20260801', 'computer_toolset_20260801', 'computer_20251124', 'bash_20250124'];
    for (const type of [...types, 'text_editor_20250728', 'memory_20250818', 'custom']) {
      for (const { body } of PLACES.messages) {
        upstream.answer = answering('messages', {});
        const tool = { type, name: 'f', input_schema: { type: 'object' } };
        const answer = await ask(await gateway.creditKey(), 'messages', { model: 'bare-messages', ...body(tool) });
        assert.equal(answer.status, 200, `${type}: ${answer.text}`);
      }
    }
  });

  test('what only looks like a tool of the client is not one', async () => {
    const key = await gateway.creditKey();
    for (const type of [
      'bash_code_execution_20990101',
      'memory_search',
      'Custom',
      'WEB_SEARCH_20250305',
      'computer_',
    ]) {
      const body = JSON.stringify(SPEECH.messages.request({ model: 'bare-messages', tools: [{ type, name: 'f' }] }));
      const error = await refusal(visit(key, 'messages', { body }), 'messages', 400, 'invalid_request');
      assert.equal(error.param, 'tools[0]', type);
    }
  });

  test('a declaration inside a result, where no format has one, is refused whether it has a price or not', async () => {
    const key = await gateway.creditKey();
    const [tool] = TOOLS.messages[0] ?? [];
    const result = {
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'x', content: [definition(tool ?? {})] }],
    };
    for (const model of ['priced-messages', 'bare-messages', 'priced-chat']) {
      const body = JSON.stringify(SPEECH.messages.request({ model, messages: [user(result)] }));
      const error = await refusal(visit(key, 'messages', { body }), 'messages', 400, 'invalid_request');
      assert.equal(error.param, 'messages[0].content[0].content[0].content[0].tool.definition');
    }
  });

  test('several declarations share the calls of one request; too many are refused', async () => {
    const tool = { type: 'web_search_20250305', name: 'web_search' };
    const newer = { ...tool, type: 'web_search_20260318', max_uses: 50 };
    const twice = { tools: [tool], messages: [user(definition(newer))] };
    const { body } = await sent('messages', twice, 'web_search');
    assert.equal(at(body, 'tools[0]').max_uses, 1);
    assert.equal(at(body, 'messages[0].content[0].tool.definition').max_uses, 1);
    const often = { tools: [tool], messages: [user(definition(tool), definition(tool), definition(newer))] };
    const text = JSON.stringify(SPEECH.messages.request({ model: 'priced-messages', ...often }));
    const error = await refusal(
      visit(await gateway.creditKey(), 'messages', { body: text }),
      'messages',
      400,
      'invalid_request',
    );
    assert.equal(error.param, 'tools[0]');
  });
});

describe('[R60] a model that a tool names', () => {
  const advisor = (model: string) => ({ tools: [{ type: 'advisor_20260301', name: 'advisor', model }] });
  const refused = async (key: CreatedKey, body: object, status: number, code: string) => {
    const text = JSON.stringify(SPEECH.messages.request({ model: 'priced-messages', ...body }));
    return refusal(visit(key, 'messages', { body: text }), 'messages', status, code);
  };

  test('must be in the catalog, served by the same provider, and allowed to the key', async () => {
    upstream.answer = (call) => call.reply(500, {});
    const key = await gateway.creditKey();
    const param = 'tools[0].model';
    assert.equal((await refused(key, advisor('upstream-adviser'), 404, 'model_not_found')).param, param);
    assert.equal((await refused(key, advisor('elsewhere'), 400, 'invalid_request')).param, param);
    const limited = await gateway.creditKey({ models: ['priced-messages'] });
    assert.equal((await refused(limited, advisor('adviser-messages'), 403, 'key_disabled')).param, param);
    const inline = { messages: [user(definition(advisor('adviser-messages').tools[0] ?? {}))] };
    const error = await refused(limited, inline, 403, 'key_disabled');
    assert.equal(error.param, 'messages[0].content[0].tool.definition.model');
    assert.equal(await chargeOf(limited), 0);
  });
});

describe('[R60] what is stored at the provider', () => {
  test('cannot be given to a hosted tool', async () => {
    const key = await gateway.creditKey();
    for (const [tool, name] of [
      [{ type: 'code_interpreter', container: 'cntr_1' }, 'container'],
      [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file_1'] } }, 'container'],
      [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }, 'environment'],
      [{ type: 'image_generation', input_image_mask: { file_id: 'file_1' } }, 'input_image_mask'],
    ] as const) {
      for (const { param, body } of PLACES.responses) {
        const text = JSON.stringify(SPEECH.responses.request({ model: 'priced-responses', ...body(tool) }));
        const error = await refusal(visit(key, 'responses', { body: text }), 'responses', 400, 'invalid_request');
        assert.equal(error.param, `${param}.${name}`);
      }
    }
  });
});

describe('[R81] a tool without a price that a conversation declares for its own format', () => {
  const tool = { type: 'web_search_20250305', name: 'web_search' };
  const added = user(definition(tool));
  const own = [{ name: 'f', input_schema: { type: 'object', properties: {} } }];

  test('is left out by a translation where an answer follows it, and no session is locked', async () => {
    const key = await gateway.creditKey();
    const messages = [added, { role: 'assistant', content: 'Hello.' }, user()];
    let sent = '';
    upstream.answer = (call) => {
      sent = JSON.stringify(call.body);
      call.reply(200, SPEECH.chat.whole('Hi'));
    };
    const answer = await ask(key, 'messages', { model: 'bare-chat', tools: own, messages });
    assert.equal(answer.status, 200, answer.text);
    assert.match(sent, /Hello\./);
    assert.doesNotMatch(sent, /web_search/);
    assert.equal(answer.headers['x-gateway-warnings'], 'left_out;param=messages[0].content[0].tool.definition');
  });

  test('that a search of the provider has found is left out too', async () => {
    const found = { type: 'tool_search_output', execution: 'server', call_id: null, tools: [{ type: 'web_search' }] };
    const input = [{ role: 'user', content: 'Hi' }, found, { role: 'user', content: 'Go on.' }];
    upstream.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    const answer = await ask(await gateway.creditKey(), 'responses', { model: 'bare-chat', input });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['x-gateway-warnings'], 'left_out;param=input[1]');
  });

  test('is refused where the provider would run it', async () => {
    const key = await gateway.creditKey();
    const messages = [added, { role: 'assistant', content: 'Hello.' }, user()];
    const body = { model: 'bare-messages', max_tokens: 64, tools: own, messages };
    const { param } = await refusal(visit(key, 'messages', { body }), 'messages', 400, 'invalid_request');
    assert.equal(param, 'messages[0].content[0].tool.definition');
  });
});
