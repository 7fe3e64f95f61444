import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { expandReferences } from '../../../src/config/expand.ts';
import { Secrets } from '../../../src/config/secrets.ts';
import { readSettings, SettingError } from '../../../src/config/settings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('gateway-secrets');

function fileOf(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** The expanded text, or the messages where there are problems. */
async function expanded(text: string, secrets = new Secrets({})): Promise<unknown> {
  const { value, problems } = await expandReferences(text, secrets);
  return problems.length === 0 ? value : problems.map(({ message }) => message);
}

const reference = (inside: string) => `\${${inside}}`;
const node = JSON.stringify(process.execPath);

describe('secrets from files', () => {
  test('a file stands for its content without the line end, alone or inside a text', async () => {
    const file = fileOf('plain', 'sk-1\r\n\n');
    assert.equal(await expanded(`\${file:${file}}`), 'sk-1');
    assert.equal(await expanded(`Bearer \${file:${file}}!`), 'Bearer sk-1!');
  });

  test('the content is not expanded again', async () => {
    assert.equal(
      await expanded(`\${file:${fileOf('nested', reference('HOME'))}}`, new Secrets({ HOME: 'no' })),
      reference('HOME'),
    );
  });

  test('a file that is missing, empty, too large or no file is refused by name', async () => {
    const missing = join(folder, 'missing');
    assert.deepEqual(await expanded(`\${file:${missing}}`), [`the file ${missing} does not exist`]);
    const empty = fileOf('empty', '\n');
    assert.deepEqual(await expanded(`\${file:${empty}}`), [`the file ${empty} is empty`]);
    const large = fileOf('large', Buffer.alloc(65_537, 'x'));
    assert.deepEqual(await expanded(`\${file:${large}}`), [`the file ${large} is larger than 65536 bytes`]);
    assert.deepEqual(await expanded(`\${file:${folder}}`), [`the file ${folder} is not a regular file`]);
    assert.deepEqual(await expanded(reference('file:\0')), ['the file \0 cannot be read (ERR_INVALID_ARG_VALUE)']);
  });

  test('NAME_FILE gives the variable NAME, in the file and in the settings', async () => {
    const file = fileOf('named', 'sk-named\n');
    assert.equal(await expanded(reference('KEY'), new Secrets({ KEY_FILE: file })), 'sk-named');
    assert.equal(await expanded(reference('KEY:-no'), new Secrets({ KEY_FILE: file })), 'sk-named');
    const secret = fileOf('installation', `${'s'.repeat(40)}\n`);
    assert.equal(readSettings({ GATEWAY_SECRET_FILE: secret }).installationSecret, 's'.repeat(40));
    const url = fileOf('url', 'postgres://user:word@db/gateway\n');
    assert.equal(readSettings({ DATABASE_URL_FILE: url }).databaseUrl, 'postgres://user:word@db/gateway');
  });

  test('NAME and NAME_FILE together, or a file that is not there, are refused', async () => {
    const file = fileOf('both', 'sk');
    assert.deepEqual(await expanded(reference('KEY'), new Secrets({ KEY: 'a', KEY_FILE: file })), [
      'KEY and KEY_FILE are both set: unset one of them',
    ]);
    const gone = join(folder, 'gone');
    assert.deepEqual(await expanded(reference('KEY:-no'), new Secrets({ KEY_FILE: gone })), [
      `KEY_FILE: the file ${gone} does not exist`,
    ]);
    assert.throws(() => readSettings({ DATABASE_URL_FILE: gone }), {
      name: SettingError.prototype.constructor.name,
      message: `DATABASE_URL_FILE: the file ${gone} does not exist`,
    });
  });
});

describe('secrets from commands', () => {
  /** More than any machine needs to start a program. */
  const PATIENCE_MS = 120_000;
  const on = (env = {}) => new Secrets(env, true, PATIENCE_MS);

  test('are off unless they are allowed', async () => {
    assert.equal(readSettings({}).allowExec, false);
    assert.equal(readSettings({ GATEWAY_ALLOW_EXEC: 'on' }).allowExec, true);
    assert.deepEqual(await expanded(reference('exec:echo sk')), [
      `${reference('exec:…')}: commands are switched off: GATEWAY_ALLOW_EXEC=on allows the config file to run programs`,
    ]);
  });

  test('a command is a list of arguments that no shell reads', async () => {
    const env = { PATH: process.env.PATH };
    assert.equal(await expanded(reference('exec:echo $HOME;  *'), on(env)), '$HOME; *');
    assert.equal(await expanded(reference('exec:["echo", "two  words", "\'x"]'), on(env)), "two  words 'x");
    assert.match(String(await expanded(reference('exec:["echo", 1]'), on(env))), /is not a command: write the program/);
    assert.match(String(await expanded(reference('exec: '), on(env))), /is not a command/);
  });

  test('has the environment of the gateway and an input that is at its end', async () => {
    const program = 'process.stdin.on("data", () => {}).on("end", () => console.log(process.env.TOKEN))';
    const file = fileOf('reads.cjs', program);
    assert.equal(await expanded(`\${exec:[${node}, "${file}"]}`, on({ TOKEN: 'sk-token' })), 'sk-token');
  });

  test('one that fails, prints nothing or too much, or is not there, is refused without what it wrote', async () => {
    const failing = fileOf('failing.cjs', 'console.log("sk-out"); console.error("sk-err"); process.exitCode = 3;');
    assert.deepEqual(await expanded(`\${exec:[${node}, "${failing}"]}`, on()), [
      `\${exec:…}: the command ${process.execPath} ended with exit code 3: run it by hand to see why`,
    ]);
    const silent = fileOf('silent.cjs', '');
    assert.match(String(await expanded(`\${exec:[${node}, "${silent}"]}`, on())), /printed nothing$/);
    const endless = fileOf('endless.cjs', 'process.stdout.write("x".repeat(1e6)); setInterval(() => {}, 1e6)');
    assert.match(String(await expanded(`\${exec:[${node}, "${endless}"]}`, on())), /printed more than 65536 bytes$/);
    const never = fileOf('never.mjs', 'setInterval(() => {}, 1_000_000)');
    const impatient = new Secrets({ ...process.env }, true, 1);
    assert.deepEqual(await expanded(`\${exec:[${node}, "${never}"]}`, impatient), [
      `\${exec:…}: the command ${process.execPath} did not end within 0.001 seconds`,
    ]);
    assert.match(
      String(await expanded(reference('exec:/no/such/program sk-argument'), on())),
      /^\$\{exec:…\}: the command \/no\/such\/program does not exist$/,
    );
  });

  test('the same command runs once for a configuration', async () => {
    const counter = fileOf('counter', '');
    const file = fileOf(
      'count.cjs',
      `require('node:fs').appendFileSync(${JSON.stringify(counter)}, 'x'); console.log('sk')`,
    );
    const text = `\${exec:[${node}, "${file}"]}`;
    const { value } = await expandReferences({ a: text, b: [text] }, on());
    assert.deepEqual(value, { a: 'sk', b: ['sk'] });
    assert.equal(await expanded(`\${file:${counter}}`), 'x');
  });
});

test('what was read does not show when the configuration is printed', async () => {
  const secrets = new Secrets({ KEY_FILE: fileOf('hidden', 'sk-hidden') });
  await expanded(reference('KEY'), secrets);
  for (const printed of [JSON.stringify(secrets), inspect(secrets, { depth: 9, showHidden: true }), String(secrets)]) {
    assert.doesNotMatch(printed, /sk-hidden/);
  }
});
