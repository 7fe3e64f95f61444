/** `gateway init` writes a file that the gateway starts with, and overwrites none. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { KNOWN_HOSTS } from '../../../src/config/kinds.ts';
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

interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly authorizations: (string | undefined)[];
}

async function modelServer(models: readonly string[], status = 200): Promise<ModelServer> {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    authorizations,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
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
    const secret = join(folder, 'found/data/secrets/openai');
    assert.ok(text.includes(`api_key: "$\{file:${secret}}"`), text);
    assert.deepEqual([readFileSync(secret, 'utf8'), statSync(secret).mode & 0o777], ['sk-secret-of-openai\n', 0o600]);
    assert.match(text, /models:\n {2}- \{ id: "openai\/\*", provider: openai \}\n/);
    assert.doesNotMatch(text + made.output, /sk-secret/);
    const [, schema = ''] = /\$schema=(\S+)/.exec(text) ?? [];
    assert.ok(existsSync(join(folder, schema)), schema);
    // The variable is not needed any more.
    const models = await gateway(['models'], 'found');
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
    assert.match(readFileSync(join(folder, 'later.yaml'), 'utf8'), /api_key: \$\{ANTHROPIC_API_KEY\}/);
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

  test('takes any compatible server, by its address, and writes its models with a price', async () => {
    await using server = await modelServer(['llama-3', 'qwen']);
    const args = ['init', '--yes', '--credit', 'none', '--base-url', server.url];
    const made = await gateway(args, 'server');
    assert.equal(made.code, 0, made.output);
    assert.match(made.output, /1 provider, 2 models\.\n {2}local: credential works: it lists 2 models/);
    const text = readFileSync(join(folder, 'server.yaml'), 'utf8');
    assert.match(text, /id: "local\/llama-3"[\s\S]*pricing: \{ input: 0, output: 0 \}/);
    assert.doesNotMatch(text, /api_key/);
    const byVariable = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-of-the-server' };
    const secured = await gateway(['init', '--yes', '--credit', 'none', '--price', '0.5/1.5'], 'variable', byVariable);
    assert.equal(secured.code, 0, secured.output);
    assert.match(readFileSync(join(folder, 'variable.yaml'), 'utf8'), /secrets\/local[\s\S]*input: 0\.5, output: 1\.5/);
    assert.equal(server.authorizations.at(-1), 'Bearer sk-of-the-server');
    const far = await gateway(['init', '--yes', '--base-url', 'https://models.example.com/v1'], 'far');
    assert.equal(far.code, 2);
    assert.match(far.output, /nothing is published of the prices of models\.example\.com: .*--price 0\.50\/1\.50/);
  });

  test('ends with 1 and writes nothing where no provider can be used, and says whether it was refused or not reached', async () => {
    await using server = await modelServer([], 401);
    const refused = await gateway(['init', '--yes', '--base-url', server.url], 'refused');
    assert.equal(refused.code, 1);
    assert.match(refused.output, /nothing was written: local: credential refused \(it answered with status 401\)/);
    const gone = await gateway(['init', '--yes', '--base-url', 'http://127.0.0.1:1/v1'], 'gone');
    assert.equal(gone.code, 1);
    assert.match(gone.output, /127\.0\.0\.1:1 is unreachable \(ECONNREFUSED\): check the address/);
    assert.deepEqual([existsSync(join(folder, 'refused.yaml')), existsSync(join(folder, 'gone.yaml'))], [false, false]);
  });

  test('every known provider has a pattern that fits a model', async () => {
    const providers = KNOWN_HOSTS.map(({ name }) => name).join(',');
    const made = await gateway(['init', '--yes', '--no-check', '--credit', 'none', '--providers', providers], 'all');
    assert.equal(made.code, 0, made.output);
  });

  test('asks which providers to use, and for the first operator and account; what is offered is taken with nothing', async () => {
    const questions: string[] = [];
    const answers = ['', 'anthropic', '', 'ann', ''];
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
        baseUrl: null,
        price: null,
        secretFiles: false,
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
    assert.match(questions[2] ?? '', /^The address of a compatible server \(vLLM, .*\), or nothing: $/);
    assert.equal(questions[3], 'Name of the first operator, an owner (none: no operator) [admin] ');
    assert.equal(questions[4], 'Name of the account that owns the credit (none: the key itself) [First account] ');
    assert.equal(questions.length, 5);
    assert.match(readFileSync(join(folder, 'asked.yaml'), 'utf8'), /openai:.*anthropic:/s);
  });

  test('a no to everything makes a file for the sandbox and nothing else', async () => {
    const answers = ['n', '', '', 'none', 'none'];
    const report = await init({
      settings: readSettings({ GATEWAY_CONFIG: join(folder, 'no.yaml'), GATEWAY_DATA: join(folder, 'no') }),
      env: { OPENAI_API_KEY: 'sk-secret-of-openai' },
      providers: null,
      baseUrl: null,
      price: null,
      secretFiles: false,
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
