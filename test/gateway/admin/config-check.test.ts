/** `gateway config check FILE`: every problem at once, with a name and an exit code. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { checkConfigFile } from '../../../src/process/config-check.ts';
import { gateway } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('gateway config check', () => {
  test('lists every problem with its path and the name of the model, and ends with 1', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'bad.yaml');
    const models = Array.from(
      { length: 30 },
      (_, index) => `  - { id: made/up-${index}, provider: openai, public: maybe }`,
    );
    writeFileSync(file, `providers:\n  openai: { api_key: x, kindd: openai }\nmodels:\n${models.join('\n')}\n`);
    const { code, stdout } = await gateway(folder, 'config', 'check', file);
    assert.equal(code, 1);
    assert.match(stdout, /bad\.yaml:2: providers\.openai: unknown key `kindd`: did you mean `kind`\?/);
    assert.match(stdout, /bad\.yaml:33: models\[29\] \(made\/up-29\)\.public: must be true or false/);
    assert.match(stdout, /\n31 problems\./);
    const settings = readSettings({ GATEWAY_DATA: folder });
    writeFileSync(file, 'providers: { openai: { api_key: x } }\nmodels: [{ id: made/up, provider: nobody }]\n');
    const { text, exitCode } = await checkConfigFile(file, settings, {}, true);
    const { ok, problems } = JSON.parse(text);
    const unknown = 'unknown provider `nobody`: the file defines openai. Add `nobody: { kind: …, base_url: … }` to';
    const line = `${file}:2: models[0] (made/up).provider: ${unknown} its \`providers\``;
    assert.deepEqual([exitCode, ok, problems], [1, false, [line]]);
    const absent = await checkConfigFile(join(folder, 'absent.yaml'), settings, {}, false);
    assert.match(absent.text, /absent\.yaml: does not exist/);
    writeFileSync(file, 'tls: { cert: /nowhere.pem, key: /nowhere.key }\n');
    assert.match((await checkConfigFile(file, settings, {}, false)).text, /nowhere\.pem: /);
  });

  test('says where and how: the line of the key, quotes for a reference, seconds for a time', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'bad.yaml');
    const settings = readSettings({ GATEWAY_DATA: folder });
    const problemsOf = async (text: string): Promise<readonly string[]> => {
      writeFileSync(file, text);
      const { problems } = JSON.parse((await checkConfigFile(file, settings, {}, true)).text);
      return (problems as string[]).map((problem) => problem.replace(`${folder}/`, ''));
    };
    const reference = '$' + '{OPENAI_API_KEY}';
    assert.deepEqual(await problemsOf(`providers:\n  openai: { api_key: ${reference} }\n`), [
      `bad.yaml: line 2, column 23: quote it: "${reference}", because inside of { } and [ ] an unquoted { begins a mapping`,
    ]);
    assert.deepEqual(await problemsOf('providers:\n  openai:\n    api_key: x\n    timeouts:\n      connect: 30s\n'), [
      'bad.yaml:5: providers.openai.timeouts.connect: must be a number without a unit: seconds, as a number (30, not 30s), unless the key names another unit',
    ]);
    assert.deepEqual(await problemsOf('providers:\n  "my own":\n    base_url: nowhere\n'), [
      'bad.yaml:2: providers: `my own` cannot be a name here: letters, digits, dots, dashes and underscores only',
    ]);
  });

  test('shows the models of a valid file, and ends with 0', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'good.yaml');
    writeFileSync(
      file,
      'providers: { openai: { api_key: x } }\nmodels: [{ id: openai/gpt-4o, targets: [{ provider: openai, model: gpt-4o }] }]\n',
    );
    const { text, exitCode } = await checkConfigFile(file, readSettings({ GATEWAY_DATA: folder }), {}, false);
    assert.equal(exitCode, 0, text);
    assert.match(text, /\nopenai\/gpt-4o +2\.5 \/ 10 /);
    assert.match(text, /good\.yaml is valid: 4 models of \d+ providers/);
  });
});
