/** What the operator is shown of the settings: all of them, as they are written, with where each comes from. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FileSchema } from '../../../src/config/schema.ts';
import { environmentInForce, readSettings, type SettingInForce } from '../../../src/config/settings.ts';
import { fileInForce } from '../../../src/config/settings-view.ts';
import { configFolder } from './config-fixture.ts';

const CONFIGURATION = readFileSync(new URL('../../../docs/run/configuration.md', import.meta.url), 'utf8');
/** What commands read, and no gateway. */
const OF_COMMANDS = ['GATEWAY_BACKUP_KEY'];

function lookup(rows: readonly SettingInForce[]): (name: string) => readonly [unknown, string] | undefined {
  return (name) => {
    const row = rows.find((one) => one.name === name);
    return row && [row.value, row.from];
  };
}

test('every key of the file is shown, apart from providers and models', async () => {
  const folder = await configFolder();
  const shown = fileInForce(await folder.load()).map(({ name }) => name);
  const { $schema: _, providers: _p, models: _m, ...properties } = FileSchema.properties;
  assert.deepEqual(shown.toSorted(), leaves(properties).toSorted());
});

function leaves(properties: object): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]: [string, object]) =>
    'properties' in schema && typeof schema.properties === 'object' && schema.properties !== null
      ? leaves(schema.properties).map((below) => `${name}.${below}`)
      : [name],
  );
}

test('every variable of the documented table is shown', () => {
  const [, table = ''] = /## Settings\n(.*?)\n## /s.exec(CONFIGURATION) ?? [];
  const documented = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`(.*?)`/g)]);
  const names = documented.map(([, name = '']) => name).filter((name) => !OF_COMMANDS.includes(name));
  const shown = environmentInForce(readSettings({}), {}).map(({ name }) => name);
  assert.deepEqual(shown.toSorted(), names.toSorted());
});

test('a setting of the file has the unit of the file, and the source that it has', async () => {
  const folder = await configFolder();
  const defaults = lookup(fileInForce(await folder.load()));
  const fallbacks: readonly (readonly [string, unknown])[] = [
    ['limits.settle_wait', 30],
    ['responses.keep_hours', 24],
    ['audit.every_hours', 24],
    ['usage.keep_days', null],
    ['statements.credit_price', 1],
    ['model_lists', true],
    ['sandbox', true],
    ['holds', 'elastic'],
    ['routing.order', 'listed'],
    ['alerts.levels', null],
  ];
  for (const [name, value] of fallbacks) assert.deepEqual(defaults(name), [value, 'default'], name);
  await folder.write(`
    model_lists: false
    sandbox: false
    usage: { keep_days: 7 }
    limits: { settle_wait: 2.5 }
    statements: { credit_price: 0.5 }
    alerts: { slack: [{ name: ops, url: "https://hooks.example.com/secret", types: [usage.level] }] }
    tls: { cert: of-the-file.pem, key: of-the-file.key }
    models:
      - { id: m, targets: [{ provider: p, weight: 2 }], pricing: { input: 0, output: 0 } }
    providers: { p: { kind: openai, base_url: "http://127.0.0.1:1/v1" } }
  `);
  const given = lookup(fileInForce(await folder.load()));
  const written: readonly (readonly [string, unknown, SettingInForce['from']])[] = [
    ['limits.settle_wait', 2.5, 'file'],
    ['usage.keep_days', 7, 'file'],
    ['statements.credit_price', 0.5, 'file'],
    ['model_lists', false, 'file'],
    ['sandbox', false, 'file'],
    ['limits.drain', 30, 'default'],
    // A weight makes it the default.
    ['routing.order', 'weighted', 'default'],
    ['alerts.slack', ['ops (hooks.example.com): usage.level'], 'file'],
    ['alerts.levels', [50, 80, 95, 100], 'default'],
    ['tls.cert', 'of-the-file.pem', 'file'],
  ];
  for (const [name, value, from] of written) assert.deepEqual(given(name), [value, from], name);
  const tls = { cert: 'of-the-environment.pem', key: 'of-the-environment.key' };
  const named = lookup(fileInForce(await folder.load({ settings: { ...folder.settings, tls } })));
  assert.deepEqual(named('tls.key'), ['of-the-environment.key', 'environment']);
});

test('a setting of the environment has the unit of its variable, and the source that it has; a secret is only ever set', () => {
  const secret = 's'.repeat(32);
  const env = { GATEWAY_EXEC_SECONDS: '60', GATEWAY_SANDBOX: 'strict', GATEWAY_WORKERS: '4', GATEWAY_SECRET: secret };
  const shown = lookup(environmentInForce(readSettings(env), env));
  const rows: readonly (readonly [string, unknown, SettingInForce['from']])[] = [
    ['GATEWAY_EXEC_SECONDS', 60, 'environment'],
    ['GATEWAY_LEASE_SECONDS', 15, 'default'],
    ['GATEWAY_SANDBOX', 'strict', 'environment'],
    ['GATEWAY_DISCOVER_LOCAL', 'on', 'default'],
    ['GATEWAY_WORKERS', 4, 'environment'],
    ['GATEWAY_SECRET', 'set', 'environment'],
    ['GATEWAY_METRICS_TOKEN', null, 'default'],
  ];
  for (const [name, value, from] of rows) assert.deepEqual(shown(name), [value, from], name);
  const flagged = lookup(environmentInForce(readSettings(env, { workers: '2' }), env));
  assert.deepEqual(flagged('GATEWAY_WORKERS'), [2, 'command_line']);
});
