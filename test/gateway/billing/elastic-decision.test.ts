/** Which requests hold a slice and which their worst case: decided for each by what it asks and what its model is known for. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { ClientStream, settled } from '../../support/scripted-gateway.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { ScriptedServer } from '../../support/upstreams/scripted.ts';
import { SPEECH, spoken, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const OUTPUT_LIMIT = 8_000;
const FIRST_TOKENS = 2_048;

const provider = await ScriptedServer.start();
after(() => provider.close());

/** A model for each thing that may be known of one, on a provider for each format and on one for all. */
function configOf(settings: object = {}): string {
  const common = {
    kind: 'openai',
    base_url: `http://127.0.0.1:${provider.port}/v1`,
    api_key: 'sk-one-secret-0123',
    hosted_tools: {
      web_search: { per_1000_calls: 10, max_calls: 5 },
      web_search_20250305: { per_1000_calls: 10, max_calls: 5 },
    },
  };
  const model = (id: string, providers: readonly string[], known: object = {}, upstream = UPSTREAM_MODEL): object => ({
    id,
    targets: providers.map((name) => ({ provider: name, model: upstream })),
    context_window: 200_000,
    max_output_tokens: OUTPUT_LIMIT,
    pricing: { input: 1, output: 4 },
    ...known,
  });
  const reasons = { tools: true, images: true, structured_output: true, streaming: true };
  return JSON.stringify({
    providers: {
      native: { ...common, formats: ['chat', 'responses', 'messages'] },
      chat: { ...common, formats: ['chat'] },
      messages: { ...common, formats: ['messages'] },
    },
    models: [
      model('unknown', ['native']),
      model('plain', ['native'], { capabilities: { ...reasons, reasoning: false } }),
      model('reasoning', ['native'], { capabilities: { ...reasons, reasoning: true } }),
      model('visible', ['native'], { visible_output: true }),
      model('hidden', ['native'], { visible_output: false }),
      model('plain-but-hidden', ['native'], { visible_output: false, capabilities: { ...reasons, reasoning: false } }),
      model('on-chat', ['chat']),
      model('on-messages', ['messages']),
      model('on-both', ['messages', 'chat']),
      model('claude-4', ['messages'], {}, 'claude-opus-4-8'),
      model('claude-5', ['messages'], {}, 'claude-opus-5'),
    ],
    sandbox: false,
    routing: { max_attempts: 1 },
    limits: { drain: 1 },
    ...settings,
  });
}

/** What is held for a request while it runs, as far as it is for output. */
async function holdOf(gateway: StartedGateway, key: CreatedKey, client: Format, fields: object): Promise<string> {
  const limit = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' }[client];
  const body = SPEECH[client].request({ stream: true, [limit]: OUTPUT_LIMIT, ...fields });
  const stream = new ClientStream(key, client, body).read();
  const call = await Promise.race([provider.next(), stream.ended.then(({ text }) => assert.fail(`refused: ${text}`))]);
  const { reserved } = await gateway.admin.showKey(key.id);
  const target = call.requestLine.includes('/messages')
    ? 'messages'
    : call.requestLine.includes('/responses')
      ? 'responses'
      : 'chat';
  if ('stream' in body && body.stream === true) call.stream(spoken(target, 'Hi'));
  else call.reply(200, SPEECH[target].whole('Hi'));
  await stream.ended;
  await settled(gateway, key);
  const choices = 'n' in body ? Number(body.n) : 1;
  if (reserved >= choices * OUTPUT_LIMIT) return 'full';
  return reserved >= FIRST_TOKENS && reserved < OUTPUT_LIMIT ? 'elastic' : `${reserved} tokens`;
}

type Row = readonly [client: Format, model: string, fields: object, hold: 'elastic' | 'full'];

const THINKING = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
const effort = (client: Format, value: string): object =>
  client === 'chat' ? { reasoning_effort: value } : { reasoning: { effort: value } };

const ROWS: readonly Row[] = [
  ['messages', 'unknown', {}, 'elastic'],
  ['messages', 'unknown', { thinking: { type: 'disabled' } }, 'elastic'],
  ['messages', 'unknown', THINKING, 'full'],
  ['messages', 'unknown', { thinking: { type: 'adaptive' } }, 'full'],
  ['messages', 'reasoning', {}, 'elastic'],
  ['messages', 'reasoning', THINKING, 'full'],
  ['messages', 'on-chat', {}, 'full'],
  ['messages', 'on-both', {}, 'full'],
  ['messages', 'claude-4', {}, 'elastic'],
  ['messages', 'claude-5', {}, 'full'],
  ['messages', 'claude-5', { thinking: { type: 'disabled' } }, 'elastic'],
  ['messages', 'claude-4', { compaction: { type: 'summarize' } }, 'full'],
  ['messages', 'claude-4', { context_management: { edits: [{ type: 'compact_20260112' }] } }, 'full'],
  ['messages', 'claude-4', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 'elastic'],
  ['chat', 'claude-4', {}, 'elastic'],
  ['chat', 'claude-5', {}, 'full'],
  ['chat', 'claude-5', { reasoning_effort: 'none' }, 'elastic'],
  ['responses', 'visible', { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }, 'full'],
  ...(['chat', 'responses'] as const).flatMap((client): Row[] => [
    [client, 'unknown', {}, 'full'],
    [client, 'unknown', effort(client, 'none'), 'elastic'],
    [client, 'unknown', effort(client, 'low'), 'full'],
    [client, 'unknown', effort(client, 'high'), 'full'],
    [client, 'reasoning', {}, 'full'],
    [client, 'reasoning', effort(client, 'none'), 'elastic'],
    [client, 'on-messages', {}, 'elastic'],
    [client, 'on-messages', effort(client, 'none'), 'elastic'],
    [client, 'on-messages', effort(client, 'high'), 'full'],
    [client, 'on-both', {}, 'full'],
    [client, 'on-both', effort(client, 'none'), 'elastic'],
  ]),
  ...(['chat', 'responses', 'messages'] as const).flatMap((client): Row[] => [
    [client, 'plain', {}, 'elastic'],
    [client, 'visible', {}, 'elastic'],
    [client, 'visible', client === 'messages' ? THINKING : effort(client, 'high'), 'elastic'],
    [client, 'hidden', client === 'messages' ? {} : effort(client, 'none'), 'full'],
    [client, 'plain-but-hidden', {}, 'full'],
    [client, 'visible', { stream: false }, 'full'],
  ]),
  ['chat', 'visible', { n: 8 }, 'full'],
  ['chat', 'visible', { n: 1 }, 'elastic'],
  ['chat', 'visible', { prediction: { type: 'content', content: 'as before' } }, 'full'],
  ['chat', 'visible', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }, 'full'],
  ['chat', 'visible', { modalities: ['text', 'image'] }, 'full'],
  ['chat', 'visible', { modalities: ['text'], prediction: null }, 'elastic'],
  ['messages', 'visible', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'full'],
  ['messages', 'visible', { tools: [{ name: 'own', input_schema: { type: 'object' } }] }, 'elastic'],
  ['responses', 'visible', { tools: [{ type: 'web_search' }] }, 'full'],
];

function named([client, model, fields]: Row): string {
  return `${client}, model "${model}"${Object.keys(fields).length === 0 ? '' : `, ${JSON.stringify(fields)}`}`;
}

describe('by default', () => {
  let gateway: StartedGateway;
  let key: CreatedKey;
  before(async () => {
    gateway = await startedGateway({ config: configOf() });
    key = await gateway.tokenKey();
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const row of ROWS) {
    const [client, model, fields, hold] = row;
    test(`[R13] ${named(row)}: the hold is ${hold}`, async () => {
      assert.equal(await holdOf(gateway, key, client, { model, ...fields }), hold);
    });
  }
});

describe('with `holds: full`', () => {
  test('[R13] every request holds its worst case, except for the streams of keys in `elastic_keys`', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    try {
      await using first = await startedGateway({ config: configOf(), dataDir });
      const [named, other] = [await first.tokenKey(), await first.tokenKey()];
      await first.stop();
      await using gateway = await startedGateway({
        config: configOf({ holds: 'full', elastic_keys: [named.id] }),
        dataDir,
      });
      const at = (key: CreatedKey): CreatedKey => ({
        ...key,
        origin: key.origin.replace(first.origin, gateway.origin),
      });
      for (const client of ['chat', 'responses', 'messages'] as const) {
        assert.equal(await holdOf(gateway, at(other), client, { model: 'visible' }), 'full');
        assert.equal(await holdOf(gateway, at(named), client, { model: 'visible' }), 'elastic');
        assert.equal(await holdOf(gateway, at(named), client, { model: 'visible', stream: false }), 'full');
      }
      assert.equal(await holdOf(gateway, at(named), 'messages', { model: 'unknown', ...THINKING }), 'full');
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
