import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseConfigFile } from '../../../src/config/file.ts';
import { nearestName } from '../../../src/config/nearest-name.ts';
import { ConfigError } from '../../../src/config/problem.ts';
import { FILE_BYTES_MAX } from '../../../src/config/schema.ts';
import { Secrets } from '../../../src/config/secrets.ts';

async function problemsOf(
  text: string,
  env: Record<string, string> = {},
  allowExec = false,
): Promise<readonly string[]> {
  try {
    await parseConfigFile(text, 'gateway.yaml', new Secrets(env, allowExec));
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    for (const line of error.problems) assert.doesNotMatch(line, /\n/);
    return error.problems;
  }
  return [];
}

describe('config file: shape', () => {
  test('a file without content is told from one that says that it has none', async () => {
    for (const text of ['', ' \n', '# only a comment\n', '---\n', 'null']) {
      assert.equal(await parseConfigFile(text, 'gateway.yaml', new Secrets({})), null, text);
    }
    assert.deepEqual(await parseConfigFile('{}', 'gateway.yaml', new Secrets({})), {});
  });

  test('an alias that stands inside of what it names is refused with its place', async () => {
    for (const text of ['models: &m\n  - *m\n', 'providers: &m\n  a: { b: [*m] }\n']) {
      const [line, ...more] = await problemsOf(text);
      assert.match(line ?? '', /^gateway\.yaml: line 2, column \d+: the alias \*m stands inside of what its anchor &m/);
      assert.deepEqual(more, []);
    }
  });

  const wrong: readonly (readonly [string, string])[] = [
    ['modles: []', 'gateway.yaml: unknown key `modles`: did you mean `models`?'],
    [
      'providers: { openai: { api_kye: x } }',
      'gateway.yaml: providers.openai: unknown key `api_kye`: did you mean `api_key`?',
    ],
    [
      'models: [{ id: m, pricing: { input: 1, output: 2, chache_read: 1 } }]',
      'gateway.yaml: models[0].pricing: unknown key `chache_read`: did you mean `cache_read`?',
    ],
    [
      'streams: { zzzzzzzz: 1 }',
      'gateway.yaml: streams: unknown key `zzzzzzzz` (known: total, keep_alive, hold_wait, headers_wait)',
    ],
    [
      'models: [{ id: m, pricing: { input: cheap, output: 2 } }]',
      'gateway.yaml: models[0].pricing.input: must be a number',
    ],
    [
      'models: [{ id: m, pricing: { input: -1, output: 2 } }]',
      'gateway.yaml: models[0].pricing.input: must be a number from 0 to 1000000',
    ],
    ['models: [{ id: m, pricing: { input: 1 } }]', 'gateway.yaml: models[0].pricing: the key `output` is missing'],
    ['models: [{ provider: openai }]', 'gateway.yaml: models[0]: the key `id` is missing'],
    ['models:', 'gateway.yaml: models: must be a list'],
    ['- a\n- b', 'gateway.yaml: must be a mapping (key: value)'],
    ['sandbox: "yes"', 'gateway.yaml: sandbox: must be true or false'],
    ['holds: half', 'gateway.yaml: holds: must be one of full, elastic'],
    ['models: [{ id: m, context_window: 1.5 }]', 'gateway.yaml: models[0].context_window: must be a whole number'],
    ['models: [{ id: m, markup: 0 }]', 'gateway.yaml: models[0].markup: must be a number above 0 and at most 1000'],
    [
      'models: [{ id: two words }]',
      'gateway.yaml: models[0].id: must be 1 to 200 printable ASCII characters without spaces',
    ],
    [
      'providers: { x: { base_url: example.com } }',
      'gateway.yaml: providers.x.base_url: must be an address that begins with http:// or https://, without ? and #',
    ],
    [
      'providers: { "Open AI": { kind: openai } }',
      'gateway.yaml: providers: `Open AI` cannot be a name here: letters, digits, dots, dashes and underscores only',
    ],
    [
      'models: [{ id: m, pricing: { input: 1, output: 1, tiers: [{ from_input_tokens: 5 }] } }]',
      'gateway.yaml: models[0].pricing.tiers[0]: must give at least one price besides from_input_tokens',
    ],
    ['streams: { total: 3601 }', 'gateway.yaml: streams.total: must be a number from 0.001 to 3600'],
    [
      'providers: { x: { api_keys: [a, a] } }',
      'gateway.yaml: providers.x.api_keys: must not repeat an item (items 0 and 1 are equal)',
    ],
  ];
  for (const [text, line] of wrong) {
    test(`refused: ${line}`, async () => assert.deepEqual(await problemsOf(text), [line]));
  }

  test('every problem has its line', async () => {
    assert.deepEqual(await problemsOf('sandbox: 1\nholds: 2\nmodles: []'), [
      'gateway.yaml: unknown key `modles`: did you mean `models`?',
      'gateway.yaml: sandbox: must be true or false',
      'gateway.yaml: holds: must be one of full, elastic',
    ]);
  });

  test('__proto__ is an unknown key like any other, and pollutes nothing', async () => {
    assert.match((await problemsOf('__proto__: { polluted: true }'))[0] ?? '', /unknown key `__proto__`/);
    assert.equal((await problemsOf('providers: { __proto__: { kind: openai } }')).length, 1);
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });
});

describe('config file: YAML', () => {
  test('broken YAML is one line with its place', async () => {
    assert.match((await problemsOf('models: ['))[0] ?? '', /^gateway\.yaml: line 1, column \d+: /);
    assert.match(
      (await problemsOf('a: 1\na: 2'))[0] ?? '',
      /^gateway\.yaml: line 2, column 1: Map keys must be unique/,
    );
  });

  test('a bomb of aliases is refused', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    assert.match((await problemsOf(lines.join('\n')))[0] ?? '', /cannot be read as YAML: Excessive alias count/);
  });

  test('a file past the size limit, or nested without end, is refused', async () => {
    assert.match((await problemsOf(`# ${'x'.repeat(FILE_BYTES_MAX)}`))[0] ?? '', /is larger than 1048576 bytes/);
    assert.equal((await problemsOf('['.repeat(100_000))).length, 1);
  });

  test('anchors can share what is common', async () => {
    const file = await parseConfigFile(
      'models:\n  - { id: a, provider: x, pricing: &p { input: 1, output: 2 } }\n  - { id: b, provider: x, pricing: *p }',
      'gateway.yaml',
      new Secrets({}),
    );
    assert.deepEqual(file?.models?.[1]?.pricing, { input: 1, output: 2 });
  });
});

describe('config file: environment variables', () => {
  const key = async (text: string, env: Record<string, string>, allowExec = false) => {
    const file = `providers: { x: { kind: openai, api_key: '${text}' } }`;
    return (await parseConfigFile(file, 'gateway.yaml', new Secrets(env, allowExec)))?.providers?.x?.api_key;
  };
  const reference = (inside: string) => `\${${inside}}`;

  test('a variable stands for its value, alone or inside a text', async () => {
    assert.equal(await key(reference('KEY'), { KEY: 'secret' }), 'secret');
    assert.equal(await key(`a-${reference('ONE')}-${reference('TWO')}`, { ONE: '1', TWO: '2' }), 'a-1-2');
  });

  test('a default counts when the variable is missing or empty', async () => {
    assert.equal(await key(reference('KEY:-fallback'), {}), 'fallback');
    assert.equal(await key(reference('KEY:-fallback'), { KEY: '' }), 'fallback');
    assert.equal(await key(reference('KEY:-fallback'), { KEY: 'set' }), 'set');
  });

  test('a value is not expanded again, and a doubled dollar is literal', async () => {
    assert.equal(await key(reference('KEY'), { KEY: reference('OTHER'), OTHER: 'no' }), reference('OTHER'));
    assert.equal(await key(`$${reference('KEY')}`, { KEY: 'no' }), reference('KEY'));
  });

  test('a missing variable is told with its name and path', async () => {
    const text = `providers: { x: { kind: openai, api_keys: ['a', '${reference('NO_KEY')}'] } }`;
    const line = `gateway.yaml: providers.x.api_keys[1]: the environment variable NO_KEY is not set (${reference('NO_KEY:-default')} gives a default)`;
    assert.deepEqual(await problemsOf(text), [line]);
    assert.deepEqual(await problemsOf(text, { NO_KEY: '' }), [line]);
  });

  test('what is no variable is refused', async () => {
    assert.match(
      (await problemsOf(`holds: '${reference('not a name')}'`))[0] ?? '',
      /holds: .* is not a variable: write/,
    );
    assert.match((await problemsOf("holds: '${OPEN'"))[0] ?? '', /is not a variable/);
  });

  test('no message shows the value of a variable', async () => {
    const lines = await problemsOf(`providers: { x: { kind: openai, api_key: '${reference('KEY')}' } }`, {
      KEY: 'hunter2 hunter2',
    });
    assert.equal(lines.length, 1);
    assert.doesNotMatch(lines.join(), /hunter2/);
  });
});

test('the nearest name is found for slips, and none for something else', () => {
  const known = ['models', 'providers', 'sandbox', 'limits'];
  assert.equal(nearestName('modles', known), 'models');
  assert.equal(nearestName('provider', known), 'providers');
  assert.equal(nearestName('Sandbox', known), 'sandbox');
  assert.equal(nearestName('quantum', known), undefined);
});
