/** Answers and the requests behind them: what is changed on the way, what is refused, what is sent on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndpointName } from '../../src/core/endpoints.ts';
import { NO_LOG } from '../../src/core/log.ts';
import {
  answerText,
  auditClean,
  bodyOf,
  events,
  GENERATIONS,
  type GenerationName,
  refusal,
  say,
  usage,
  visit,
} from '../support/requests.ts';
import { call, startedGateway, withGatedGateway } from '../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();
const credit = await gateway.creditKey();

/** Where an event of any format names the model, and where it carries text. */
interface StreamEvent {
  readonly model?: string;
  readonly response?: { readonly model: string };
  readonly message?: { readonly model: string };
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[];
  readonly delta?: string | { readonly text?: string };
}

describe('the model in an answer', () => {
  const OWN = { chat: 'alpha-sim', responses: 'alpha-sim', messages: 'beta-sim' } as const;

  test('[R38] is the one that the client asked for; the same words in the text stay as they are', async () => {
    for (const name of GENERATIONS) {
      const { model } = bodyOf(name) as { model: string };
      const response = await say(credit, name, '[[echo]]');
      assert.equal(((await response.clone().json()) as { model: string }).model, model);
      assert.equal(JSON.parse(await answerText(name, response)).model, OWN[name]);
    }
  });

  test('[R38] so it is in every event of a stream', async () => {
    for (const name of GENERATIONS) {
      const { model } = bodyOf(name) as { model: string };
      const stream = await (await say(credit, name, '[[echo]]', { stream: true })).text();
      const told = new Set<string>();
      let text = '';
      for (const event of events(stream) as StreamEvent[]) {
        const { model: named = event.response?.model ?? event.message?.model, choices, delta } = event;
        if (named !== undefined) told.add(named);
        text += choices?.[0]?.delta.content ?? (typeof delta === 'string' ? delta : (delta?.text ?? ''));
      }
      assert.deepEqual([...told], [model]);
      assert.equal(JSON.parse(text).model, OWN[name], 'the echoed text was left alone');
    }
    await auditClean(gateway);
  });
});

describe('streamed chat', () => {
  interface Chunk {
    readonly choices: readonly { readonly delta: { readonly content?: string } }[];
    readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  }

  async function chunks(extra: object): Promise<{ parts: Chunk[]; text: string }> {
    const stream = await (await say(credit, 'chat', '[[echo]]', { stream: true, ...extra })).text();
    const all = events(stream);
    assert.equal(all.pop(), '[DONE]');
    const parts = all as Chunk[];
    return { parts, text: parts.map(({ choices }) => choices[0]?.delta.content ?? '').join('') };
  }

  test('[R39] the gateway asks for usage, and removes the chunk again where the client did not ask', async () => {
    const before = await usage(credit);
    for (const extra of [{}, { stream_options: {} }, { stream_options: { include_usage: false } }]) {
      const { parts, text } = await chunks(extra);
      assert.equal(JSON.parse(text).stream_options.include_usage, true);
      assert.ok(parts.every(({ choices, usage: told }) => choices.length === 1 && !told));
    }
    const after = await usage(credit);
    assert.equal(after.requests.total, before.requests.total + 3);
    assert.ok(after.tokens.output > before.tokens.output, 'charged as reported all the same');
  });

  test('[R39] where the client asked, it gets the chunk', async () => {
    const { parts } = await chunks({ stream_options: { include_usage: true } });
    const last = parts.at(-1);
    assert.deepEqual(last?.choices, []);
    assert.ok(last?.usage && last.usage.completion_tokens > 0);
    assert.equal(parts.filter(({ usage: told }) => told).length, 1);
    await auditClean(gateway);
  });

  test('[R41] a whole response tells its usage where the provider does not, as it was charged', async () => {
    for (const model of ['sandbox/alpha', 'sandbox/beta']) {
      const key = await gateway.creditKey();
      const response = await say(key, 'responses', '[[usage=none]]', { model });
      const told = ((await response.json()) as { usage: { input_tokens: number } | null }).usage;
      assert.equal(typeof told, 'object');
      assert.equal(told?.input_tokens, (await usage(key)).tokens.input, model);
    }
  });

  test('streams carry Cache-Control: no-store and the event-stream type', async () => {
    for (const name of GENERATIONS) {
      const response = await say(credit, name, 'Hi', { stream: true });
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      await response.text();
    }
  });
});

describe('fields with rules of their own', () => {
  const refusedField = async (name: EndpointName, extra: object, param: string): Promise<string> => {
    const error = await refusal(say(credit, name, 'Hi', extra), name, 400, 'invalid_request');
    assert.equal(error.param, param, error.message);
    return error.message;
  };

  test('[R40] max_completion_tokens is an alias of max_tokens: same checks, and both must agree', async () => {
    const limited = await say(credit, 'chat', '[[tokens=50]]', { max_completion_tokens: 7 });
    const { usage: told } = (await limited.json()) as { usage: { completion_tokens: number } };
    assert.equal(told.completion_tokens, 7);
    await refusedField('chat', { max_completion_tokens: 0 }, 'max_completion_tokens');
    await refusedField('chat', { max_completion_tokens: 64_001 }, 'max_completion_tokens');
    assert.equal((await say(credit, 'chat', 'Hi', { max_tokens: 9, max_completion_tokens: 9 })).status, 200);
    const error = await refusal(
      say(credit, 'chat', 'Hi', { max_tokens: 9, max_completion_tokens: 8 }),
      'chat',
      400,
      'invalid_request',
    );
    assert.match(error.param ?? '', /^max_(completion_)?tokens$/);
  });

  test('[R42] the role system is refused in Format B in the words that clients know, and taken with anthropic-beta', async () => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Be kind' },
    ];
    for (const name of ['messages', 'count_tokens'] as const) {
      const message = await refusedField(name, { messages }, 'messages[1].role');
      assert.match(message, /Unexpected role/);
      assert.match(message, /input message role/);
      const body = bodyOf(name, '', { messages });
      const response = await visit(credit, name, { body, headers: { 'anthropic-beta': 'anything-2026' } });
      assert.equal(response.status, 200);
      const robot = { messages: [{ role: 'robot', content: 'Hi' }] };
      const beta = visit(credit, name, { body: bodyOf(name, '', robot), headers: { 'anthropic-beta': 'x' } });
      assert.equal((await refusal(beta, name, 400, 'invalid_request')).param, 'messages[0].role');
    }
    await auditClean(gateway);
  });

  test('[R60] what would reach state that this key did not make is refused by name', async () => {
    assert.match(await refusedField('responses', { background: true, store: false }, 'background'), /store: false/);
    await refusedField('responses', { previous_response_id: 'resp_1' }, 'previous_response_id');
    await refusedField('responses', { conversation: 'conv_1' }, 'conversation');
    const file = { type: 'input_file', file_id: 'file-1' };
    const input = [{ type: 'message', role: 'user', content: [file] }];
    const inResponses = await refusal(say(credit, 'responses', '', { input }), 'responses', 400, 'invalid_request');
    assert.match(inResponses.param ?? '', /^input\[0\]\.content\[0\]/);
    const part = { type: 'file', file: { file_id: 'file-1' } };
    const chat = say(credit, 'chat', '', { messages: [{ role: 'user', content: [part] }] });
    assert.match((await refusal(chat, 'chat', 400, 'invalid_request')).param ?? '', /^messages\[0\]\.content\[0\]/);
    const block = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
    const native = say(credit, 'messages', '', { messages: [{ role: 'user', content: [block] }] });
    const error = await refusal(native, 'messages', 400, 'invalid_request');
    assert.match(error.param ?? '', /^messages\[0\]\.content\[0\]/);
    assert.equal((await say(credit, 'responses', 'Hi', { background: false, previous_response_id: null })).status, 200);
    await auditClean(gateway);
  });

  test('[R60] a service tier or hosted tool without a configured price is refused by name', async () => {
    for (const name of GENERATIONS) {
      assert.match(await refusedField(name, { service_tier: 'priority' }, 'service_tier'), /priority/);
      assert.equal((await say(credit, name, 'Hi', { service_tier: 'auto' })).status, 200);
    }
    for (const [name, tool] of [
      ['responses', { type: 'web_search' }],
      ['messages', { type: 'web_search_20250305', name: 'web_search' }],
    ] as const) {
      const error = await refusal(say(credit, name, 'Hi', { tools: [tool] }), name, 400, 'invalid_request');
      assert.match(error.param ?? '', /^tools\[0\]/);
      assert.ok(error.message.includes(tool.type), error.message);
    }
    // Beside tools of the client's own, too, where it cannot be left out of a list of tools.
    const own = { name: 'f', parameters: { type: 'object', properties: {} } };
    for (const [name, extra, param] of [
      ['chat', { web_search_options: {}, tools: [{ type: 'function', function: own }] }, 'web_search_options'],
      [
        'messages',
        {
          mcp_servers: [{ type: 'url', name: 'm', url: 'https://m.example' }],
          tools: [{ name: 'f', input_schema: own.parameters }],
        },
        'mcp_servers',
      ],
      [
        'responses',
        {
          input: [
            { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] },
            { role: 'user', content: 'Hi' },
          ],
          tools: [{ type: 'function', ...own }],
        },
        'input[0].tools[0]',
      ],
    ] as const) {
      const error = await refusal(say(credit, name, 'Hi', extra), name, 400, 'invalid_request');
      assert.equal(error.param, param);
    }
    await auditClean(gateway);
  });

  test('[R43] a hosted tool beside others is left out with a warning; what the client runs itself stays', async () => {
    const warnings: string[] = [];
    const log = { ...NO_LOG, warn: (fields: object) => 'warnings' in fields && warnings.push(String(fields.warnings)) };
    await using logging = await startedGateway({ log });
    const key = await logging.creditKey();
    const own = [
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } },
      { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn', parameters: {} }] },
      { type: 'tool_search', execution: 'client', description: 'Finds tools', parameters: {} },
    ];
    const response = await say(key, 'responses', '[[echo]]', { tools: [...own, { type: 'web_search' }] });
    assert.deepEqual(JSON.parse(await answerText('responses', response)).tools, own);
    assert.deepEqual(warnings, ['tools[3]: the hosted tool "web_search" is left out, it has no configured price']);
    await auditClean(logging);
  });

  test('unknown fields and query parameters are accepted and sent on', async () => {
    for (const name of GENERATIONS) {
      const response = await say(credit, name, '[[echo]]', { some_new_field: { deep: [1, 2.5, 'x'] } });
      assert.equal(response.status, 200);
      assert.deepEqual(JSON.parse(await answerText(name, response)).some_new_field, { deep: [1, 2.5, 'x'] });
    }
    const beta = await call(`${credit.origin}/v1/messages?beta=true`, { key: credit.key, body: bodyOf('messages') });
    assert.equal(beta.status, 200);
    assert.equal((await call(`${credit.origin}/v1/models?limit=1000`, { key: credit.key })).status, 200);
  });
});

describe('headers sent on and sent back', () => {
  async function arrivedHeaders(
    name: GenerationName,
    headers: Record<string, string>,
  ): Promise<Record<string, string>> {
    const response = await visit(credit, name, { body: bodyOf(name, '[[headers]]'), headers });
    assert.equal(response.status, 200);
    return JSON.parse(await answerText(name, response));
  }

  test("[R44] compat-version is sent on as the provider's version header; absent, the native one, else the default", async () => {
    const given = await arrivedHeaders('messages', {
      'compat-version': 'any-thing',
      'anthropic-version': '2020-01-01',
    });
    assert.equal(given['anthropic-version'], 'any-thing');
    assert.equal('compat-version' in given, false);
    const native = await arrivedHeaders('messages', { 'anthropic-version': '2020-01-01' });
    assert.equal(native['anthropic-version'], '2020-01-01');
    assert.equal((await arrivedHeaders('messages', {}))['anthropic-version'], '2023-06-01');
    const count = await visit(credit, 'count_tokens', { headers: { 'compat-version': 'x' } });
    assert.equal(count.status, 200);
    const empty = await arrivedHeaders('messages', { 'compat-version': '', 'anthropic-beta': '' });
    assert.equal(empty['anthropic-version'], '2023-06-01');
    assert.equal('anthropic-beta' in empty, false);
    const both = await arrivedHeaders('messages', { 'compat-version': '', 'anthropic-version': '2020-01-01' });
    assert.equal(both['anthropic-version'], '2020-01-01');
    const beta = await arrivedHeaders('messages', { 'anthropic-beta': 'one,two' });
    assert.equal(beta['anthropic-beta'], 'one,two');
  });

  test("nothing else of the client's headers leaves, its credential least of all", async () => {
    const sent = {
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
      'x-custom': 'y',
      'Idempotency-Key': 'leave-me',
      te: 'trailers',
    };
    for (const name of GENERATIONS) {
      const arrived = await arrivedHeaders(name, { ...sent, 'Idempotency-Key': `leave-${name}` });
      assert.ok(!JSON.stringify(arrived).includes(credit.key));
      for (const header of Object.keys(sent)) assert.equal(header.toLowerCase() in arrived, false, header);
    }
  });

  test("[R61] of the provider's headers only the content type comes back", async () => {
    const OURS =
      /^(connection|keep-alive|date|content-length|transfer-encoding|content-type|cache-control|x-accel-buffering|x-request-id|request-id|x-gateway-attempts)$/;
    const answer = {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'gated-upstream',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
    const asked = say(credit, 'chat', 'go', { model: 'gated/one' });
    (await upstream.next()).reply(200, answer, {
      'content-type': 'application/json; charset=utf-8',
      'set-cookie': 'session=1',
      'x-request-id': 'provider-id',
      'x-ratelimit-remaining-requests': '99',
      'openai-organization': 'org-1',
      server: 'provider',
      via: 'x',
    });
    const whole = await asked;
    assert.equal(whole.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.notEqual(whole.headers.get('x-request-id'), 'provider-id');
    const responses = [whole];
    for (const name of GENERATIONS) {
      responses.push(await visit(credit, name), await say(credit, name, 'Hi', { stream: true }));
    }
    for (const response of responses) {
      for (const header of response.headers.keys()) assert.match(header, OURS);
      await response.text();
    }
    await auditClean(gateway);
  });
});
