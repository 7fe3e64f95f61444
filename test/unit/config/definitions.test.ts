/** What operators have defined, beside what the file or the environment has. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DefinitionKind, StoredDefinition } from '../../../src/core/definition.ts';
import { configFolder } from './config-fixture.ts';

const PRICING = { input: 1, output: 2 };

function stored(kind: DefinitionKind, name: string, definition: StoredDefinition['definition']): StoredDefinition {
  return { kind, name, definition, version: 1, changedAtMs: 0, changedBy: 'ann' };
}

const HOUSE = stored('provider', 'house', { kind: 'openai', base_url: 'https://house.example/v1', api_key: 'sk-1' });

async function load(list: readonly StoredDefinition[], text: string | null, env: Record<string, string> = {}) {
  const folder = await configFolder();
  if (text !== null) await folder.write(text);
  const config = await folder.load({ env, stored: { revision: 7, list } });
  const states = config.stored.states.map(({ name, state, problem }) => [name, state, problem] as const);
  return { config, states };
}

describe('definitions of operators', () => {
  test('are added to what the environment offers, and count instead of what has the same name there', async () => {
    const own = stored('provider', 'groq', { api_key: 'sk-2' });
    const model = stored('model', 'mine', { provider: 'openai', targets: [{ provider: 'openai', model: 'gpt-5' }] });
    const env = { OPENAI_API_KEY: 'sk-env', GROQ_API_KEY: 'sk-env' };
    const { config, states } = await load([own, model, HOUSE], null, env);
    assert.deepEqual(
      states.map(([, state]) => state),
      ['in_use', 'in_use', 'in_use'],
    );
    assert.deepEqual(config.catalog.providers.get('groq')?.apiKeys, ['sk-2']);
    assert.deepEqual(config.catalog.providers.get('openai')?.apiKeys, ['sk-env']);
    const by = (kind: DefinitionKind, name: string) => config.definedBy[kind].get(name);
    assert.deepEqual(
      [by('provider', 'groq'), by('provider', 'openai'), by('model', 'mine')],
      ['api', 'environment', 'api'],
    );
    assert.equal(config.catalog.models.get('mine')?.publishedPricing.input, 1.25);
    assert.equal(config.stored.revision, 7);
  });

  test('take the mark-up of a provider of the file, and its models are told from the file’s', async () => {
    const file = `providers: { filed: { kind: openai, base_url: "https://f.example/v1", markup: 3 } }\n`;
    const { config } = await load([stored('model', 'm', { provider: 'filed', pricing: PRICING })], file);
    const model = config.catalog.models.get('m');
    assert.equal(model?.publishedPricing.input, 3);
    assert.equal(model?.sources.pricing.name, 'an operator');
  });

  test('that cannot be used are left out with the reason, those that need them as well, and the others serve', async () => {
    const list = [
      HOUSE,
      stored('provider', 'sealed', null),
      stored('provider', 'wrong', { kind: 'openai', base_url: 'https://w.example/v1', api_version: '1' }),
      stored('model', 'good', { provider: 'house', pricing: PRICING }),
      stored('model', 'needs-wrong', { provider: 'wrong', pricing: PRICING }),
      stored('model', 'unpriced', { provider: 'house' }),
      stored('model', 'takes-an-id', { provider: 'house', pricing: PRICING, aliases: ['sandbox/alpha'] }),
      stored('model', 'sandbox/beta', { provider: 'house', pricing: PRICING }),
    ];
    const { config, states } = await load(list, 'access_log: true\n');
    const of = Object.fromEntries(states.map(([name, state, problem]) => [name, `${state} ${problem}`]));
    assert.match(of.sealed ?? '', /^refused it was sealed with another secret/);
    assert.match(of.wrong ?? '', /^refused providers\.wrong\.api_version: belongs to kind azure only/);
    assert.match(
      of['needs-wrong'] ?? '',
      /^refused models\[\d\]\.provider: unknown provider `wrong`.*add it first: gateway providers add wrong/,
    );
    assert.match(of.unpriced ?? '', /^refused models\[\d\]\.pricing: is missing/);
    assert.match(of['takes-an-id'] ?? '', /^refused models\[\d\]\.aliases: `sandbox\/alpha` is an id already/);
    assert.match(of['sandbox/beta'] ?? '', /^shadowed /);
    assert.deepEqual([of.house, of.good], ['in_use null', 'in_use null']);
    assert.ok(config.catalog.models.has('good'));
    assert.equal(config.catalog.models.get('sandbox/alpha')?.provider, 'sandbox-a');
    assert.equal(config.catalog.providers.get('house')?.network.publicOnly, true);
  });
});
