/** What changes the cost is priced or refused by its name, on every path; what changes nothing passes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { auditClean, bodyOf, GENERATIONS, refusal, say, visit } from '../../support/requests.ts';
import { SocketClient } from '../../support/socket-client.ts';
import { withGateway } from '../../support/started-gateway.ts';

const gateway = await withGateway();

/** Both sandbox models for every format: one native, one translated. */
const MODELS = ['sandbox/alpha', 'sandbox/beta'];

const REFUSED: readonly (readonly [param: string, fields: object])[] = [
  ['speed', { speed: 'fast' }],
  ['inference_geo', { inference_geo: 'us' }],
  ['service_tier', { service_tier: 'priority' }],
  ['models', { models: ['another/model'] }],
  ['fallbacks', { fallbacks: [{ model: 'another/model' }] }],
  ['plugins', { plugins: [{ id: 'web' }] }],
  ['provider', { provider: { order: ['other'] } }],
  ['route', { route: 'fallback' }],
  ['transforms', { transforms: ['middle-out'] }],
  ['search_parameters', { search_parameters: { mode: 'auto' } }],
  ['providerOptions', { providerOptions: { gateway: { models: ['another/model'] } } }],
  ['cached_content', { cached_content: 'cachedContents/1' }],
  ['extra_body', { extra_body: { google: { cached_content: 'cachedContents/1' } } }],
  ['preset', { preset: 'mine' }],
  ['enable_search', { enable_search: true }],
  ['compound_custom', { compound_custom: { tools: { enabled_tools: ['web_search'] } } }],
  ['multi_agent', { multi_agent: { enabled: true } }],
  ['anthropic_beta', { anthropic_beta: ['oauth-2025-04-20', 'context-1m-2025-08-07'] }],
  ['betas', { betas: [' fast-mode-2026-02-01'] }],
  ['container', { container: 'container_1' }],
  ['thread', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
  ['prompt', { prompt: { id: 'pmpt_1' } }],
  ['data_sources', { data_sources: [{ type: 'azure_search', parameters: { index_name: 'operators' } }] }],
  ['dataSources', { dataSources: [{ type: 'AzureCognitiveSearch' }] }],
  ['enhancements', { enhancements: { ocr: { enabled: true } } }],
];

const PASSED: readonly object[] = [
  { speed: 'standard' },
  { service_tier: 'auto' },
  { models: [], fallbacks: [], plugins: [], transforms: [], provider: {} },
  { search_parameters: { mode: 'off' }, enable_search: false, multi_agent: { enabled: false }, compound_custom: {} },
  { anthropic_beta: ['oauth-2025-04-20'], betas: [], preset: null, providerOptions: {} },
  { data_sources: [], dataSources: [], enhancements: {} },
  { extra_body: { google: { thinking_config: { include_thoughts: true } } } },
  { speed: null, inference_geo: null, container: null, thread: null, prompt: null, models: null, route: null },
];

describe('[R60] fields that change the cost', () => {
  for (const name of GENERATIONS) {
    for (const model of MODELS) {
      test(`${name} to ${model}: without a price they are refused by name, and nothing is charged`, async () => {
        const key = await gateway.creditKey();
        for (const [param, fields] of REFUSED) {
          const error = await refusal(say(key, name, 'Hi', { model, ...fields }), name, 400, 'invalid_request');
          assert.equal(error.param, param);
          assert.match(error.message, new RegExp(param));
        }
        assert.equal((await gateway.admin.showKey(key.id)).used, 0);
      });

      test(`${name} to ${model}: values that change nothing pass`, async () => {
        const key = await gateway.creditKey();
        for (const fields of PASSED) {
          const response = await say(key, name, 'Hi', { model, ...fields });
          assert.equal(response.status, 200, `${JSON.stringify(fields)}: ${await response.text()}`);
        }
        await auditClean(gateway);
      });
    }
  }

  test('a stored prompt is refused for itself where nothing else is sent, with what to send instead', async () => {
    const key = await gateway.creditKey();
    const body = JSON.stringify({ model: 'sandbox/alpha', prompt: { id: 'pmpt_1' } });
    const error = await refusal(visit(key, 'responses', { body }), 'responses', 400, 'invalid_request');
    assert.equal(error.param, 'prompt');
    assert.match(error.message, /no stored prompts here. Send the text of the prompt in instructions and input/);
  });

  test('a beta that prices differently is refused by name, any other passes', async () => {
    const key = await gateway.creditKey();
    const send = (betas: string) => visit(key, 'messages', { headers: { 'anthropic-beta': betas } });
    for (const beta of ['fast-mode-2026-02-01', 'context-1m-2025-08-07']) {
      const error = await refusal(send(`oauth-2025-04-20, ${beta}`), 'messages', 400, 'invalid_request');
      assert.match(error.message, new RegExp(beta));
    }
    assert.equal((await send('oauth-2025-04-20,interleaved-thinking-2025-05-14')).status, 200);
  });

  test('a beta that prices differently is refused where a compaction is made here, too', async () => {
    const key = await gateway.creditKey();
    const betas = 'oauth-2025-04-20,fast-mode-2026-02-01';
    const input = [{ role: 'user', content: 'My colour is blue.' }, { type: 'compaction_trigger' }];
    for (const name of ['compact', 'responses'] as const) {
      const sent = { body: { model: 'sandbox/beta', input }, headers: { 'anthropic-beta': betas } };
      const error = await refusal(visit(key, name, sent), name, 400, 'invalid_request');
      assert.match(error.message, /fast-mode/);
    }
    await using client = await SocketClient.open(key, { headers: { 'anthropic-beta': betas } });
    const refused = (await client.create(input, { model: 'sandbox/beta' }).answer()).at(-1);
    assert.match(refused?.error?.message ?? '', /fast-mode/);
    assert.equal((await gateway.admin.showKey(key.id)).used, 0);
  });

  test('a second member of the same name hides nothing, wherever it is', async () => {
    const key = await gateway.creditKey();
    const hidden: readonly (readonly [name: (typeof GENERATIONS)[number], member: string, param: string])[] = [
      ['chat', '"tools":[{"type":"web_search","type":"function","function":{"name":"f"}}]', 'tools[0].type'],
      ['chat', '"search_parameters":{"mode":"on","mode":"off"}', 'search_parameters.mode'],
      ['chat', '"x":[{"a":{"n":1,"n":9}}]', 'x[0].a.n'],
      ['responses', '"reasoning":{"effort":"high","effort":"none"}', 'reasoning.effort'],
      ['responses', '"x":{"tools":[{"type":"namespace","tools":[],"t\\u006fols":[]}]}', 'x.tools[0].tools'],
      ['messages', '"thinking":{"type":"enabled","type":"disabled"}', 'thinking.type'],
      ['messages', '"system":[{"type":"tool_addition","text":"x","type":"text"}]', 'system[0].type'],
    ];
    for (const [name, member, param] of hidden) {
      const body = JSON.stringify(bodyOf(name)).replace('{', `{${member},`);
      const error = await refusal(visit(key, name, { body }), name, 400, 'invalid_request');
      assert.match(error.message, /more than once/);
      assert.equal(error.param, param);
    }
    assert.equal((await gateway.admin.showKey(key.id)).used, 0);
  });
});

describe('[R57] what a model lacks', () => {
  test('reasoning is refused by the name of the field that asks for it', async () => {
    const key = await gateway.creditKey();
    const tiny = { model: 'sandbox/tiny' };
    const asked: readonly (readonly ['chat' | 'responses' | 'messages', object, string])[] = [
      ['chat', { reasoning_effort: 'high' }, 'reasoning_effort'],
      ['responses', { reasoning: { effort: 'low' } }, 'reasoning.effort'],
      ['messages', { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 200 }, 'thinking'],
    ];
    for (const [name, fields, param] of asked) {
      const error = await refusal(say(key, name, 'Hi', { ...tiny, ...fields }), name, 400, 'invalid_request');
      assert.equal(error.param, param);
    }
    assert.equal((await say(key, 'chat', 'Hi', { ...tiny, reasoning_effort: 'none' })).status, 200);
    assert.equal((await say(key, 'messages', 'Hi', { ...tiny, thinking: { type: 'adaptive' } })).status, 200);
  });
});
