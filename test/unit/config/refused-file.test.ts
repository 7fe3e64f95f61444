/** What a config file may not say, and what is told of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '../../../src/config/problem.ts';
import { configFolder } from './config-fixture.ts';

async function problemsOf(text: string): Promise<readonly string[]> {
  try {
    const folder = await configFolder();
    await folder.write(text);
    await folder.load();
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map((line) => line.replace(/^.*gateway\.yaml: /, ''));
  }
  return [];
}

describe('what a file may not say', () => {
  const free = 'pricing: { input: 0, output: 0 }';
  const p = "p: { kind: openai, base_url: 'http://127.0.0.1:1/v1' }";
  const wrong: readonly (readonly [string, string])[] = [
    [
      `providers: { ${p} }\nmodels: [{ id: mystery, provider: p }]`,
      'models[0].pricing: is missing and no published price is known: give input and output in USD per million tokens (0 and 0 for free)',
    ],
    [
      `providers: { ${p} }\nmodels: [{ id: a, provider: p, ${free} }, { id: a, provider: p, ${free} }]`,
      'models[1].id: `a` is already the id of models[0]',
    ],
    [
      `providers: { ${p} }\nmodels: [{ id: sandbox/alpha, provider: p, ${free} }]`,
      'models[0].id: `sandbox/alpha` belongs to the built-in sandbox (`sandbox: false` frees it)',
    ],
    [
      'providers: { sandbox-a: { kind: openai } }',
      'providers.sandbox-a: the name `sandbox-a` belongs to the built-in sandbox (`sandbox: false` frees it)',
    ],
    [
      `providers: { openai: {} }\nmodels: [{ id: a, targets: [{ provider: opnai }], ${free} }]`,
      'models[0].targets[0].provider: unknown provider `opnai`: did you mean `openai`?',
    ],
    [
      'models: [{ id: "openai/*", provider: openai }, { id: a, provider: openai, aliases: [b, c] }]',
      `models[0].provider: unknown provider \`openai\`: the file defines none. Add \`openai: { api_key: "\${OPENAI_API_KEY}" }\` to its \`providers\``,
    ],
    [
      `providers: { ${p} }\nmodels: [{ id: a, provider: house, ${free} }]`,
      'models[0].provider: unknown provider `house`: the file defines p. Add `house: { kind: …, base_url: … }` to its `providers`',
    ],
    [
      `providers: { ${p}, openai: {} }\nmodels: [{ id: a, provider: openai, targets: [{ provider: p }], ${free} }]`,
      'models[0].provider: must be the provider of a target: p',
    ],
    [
      `providers: { ${p} }\nmodels: [{ id: a, targets: [{ provider: p, format: responses }], ${free} }]`,
      'models[0].targets[0].format: must be one of chat, the formats of p (its `formats` can add more)',
    ],
    [
      `providers: { ${p} }\nmodels: [{ id: a, ${free} }]`,
      'models[0]: the key `provider` is missing (or `targets`, each with its provider)',
    ],
    [
      'providers: { x: {} }',
      'providers.x: the key `kind` is missing: expected one of openai, azure, anthropic, ai-sdk',
    ],
    [
      'providers: { x: { kind: azure } }',
      'providers.x: the key `base_url` is missing: kind azure has no default address',
    ],
    [
      'providers: { x: { kind: ai-sdk } }',
      'providers.x: the key `package` is missing: the provider package to use, e.g. @ai-sdk/google',
    ],
    ['providers: { all: { kind: openai } }', 'providers.all: `all` is reserved: in scopes it means every provider'],
    [
      "providers: { anthropic: { base_url: 'https://api.anthropic.com/v1/' } }",
      'providers.anthropic.base_url: must end before /v1, which the gateway adds',
    ],
    [
      "providers: { x: { kind: openai, base_url: 'http://h/v1/chat/completions' } }",
      'providers.x.base_url: must end before /chat/completions, which the gateway adds',
    ],
    [
      "providers: { x: { kind: openai, base_url: 'http://user:secret@h/v1' } }",
      'providers.x.base_url: must not contain a user or password: use api_key or headers',
    ],
    [
      'providers: { openai: { api_key: a, api_keys: [b] } }',
      'providers.openai.api_keys: cannot be combined with api_key: give one of the two',
    ],
    [
      'providers: { anthropic: { formats: [chat] } }',
      'providers.anthropic.formats: kind anthropic does not support chat: expected one of messages',
    ],
    [
      'providers: { openai: { headers: { Host: x } } }',
      'providers.openai.headers: `Host` is set by the gateway itself',
    ],
    [
      'providers: { openai: { count_tokens: true } }',
      'providers.openai.count_tokens: must be false: only providers with the messages or responses format count tokens',
    ],
    ['limits: { headers_timeout: 150 }', 'limits.headers_timeout: must not be longer than limits.body_timeout (120)'],
    ['providers: { openai: { api_version: v1 } }', 'providers.openai.api_version: belongs to kind azure only'],
    [
      `providers: { ${p} }\nmodels: [{ id: a, provider: p, pricing: { input: 1, output: 1, tiers: [{ from_input_tokens: 9, input: 2 }, { from_input_tokens: 9, input: 3 }] } }]`,
      'models[0].pricing.tiers: must not repeat from_input_tokens',
    ],
  ];
  for (const [text, line] of wrong) {
    test(`refused: ${line}`, async () => assert.deepEqual(await problemsOf(text), [line]));
  }

  test('a file that was named must exist; one that was not may be missing', async () => {
    const named = await configFolder(true);
    await assert.rejects(named.load(), {
      name: 'ConfigError',
      message: `${named.file}: does not exist, but GATEWAY_CONFIG names it`,
    });
  });

  test('a folder in the place of the file is told as such', async () => {
    const { settings, load } = await configFolder();
    await assert.rejects(load({ settings: { ...settings, configFile: '/' } }), /cannot be read \(EISDIR\)/);
  });
});
