/** Keys from CSV, exports, and what other gateways' configurations become. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { AdminError } from '../../../src/admin/error.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { IMPORTERS } from '../../../src/cli/importer-shapes.ts';
import { runImporter } from '../../../src/cli/importers.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { NO_LISTS } from '../../../src/config/model-lists.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { digestOfKey, newKeyText } from '../../../src/core/key.ts';
import { appFixture } from '../../support/admin-app.ts';
import type { TestAdmin } from '../../support/admin-client.ts';
import { adminFixture, SECRET } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { CHANNELS, LITELLM, TOKENS, USERS } from './import-data.ts';

async function run(service: TestAdmin, ...line: string[]) {
  const command = findCommand(COMMANDS, line);
  return command.run(service, readArguments(command, line));
}

async function importer(...line: string[]): Promise<string> {
  const command = findCommand(IMPORTERS, line);
  return (await runImporter(command.words, readArguments(command, line))).text;
}

/** The config file that was written loads, with these variables set. */
async function loads(folder: string, env: Readonly<Record<string, string>>) {
  const settings = readSettings({ GATEWAY_CONFIG: join(folder, 'gateway.yaml') });
  const { catalog } = await loadConfig({ settings, env, sandboxUrl: 'http://sandbox.invalid', lists: NO_LISTS });
  return catalog;
}

describe('gateway import KEYS.csv', () => {
  test('creates a key for every line, with byte order mark and quotes, and prints each once', async (t) => {
    const { service } = adminFixture(t);
    const account = await service.accounts.create({ name: 'Acme', external_id: 'crm-7' });
    const file = join(temporaryFolder(), 'keys.csv');
    writeFileSync(
      file,
      '\u{feff}mode,label,account,credit,budget,period,cap,rpm_limit,models,expires_at\r\n' +
        'credit,"Smith, ""Jo""",,2.5,,,,,,2030-01-31\r\n' +
        'credit,team,crm-7,,,week,5,10,one two,\r\n' +
        'token_budget,budget,,,unlimited,day,,,all,\r\n',
    );
    const dry = await run(service, 'import', file, '--dry-run');
    assert.match(dry.text, /^3 keys could be created; nothing was changed/);
    assert.equal((await service.listKeys()).length, 0);
    const made = await run(service, 'import', file);
    assert.match(
      made.text,
      /^id,label,key\nkey_\w+,"Smith, ""Jo""",mg_c_\S+\nkey_\w+,team,mg_c_\S+\nkey_\w+,budget,mg_t_\S+\n$/,
    );
    assert.match(made.warning ?? '', /3 keys created/);
    const [budget, team, jo] = await service.listKeys();
    assert.ok(jo?.mode === 'credit' && jo.balance === 2.5 && jo.expires_at === '2030-01-31T00:00:00.000Z');
    assert.ok(
      team?.mode === 'credit' && team.account === account.id && team.cap?.amount === 5 && team.rpm_limit === 10,
    );
    assert.deepEqual(team.models, ['one', 'two']);
    assert.ok(budget?.mode === 'token_budget' && budget.budget === null && budget.period === 'day');
    assert.equal((await service.audit()).ok, true);
  });

  test('a file with one wrong line changes nothing, and the line is named', async (t) => {
    const { service } = adminFixture(t);
    const file = join(temporaryFolder(), 'keys.csv');
    const refused = async (text: string, message: RegExp): Promise<void> => {
      writeFileSync(file, text);
      await assert.rejects(
        run(service, 'import', file),
        (error) => error instanceof AdminError && message.test(error.message) && !/\n/.test(error.message),
        text,
      );
      assert.equal((await service.listKeys()).length, 0);
    };
    await refused(
      'mode,credit\ncredit,1\ncredit,-5\n',
      /^keys\.csv, line 3: credit is "-5": must be .*; nothing was changed/,
    );
    await refused('mode,credit\ncredit,1\nmaybe,5\n', /line 3: mode is "maybe"/);
    await refused('mode,account\ncredit,nobody\n', /line 2: account is "nobody": there is no account/);
    await refused('mode,budget\ntoken_budget,\n', /line 2: budget is missing/);
    await refused('mode,label\ncredit,"open\n', /line 2: a quote is opened and never closed/);
    await refused('mode,label\ncredit,a,b\n', /line 2: the line has another number of cells/);
    await refused('mode,colour\ncredit,red\n', /line 1: unknown column "colour"/);
    await refused('label\nx\n', /line 1: no column mode/);
    await refused('mode\n', /line 1: no keys follow/);
  });

  test('takes over the texts of keys that clients have, and shows, stores and names none of them', async (t) => {
    const { service, ledger, operators } = adminFixture(t);
    const file = join(temporaryFolder(), 'keys.csv');
    const text = 'sk-LiteLLM_0123456789AB';
    writeFileSync(file, `mode,label,key\ncredit,old,${text}\ncredit,new,\n`);
    assert.match((await run(service, 'import', file, '--dry-run')).text, /^2 keys could be created/);
    const made = await run(service, 'import', file);
    assert.match(made.text, /^id,label,key\nkey_\w+,old,\nkey_\w+,new,mg_c_\S+\n$/);
    const old = (await service.listKeys()).find(({ label }) => label === 'old');
    assert.equal(old?.prefix, 'sk-Lite');
    assert.equal((await ledger.findKey(digestOfKey(SECRET, text) ?? ''))?.id, old.id);
    const refused = (keys: readonly object[], message: RegExp): Promise<void> =>
      assert.rejects(
        service.importKeys({ keys }),
        (error) => error instanceof AdminError && message.test(error.message) && !error.message.includes('0123456789'),
      );
    await refused([{ mode: 'credit', key: text }], /^keys\[0\] key is the text of an existing key/);
    const another = { mode: 'credit', key: 'another-0123456789-abc' };
    await refused([another, { mode: 'credit' }, another], /^keys\[2\] key is the same as that of keys\[0\]/);
    for (const wrong of ['sk-0123456789', 'sk-0123456789 0123456789', `sk-0123456789${'ü'.repeat(9)}`, 7, null, '']) {
      await refused(
        [{ mode: 'credit', key: wrong }],
        /^keys\[0\] key must be the text of a key: 20 to 200 printable ASCII/,
      );
    }
    await refused([{ mode: 'credit', key: newKeyText('credit').slice(0, -1) }], /key must be the text of a key/);
    await refused([{ mode: 'credit', key: newKeyText('token_budget') }], /key is the text of a key of another mode/);
    await assert.rejects(service.createKey({ mode: 'credit', key: text }), /unknown field "key"/);
    assert.equal((await service.listKeys()).length, 2);
    const seen = JSON.stringify([await operators.auditTrail({ limit: 50 }), await service.listKeys()]);
    assert.doesNotMatch(`${seen}${(await run(service, 'export', 'keys')).text}`, /0123456789/);
  });

  test('what is exported can be imported again, and holds no secret', async (t) => {
    const { service } = adminFixture(t);
    await service.accounts.create({ name: '=Acme', external_id: 'x' });
    await service.createKey({ mode: 'credit', credit: '1.000000001', label: '@a', models: ['m'] });
    await service.createKey({ mode: 'token_budget', budget: 5, period: 'week' });
    const { text } = await run(service, 'export', 'keys');
    assert.doesNotMatch(text, /mg_[ct]_[\w-]{13}/);
    assert.match(text, /,'@a,/);
    const file = join(temporaryFolder(), 'keys.csv');
    writeFileSync(file, text);
    assert.match((await run(service, 'import', file, '--dry-run')).text, /^2 keys/);
    await run(service, 'import', file);
    assert.equal((await service.listKeys()).filter(({ label }) => label === '@a').length, 2);
    assert.match(
      (await run(service, 'export', 'accounts')).text,
      /^id,name,.*\nacct_\w+,'=Acme,,acct_\w+,x,active,0,0,/,
    );
    assert.match((await run(service, 'export', 'usage')).text, /^day,key,model,requests,/);
  });

  test('a revoked key does not come back; one that was suspended or disabled is named', async (t) => {
    const { service } = adminFixture(t);
    const gone = await service.createKey({ mode: 'credit', credit: '7', label: 'gone' });
    await service.createKey({ mode: 'credit', credit: '1', label: 'kept' });
    await service.revokeKey(gone.id);
    const file = join(temporaryFolder(), 'keys.csv');
    const { text } = await run(service, 'export', 'keys');
    writeFileSync(file, text);
    const dry = await run(service, 'import', file, '--dry-run');
    assert.equal(dry.text, '1 keys could be created; not those that had been revoked (line 3); nothing was changed\n');
    const made = await run(service, 'import', file);
    assert.match(made.warning ?? '', /^1 keys created; not those that had been revoked \(line 3\); this is the only/);
    assert.deepEqual(
      (await service.listKeys()).map(({ label, status }) => `${label} ${status}`),
      ['kept active', 'kept active', 'gone revoked'],
    );
    const refused = async (csv: string, message: RegExp): Promise<void> => {
      writeFileSync(file, csv);
      await assert.rejects(run(service, 'import', file), (error: Error) => message.test(error.message));
    };
    for (const status of ['suspended', 'disabled']) {
      await refused(
        `mode,status\ncredit,\ncredit,${status}\n`,
        new RegExp(`line 3: status is ${status}, and a new key`),
      );
    }
    await refused('mode,status\ncredit,lost\n', /line 2: status is "lost": expected active,/);
    await refused('mode,status\ncredit,revoked\n', /line 1: every key that follows the header had been revoked/);
    assert.equal((await service.listKeys()).length, 3);
  });

  test('labels are the same after an export and an import, also with apostrophes of their own', async (t) => {
    const { service } = adminFixture(t);
    const labels = ['=x', "'=x", "''=x", "'x", '-5', "'-5", '@a, "b"', '+', "'"];
    for (const label of labels) await service.createKey({ mode: 'credit', label });
    const { text } = await run(service, 'export', 'keys');
    assert.doesNotMatch(text, /(^|,)"?[=+@]/m);
    const file = join(temporaryFolder(), 'keys.csv');
    writeFileSync(file, text);
    await run(service, 'import', file);
    const found = (await service.listKeys()).map(({ label }) => label ?? '');
    assert.deepEqual(found.sort(), [...labels, ...labels].sort());
  });

  test('[F43] a body with too many values is refused before they are built', async (t) => {
    const { send } = await appFixture(t);
    const many = await send('POST', '/keys/import', { body: { keys: Array.from({ length: 200_001 }, () => 0) } });
    assert.match(`${many.status} ${JSON.stringify(many.body)}`, /^400 .*more than 200000 JSON values/);
  });

  test('over HTTP it is all or none, too, and in the audit trail once', async (t) => {
    const { send, operators, service } = await appFixture(t);
    const wrong = await send('POST', '/keys/import', { body: { keys: [{ mode: 'credit' }, { mode: 'x' }] } });
    assert.deepEqual([wrong.status, wrong.body.error.message.slice(0, 19)], [400, 'keys[1] mode is "x"']);
    assert.equal((await service.listKeys()).length, 0);
    const made = await send('POST', '/keys/import', {
      body: { keys: [{ mode: 'credit' }, { mode: 'credit', credit: 1 }] },
    });
    assert.deepEqual([made.status, made.body.keys], [201, 2]);
    const trail = await operators.auditTrail({ limit: 5 });
    assert.deepEqual(
      trail.map(({ action, outcome }) => `${action} ${outcome}`),
      ['key.import done', 'key.import refused'],
    );
    assert.doesNotMatch(JSON.stringify(trail), /mg_c_\S{13}/);
  });
});

describe('gateway import litellm', () => {
  test('models, providers and prices become a config file that loads; what is not taken is named', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'config.yaml');
    const out = join(folder, 'out');
    writeFileSync(file, LITELLM);
    const dry = await importer('import', 'litellm', file, '--out', out, '--dry-run');
    assert.match(dry, /^Found 4 providers, 4 models, 0 accounts, 0 keys\.\nNothing was written/);
    assert.equal(existsSync(out), false);
    const text = await importer('import', 'litellm', file, '--out', out);
    assert.match(text, /titan: bedrock is not known here/);
    assert.match(text, /ada: embedding is not text generation/);
    assert.match(text, /unknown: its price is missing and no published price is known/);
    assert.match(text, /sonnet: its fallback gpt-4o became further targets, charged at the price of sonnet/);
    assert.match(text, /gpt-4o: its fallback titan is not among the models that were taken/);
    assert.match(text, /npx gateway config check .*gateway\.yaml/);
    assert.match(text, /gpt-4o: rpm of its deployment at openai not taken/);
    assert.match(text, /general_settings: master_key was not taken/);
    assert.doesNotMatch(text, /sk-/);
    const config = readFileSync(join(out, 'gateway.yaml'), 'utf8');
    assert.doesNotMatch(config, /sk-/);
    assert.match(readFileSync(join(out, 'secrets.env'), 'utf8'), /^IMPORTED_AZURE_KEY=sk-literal\n$/);
    assert.equal(statSync(join(out, 'secrets.env')).mode & 0o077, 0);
    const { providers, models } = parse(config);
    assert.deepEqual(providers.openai, { api_key: `\${OPENAI_API_KEY}` });
    assert.deepEqual(
      models[0].targets.map(({ provider }: { provider: string }) => provider),
      ['openai', 'azure'],
    );
    assert.deepEqual(models[0].pricing, { input: 2.5, output: 10 });
    const env = { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b', IMPORTED_AZURE_KEY: 'c' };
    const catalog = await loads(out, env);
    assert.deepEqual([...catalog.models.keys()].slice(0, 3), ['gpt-4o', 'sonnet', 'local']);
    assert.ok(catalog.models.has('openai/gpt-5'), 'a wildcard is a pattern here');
    const targets = [...new Set(catalog.models.get('sonnet')?.targets.map(({ provider }) => provider))];
    assert.deepEqual(targets, ['anthropic', 'openai', 'azure']);
    await assert.rejects(importer('import', 'litellm', file, '--out', out), /exists: name another folder with --out/);
  });

  test('keys, teams and budgets become accounts with caps and keys to import', async (t) => {
    const { service } = adminFixture(t);
    const folder = temporaryFolder();
    const out = join(folder, 'out');
    writeFileSync(join(folder, 'config.yaml'), LITELLM);
    const listed = {
      keys: [
        {
          key_alias: 'app',
          team_id: 't1',
          max_budget: 10,
          budget_duration: '30d',
          models: ['gpt-4o'],
          rpm_limit: 60,
          tpm_limit: null,
        },
        { key_alias: "bob's", max_budget: 5, budget_duration: '12h', models: ['all-proxy-models'] },
        { key_alias: 'shut', blocked: true },
      ],
      teams: [{ team_id: 't1', team_alias: "O'Neil; rm -rf /", max_budget: 100, budget_duration: '7d' }],
    };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify(listed));
    const text = await importer(
      'import',
      'litellm',
      join(folder, 'config.yaml'),
      '--keys',
      join(folder, 'keys.json'),
      '--out',
      out,
    );
    assert.match(text, /^Found 4 providers, 4 models, 2 accounts, 2 keys/);
    assert.match(text, /key shut: it is blocked/);
    assert.match(text, /key bob's: a budget per 12h became one per month/);
    const script = readFileSync(join(out, 'accounts.sh'), 'utf8');
    assert.match(
      script,
      /accounts create --external-id litellm-team-t1 --credit-cap 100\/week -- 'O'\\''Neil; rm -rf \/'\n/,
    );
    await service.accounts.create({ name: 'team', external_id: 'litellm-team-t1', credit_cap: '100/week' });
    await service.accounts.create({ name: 'LiteLLM', external_id: 'litellm' });
    assert.equal((await run(service, 'import', join(out, 'keys.csv'))).exitCode, 0);
    const [bob, app] = await service.listKeys();
    assert.ok(app?.mode === 'credit' && app.cap?.amount === 10 && app.cap.period === 'month' && app.rpm_limit === 60);
    assert.deepEqual([app.models, bob?.models], [['gpt-4o'], null]);
  });

  test('a broken file is refused with its line, and nothing is written', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'config.yaml');
    writeFileSync(file, 'model_list:\n  - a: [\n');
    await assert.rejects(importer('import', 'litellm', file), /config\.yaml, line \d/);
    await assert.rejects(importer('import', 'litellm', join(folder, 'none')), /cannot be read/);
    writeFileSync(join(folder, 'k.json'), '{');
    writeFileSync(file, 'model_list: []\n');
    await assert.rejects(importer('import', 'litellm', file, '--keys', join(folder, 'k.json')), /k\.json is not JSON/);
  });
});

describe('gateway import one-api', () => {
  test('its database becomes a config file that loads, accounts with their balances, and keys', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'one-api.db');
    const out = join(folder, 'out');
    const database = new DatabaseSync(file);
    for (const [table, rows] of [
      ['channels', CHANNELS],
      ['tokens', TOKENS],
      ['users', USERS],
    ] as const) {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      database.exec(`CREATE TABLE ${table} (${columns.map((column) => `"${column}"`).join(', ')})`);
      const insert = database.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`);
      for (const row of rows) insert.run(...columns.map((column) => Reflect.get(row, column) ?? null));
    }
    database.close();
    const text = await importer('import', 'one-api', file, '--out', out);
    assert.match(text, /^Found 3 providers, 3 models, 1 accounts, 2 keys/);
    for (const note of [/xunfei: its type 18/, /off: it is disabled/, /claude: its group vip/, /token off/])
      assert.match(text, note);
    const { models, providers } = parse(readFileSync(join(out, 'gateway.yaml'), 'utf8'));
    assert.deepEqual(providers.anthropic.api_keys, [`\${IMPORTED_CLAUDE_KEY}`, `\${IMPORTED_CLAUDE_KEY_2}`]);
    assert.deepEqual(
      models.find(({ id }: { id: string }) => id === 'gpt-4o').targets.map(({ model }: { model: string }) => model),
      ['gpt-4o', 'gpt-4o-2024-08-06'],
    );
    const secrets = readFileSync(join(out, 'secrets.env'), 'utf8');
    const env = Object.fromEntries(
      secrets
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );
    assert.deepEqual([...(await loads(out, env)).models.keys()].sort(), ['claude-sonnet-4-5', 'gpt-4o', 'gpt-4o-mini']);
    assert.match(
      readFileSync(join(out, 'accounts.sh'), 'utf8'),
      /accounts create --external-id one-api-user-3 --json -- Bob \| .*\n.*accounts credit "\$id" 2\.5 /,
    );
    const keys = readFileSync(join(out, 'keys.csv'), 'utf8');
    assert.match(keys, /\ncredit,app,one-api-user-3,1\.5,none,gpt-4o,\n/);
    assert.match(keys, /\ncredit,all,one-api-user-3,,,,2030-03-17T17:46:40\.000Z\n/);
    assert.doesNotMatch(keys + text, /secret-token/);
  });

  test('names that look like flags stay names, and control characters do not reach the terminal', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'rows.json');
    const out = join(folder, 'out');
    const channel = { ...CHANNELS[0], type: 18, name: 'evil\u001b[2J\u202e' };
    const users = ['--json', '-h'].map((username, index) => ({
      ...USERS[0],
      id: 90 + index,
      username,
      display_name: '',
    }));
    const tokens = users.map(({ id }, index) => ({ ...TOKENS[0], id: 70 + index, user_id: id }));
    writeFileSync(file, JSON.stringify({ channels: [channel], tokens, users }));
    const text = await importer('import', 'one-api', file, '--out', out);
    assert.ok(text.includes('channel evil\\u{1b}[2J\\u{202e}: its type 18'), text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is none is what is tested.
    assert.doesNotMatch(text, /[\u001b\u202e]/u);
    const script = readFileSync(join(out, 'accounts.sh'), 'utf8');
    const created = [...script.matchAll(/npx gateway (accounts create .*?)(?: \||$)/gm)].map(([, line = '']) => line);
    assert.equal(created.length, users.length);
    for (const [index, line] of created.entries()) {
      const words = line.split(' ');
      const { operands } = readArguments(findCommand(COMMANDS, words), words);
      assert.deepEqual(operands, [users[index]?.username]);
    }
    writeFileSync(file, '\u001b{');
    await assert.rejects(
      importer('import', 'one-api', file),
      (error: Error) => /is not JSON/.test(error.message) && !error.message.includes('\u001b'),
    );
  });

  test('the same rows as JSON, and the numbers of new-api', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'rows.json');
    const channel = { ...CHANNELS[0], type: 43, models: 'deepseek-chat' };
    writeFileSync(file, JSON.stringify({ channels: [channel], tokens: [], users: [] }));
    assert.match(await importer('import', 'one-api', file, '--dry-run'), /type 43 is not known/);
    assert.match(await importer('import', 'new-api', file, '--dry-run'), /^Found 1 providers, 1 models/);
    writeFileSync(file, 'SQLite format 3\0nonsense');
    await assert.rejects(importer('import', 'one-api', file), /cannot be read/);
  });
});
