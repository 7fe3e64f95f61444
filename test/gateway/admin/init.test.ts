/** `gateway init` writes a file that the gateway starts with, and overwrites none. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { init } from '../../../src/process/data/init.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../bin/gateway.mjs');
const folder = temporaryFolder('gateway-init-test');

async function gateway(words: readonly string[], name: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [LAUNCHER, ...words], {
    env: {
      PATH: process.env.PATH,
      GATEWAY_DATA: join(folder, name, 'data'),
      GATEWAY_CONFIG: join(folder, `${name}.yaml`),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

describe('gateway init', () => {
  test('finds credentials, writes a file with models and comments, creates a key, and never overwrites', async () => {
    const env = { OPENAI_API_KEY: 'sk-secret-of-openai' };
    const made = await gateway(['init', '--yes', '--no-check', '--credit', '3'], 'found', env);
    assert.equal(made.code, 0, made.output);
    assert.match(
      made.output,
      /found\.yaml was written: 1 provider, \d{2,} models\.\n {2}openai: credential not checked/,
    );
    assert.match(made.output, /mg_c_\w{40}/);
    assert.match(made.output, /Account acct_\w+ \(First account\) owns the credit/);
    assert.match(made.output, /Operator admin \(owner\), a token[\s\S]*mg_o_/);
    const text = readFileSync(join(folder, 'found.yaml'), 'utf8');
    assert.match(text, /api_key: \$\{OPENAI_API_KEY\}/);
    assert.match(
      text,
      /- \{ id: "openai\/gpt-5", provider: openai, targets: \[\{ provider: openai, model: "gpt-5" \}\] \}/,
    );
    assert.match(
      text,
      /id: "openai\/gpt-5-pro", .* \[\{ provider: openai, model: "gpt-5-pro", format: responses \}\] \}/,
    );
    assert.doesNotMatch(text + made.output, /sk-secret/);
    const models = await gateway(['models'], 'found', env);
    assert.match(models.output, /openai\/gpt-5/);
    const again = await gateway(['init', '--yes'], 'found', env);
    assert.deepEqual([again.code, readFileSync(join(folder, 'found.yaml'), 'utf8')], [1, text]);
    assert.match(again.output, /found\.yaml exists already: edit it/);
  });

  test('a provider can be named before its credential is there, and an unknown one is refused', async () => {
    const made = await gateway(['init', '--yes', '--providers', 'anthropic', '--credit', 'none'], 'later');
    assert.equal(made.code, 0, made.output);
    assert.match(made.output, /anthropic: credential missing: set ANTHROPIC_API_KEY/);
    assert.doesNotMatch(made.output, /mg_c_/);
    const wrong = await gateway(['init', '--yes', '--providers', 'opnai'], 'wrong');
    assert.equal(wrong.code, 2);
    assert.match(wrong.output, /unknown provider "opnai": expected one of openai, anthropic/);
  });

  test('without any credential the sandbox is served, and nothing else is left behind', async () => {
    const made = await gateway(['init', '--yes', '--json'], 'none');
    assert.equal(made.code, 0, made.output);
    assert.deepEqual((JSON.parse(made.output) as { providers: unknown[] }).providers, []);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.draft')),
      [],
    );
    assert.equal((await gateway(['models'], 'none')).code, 0);
  });

  test('asks which providers to use, and for the first operator and account; what is offered is taken with nothing', async () => {
    const questions: string[] = [];
    const answers = ['', 'anthropic', 'ann', ''];
    const calls: string[] = [];
    const settings = readSettings({
      GATEWAY_CONFIG: join(folder, 'asked.yaml'),
      GATEWAY_DATA: join(folder, 'asked'),
    });
    const env = { OPENAI_API_KEY: 'sk-secret-of-openai' };
    await assert.rejects(
      init({
        settings,
        env,
        providers: null,
        check: false,
        credit: '5',
        account: 'First account',
        operator: 'admin',
        ask: async (question) => {
          questions.push(question);
          return answers.shift() ?? '';
        },
        connectAdmin: async () => {
          calls.push('connected');
          throw new Error('far enough');
        },
      }),
      /far enough/,
    );
    assert.deepEqual(calls, ['connected']);
    assert.equal(questions[0], 'Use openai (OPENAI_API_KEY is set)? [Y/n] ');
    assert.match(questions[1] ?? '', /^Others, separated by commas \(anthropic, .*\), or nothing: $/);
    assert.equal(questions[2], 'Name of the first operator, an owner (none: no operator) [admin] ');
    assert.equal(questions[3], 'Name of the account that owns the credit (none: the key itself) [First account] ');
    assert.equal(questions.length, 4);
    assert.match(readFileSync(join(folder, 'asked.yaml'), 'utf8'), /openai:.*anthropic:/s);
  });

  test('a no to everything makes a file for the sandbox and nothing else', async () => {
    const answers = ['n', '', 'none', 'none'];
    const report = await init({
      settings: readSettings({ GATEWAY_CONFIG: join(folder, 'no.yaml'), GATEWAY_DATA: join(folder, 'no') }),
      env: { OPENAI_API_KEY: 'sk-secret-of-openai' },
      providers: null,
      check: false,
      credit: null,
      account: 'First account',
      operator: 'admin',
      ask: async () => answers.shift() ?? '',
      connectAdmin: () => assert.fail('nothing is to be created'),
    });
    assert.deepEqual([report.providers, report.key, report.account, report.operator], [[], null, null, null]);
  });
});
