/** Models by pattern, aliases and hidden models of a config file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { modelReport, reportCells } from '../../../src/config/model-report.ts';
import { ConfigError } from '../../../src/config/problem.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function modelsOf(yaml: string) {
  const file = join(temporaryFolder(), 'gateway.yaml');
  writeFileSync(file, yaml);
  const settings = readSettings({ GATEWAY_CONFIG: file });
  const config = await loadConfig({
    settings,
    env: {},
    sandboxUrl: 'http://sandbox.invalid',
    now: new Date('2026-11-01'),
  });
  return config.catalog.models;
}

const PROVIDERS = 'providers: { openai: { api_key: x }, own: { kind: openai, base_url: "https://own.example/v1" } }\n';

describe('models by pattern', () => {
  test('are every model of the provider with a known price; what is named by itself counts', async () => {
    const models = await modelsOf(
      `${PROVIDERS}models:
  - { id: "openai/*", provider: openai, markup: 2, public: true }
  - { id: openai/gpt-4o, targets: [{ provider: openai, model: gpt-4o }], pricing: { input: 1, output: 1 } }
`,
    );
    const ids = [...models.keys()].filter((id) => id.startsWith('openai/'));
    assert.ok(ids.length > 20, ids.join(' '));
    const mini = models.get('openai/gpt-4o-mini');
    assert.deepEqual(mini?.targets[0]?.upstreamModel, 'gpt-4o-mini');
    assert.deepEqual([mini?.publishedPricing.input, mini?.public], [0.3, true]);
    assert.equal(models.get('openai/gpt-4o')?.publishedPricing.input, 1);
    const [row] = modelReport(mini === undefined ? [] : [mini]);
    assert.deepEqual([row?.pattern, row?.alias_of, row?.resolves_to], ['openai/*', null, ['openai gpt-4o-mini']]);
    assert.equal(row && reportCells(row).at(-1), 'openai gpt-4o-mini (openai/*)');
  });

  test('may be a part of the provider’s models', async () => {
    const models = await modelsOf(`${PROVIDERS}models: [{ id: "openai/gpt-4o*", provider: openai }]\n`);
    const ids = [...models.keys()].filter((id) => id.startsWith('openai/'));
    assert.ok(ids.length > 1 && ids.every((id) => id.startsWith('openai/gpt-4o')), ids.join(' '));
  });

  test('that fit nothing, or say what belongs to one model, are refused by name', async () => {
    const refused = (model: string, message: RegExp) =>
      assert.rejects(
        modelsOf(`${PROVIDERS}models: [${model}]\n`),
        (error) => error instanceof ConfigError && error.problems.length === 1 && message.test(error.message),
        model,
      );
    await refused('{ id: "openai/nothing*", provider: openai }', /fits no model of openai whose price is known/);
    await refused('{ id: "own/*", provider: own }', /fits no model of own whose price is known/);
    await refused(
      '{ id: "*", provider: openai }',
      /begins with its provider and ends with its only \*, like `openai\/\*`/,
    );
    await refused('{ id: "openai/*-mini", provider: openai }', /ends with its only \*/);
    await refused(
      '{ id: "openai/*", provider: openai, pricing: { input: 1, output: 1 } }',
      /models\[0\]\.pricing: belongs to one model, not to the pattern `openai\/\*`/,
    );
  });
});

describe('aliases', () => {
  test('are further ids of a model, with its targets, price and limits', async () => {
    const models = await modelsOf(
      `${PROVIDERS}models: [{ id: gpt-4o, provider: openai, aliases: [default, team/best], hidden: true }]\n`,
    );
    const [model, alias] = [models.get('gpt-4o'), models.get('default')];
    assert.ok(model !== undefined && alias !== undefined && models.has('team/best'));
    assert.deepEqual(alias, { ...model, id: 'default', origin: { kind: 'alias', of: 'gpt-4o' } });
    assert.equal(alias.targets[0].upstreamModel, 'gpt-4o');
    assert.equal(alias.hidden, true);
    const [row] = modelReport([alias]);
    assert.equal(row && reportCells(row).at(-1), 'openai gpt-4o (alias of gpt-4o)');
  });

  test('that are ids already are refused', async () => {
    const load = (aliases: string) =>
      modelsOf(
        `${PROVIDERS}models:\n  - { id: gpt-4o, provider: openai, aliases: [${aliases}] }\n  - { id: gpt-4o-mini, provider: openai }\n`,
      );
    await assert.rejects(load('gpt-4o-mini'), /models\[0\]\.aliases: `gpt-4o-mini` is an id already/);
    await assert.rejects(load('gpt-4o'), /`gpt-4o` is an id already/);
    await assert.rejects(load('sandbox/alpha'), /belongs to the built-in sandbox/);
  });
});
