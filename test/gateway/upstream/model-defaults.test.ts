/** Default parameters of a model: what reaches the provider, what is charged, and what a config file may say. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { readSettings } from '../../../src/config/settings.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import type { Model, ModelDefaults } from '../../../src/core/model.ts';
import { withDefaults } from '../../../src/exchange/model-defaults.ts';
import { parseBody } from '../../../src/wire/json/parse-request.ts';
import { ask, configText, type ScriptedGateway, scriptedGateway, settled } from '../../support/scripted-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

describe('a gateway with defaults', () => {
  let fixture: ScriptedGateway;
  before(async () => {
    fixture = await scriptedGateway({
      provider: { formats: ['chat', 'responses'] },
      model: {
        multipliers: { service_tier: { priority: 3 } },
        defaults: {
          temperature: 0.2,
          max_output_tokens: 500,
          reasoning_effort: 'low',
          verbosity: 'low',
          stop: ['END'],
          service_tier: 'priority',
        },
      },
    });
  });
  after(() => fixture[Symbol.asyncDispose]());

  async function sentFor(format: Format, extra: object = {}): Promise<Record<string, unknown>> {
    const key = await fixture.gateway.creditKey();
    const sent: Record<string, unknown>[] = [];
    fixture.first.answer = (call) => {
      sent.push(call.body);
      call.reply(200, SPEECH['input' in call.body ? 'responses' : 'chat'].whole('Hi'));
    };
    const { status, text } = await ask(key, format, extra);
    assert.equal(status, 200, text);
    const [body] = sent;
    assert.ok(body !== undefined && sent.length === 1);
    return body;
  }

  test('sends them where the client said nothing, in the fields of each format', async () => {
    const chat = await sentFor('chat', { max_tokens: undefined });
    assert.deepEqual(
      [chat.temperature, chat.max_completion_tokens ?? chat.max_tokens, chat.reasoning_effort, chat.verbosity],
      [0.2, 500, 'low', 'low'],
    );
    assert.deepEqual([chat.stop, chat.service_tier], [['END'], 'priority']);
    const responses = await sentFor('responses', { max_output_tokens: undefined, text: { format: { type: 'text' } } });
    assert.deepEqual([responses.temperature, responses.max_output_tokens], [0.2, 500]);
    assert.deepEqual(responses.reasoning, { effort: 'low' });
    assert.deepEqual(responses.text, { format: { type: 'text' }, verbosity: 'low' });
    assert.equal('stop' in responses, false);
    // Translated, as if the client had said it.
    const messages = await sentFor('messages', { max_tokens: undefined });
    assert.deepEqual([messages.temperature, messages.service_tier], [0.2, 'priority']);
    assert.equal((messages.reasoning as { effort?: string } | undefined)?.effort, 'low');
    assert.equal(messages.max_output_tokens, 500);
  });

  test('leaves what the client said, and null counts as nothing said', async () => {
    const said = await sentFor('chat', { temperature: 1.5, max_tokens: 64, reasoning_effort: 'high', stop: 'x' });
    assert.deepEqual(
      [said.temperature, said.max_completion_tokens ?? said.max_tokens, said.reasoning_effort, said.stop],
      [1.5, 64, 'high', 'x'],
    );
    assert.equal((await sentFor('chat', { temperature: null })).temperature, 0.2);
    // How tokens are drawn is one choice.
    assert.equal('temperature' in (await sentFor('chat', { top_p: 0.5 })), false);
  });

  test('charges by the price of what a default asks for', async () => {
    const used = async (extra: object): Promise<number> => {
      const key = await fixture.gateway.creditKey();
      fixture.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
      assert.equal((await ask(key, 'chat', extra)).status, 200);
      return (await settled(fixture.gateway, key)).used;
    };
    const plain = await used({ service_tier: 'default' });
    assert.ok(plain > 0);
    assert.equal((await used({})).toFixed(9), (plain * 3).toFixed(9));
  });

  test('never refuses a client for a default: a lower limit of the key bounds it', async () => {
    const key = await fixture.gateway.creditKey({ output_limit: 100 });
    let sent: Record<string, unknown> = {};
    fixture.first.answer = (call) => {
      sent = call.body;
      call.reply(200, SPEECH.chat.whole('Hi'));
    };
    assert.equal((await ask(key, 'chat', { max_tokens: undefined })).status, 200);
    assert.equal(sent.max_completion_tokens ?? sent.max_tokens, 100);
  });
});

function modelWith(defaults: ModelDefaults, targets: readonly [Format, string][]): ReadonlyMap<string, Model> {
  const listed = targets.map(([format, upstreamModel]) => ({ provider: 'one', upstreamModel, format, weight: 1 }));
  return new Map([['tested', { id: 'tested', defaults, targets: listed } as unknown as Model]]);
}

function bodyOf(fields: object) {
  return parseBody(Buffer.from(JSON.stringify({ model: 'tested', ...fields })));
}

describe('the body of a request', () => {
  test('is the same object where no default applies', () => {
    const models = modelWith({ temperature: 0.2, seed: 7 }, [['chat', 'm']]);
    const all = bodyOf({ temperature: 0, seed: 1 });
    assert.equal(withDefaults(all, 'chat', models), all);
    const other = bodyOf({ model: 'another' });
    assert.equal(withDefaults(other, 'chat', models), other);
    // The format has no field for it, or the client has chosen how tokens are drawn.
    const drawn = bodyOf({ top_p: 1 });
    assert.equal(withDefaults(drawn, 'responses', models), drawn);
    for (const format of FORMAT_NAMES) {
      const broken = bodyOf({ model: 7 });
      assert.equal(withDefaults(broken, format, models), broken);
    }
  });

  test('keeps the bytes that the client sent, beside the ones that are judged', () => {
    const parsed = bodyOf({ messages: [] });
    const changed = withDefaults(parsed, 'chat', modelWith({ seed: 7 }, [['chat', 'm']]));
    assert.equal(changed.received, parsed.bytes);
    assert.equal(changed.bytes.toString(), '{"seed":7,"model":"tested","messages":[]}');
  });

  test('gets in the messages format only what the format and the model take', () => {
    const defaults = { temperature: 1.7, top_k: 5, reasoning_effort: 'minimal' } as const;
    const read = (upstreamModel: string, fields: object = {}) => {
      const { model: _model, ...body } = withDefaults(
        bodyOf(fields),
        'messages',
        modelWith(defaults, [['messages', upstreamModel]]),
      ).body;
      return body;
    };
    // Thinks by a budget: an effort would be refused.
    assert.deepEqual(read('claude-sonnet-4-0'), { temperature: 1, top_k: 5 });
    assert.deepEqual(read('claude-opus-4-6'), { temperature: 1, top_k: 5, output_config: { effort: 'low' } });
    // Takes no sampling settings.
    assert.deepEqual(read('claude-opus-4-8'), { output_config: { effort: 'low' } });
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    assert.deepEqual(read('claude-opus-4-6', { thinking }), { thinking });
    assert.deepEqual(read('claude-opus-4-6', { thinking: { type: 'disabled' } }).temperature, 1);
    assert.deepEqual(read('claude-opus-4-6', { output_config: { effort: 'max' } }).output_config, { effort: 'max' });
  });
});

describe('the config file', () => {
  async function load(model: object, provider: object = {}) {
    const file = join(temporaryFolder(), 'gateway.yaml');
    const own = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', formats: ['chat', 'messages'], ...provider };
    writeFileSync(file, configText({ providers: { own }, targets: [{ provider: 'own' }], model }));
    const settings = readSettings({ GATEWAY_CONFIG: file });
    return (await loadConfig({ settings, env: {}, sandboxUrl: null })).catalog;
  }

  test('refuses what is no default, contradicts itself, or costs more without a price', async () => {
    const refused = (model: object, message: RegExp, provider?: object) =>
      assert.rejects(load(model, provider), message);
    for (const name of ['stream', 'model', 'messages', 'n', 'tools']) {
      await refused(
        { defaults: { [name]: 1 } },
        new RegExp(`models\\[0\\]\\.defaults: unknown key .${name}. \\(known: temperature`),
      );
    }
    await refused({ defaults: { temperature: 3 } }, /models\[0\]\.defaults\.temperature/);
    await refused(
      { defaults: { max_output_tokens: 9_000 } },
      /defaults\.max_output_tokens: must not exceed max_output_tokens of the model \(8000\)/,
    );
    await refused(
      { capabilities: { reasoning: false }, defaults: { reasoning_effort: 'low' } },
      /defaults\.reasoning_effort: contradicts/,
    );
    await refused({ defaults: { service_tier: 'priority' } }, /service_tier: "priority" has no price at own/);
    const priced = { multipliers: { service_tier: { priority: 2 } }, defaults: { service_tier: 'priority' } };
    await refused(priced, /"priority" cannot be asked for at own in the messages format/);
    assert.equal((await load(priced, { formats: ['chat'] })).models.get('tested')?.defaults?.service_tier, 'priority');
  });

  test('gives them to every model of a pattern and to every alias; without any, no request looks', async () => {
    assert.equal((await load({})).withDefaults, null);
    const catalog = await load({ aliases: ['other'], defaults: { temperature: 0.2 } });
    assert.deepEqual([...(catalog.withDefaults?.keys() ?? [])], ['tested', 'other']);
    const pattern = { id: 'openai/gpt-4o*', provider: 'openai', targets: undefined, pricing: undefined };
    const file = join(temporaryFolder(), 'gateway.yaml');
    writeFileSync(
      file,
      configText({
        providers: { openai: { api_key: 'x' } },
        targets: [],
        model: { ...pattern, defaults: { seed: 1 } },
      }),
    );
    const loaded = await loadConfig({ settings: readSettings({ GATEWAY_CONFIG: file }), env: {}, sandboxUrl: null });
    assert.ok((loaded.catalog.withDefaults?.size ?? 0) > 1);
    assert.deepEqual(loaded.catalog.models.get('openai/gpt-4o-mini')?.defaults, { seed: 1 });
  });
});
