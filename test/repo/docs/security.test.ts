/** SECURITY.md states the limits that are in force. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { TIMEOUTS } from '../../../src/core/provider.ts';

const root = resolve(import.meta.dirname, '../../..');
const section = readFileSync(join(root, 'SECURITY.md'), 'utf8').split('## Limits and their defaults')[1] ?? '';
const rows = [...section.matchAll(/^\| .+ \| (\d+) \| `([^`]+)` \|$/gm)].map(([, value, name = '']) => ({
  value: Number(value),
  name,
}));

/** `body_bytes` is `bodyBytes` there, and the time `body_timeout` is `bodyTimeoutMs`. */
function setting(group: object, key: string): number {
  const name = key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const plain: unknown = Reflect.get(group, name);
  return typeof plain === 'number' ? plain : Number(Reflect.get(group, `${name}Ms`)) / 1000;
}

describe('SECURITY.md', () => {
  test('has the default of every setting under limits, and the right one for each that it names', async () => {
    const env = { GATEWAY_CONFIG: '', GATEWAY_DISCOVER_LOCAL: 'off' };
    const settings = { ...readSettings(env), configFile: join(root, 'there-is-no-such-file.yaml') };
    const config = await loadConfig({ settings, env, sandboxUrl: 'http://127.0.0.1:9' });
    const { limits, streams, routing } = config;
    const groups: Readonly<Record<string, object>> = { limits, streams, routing, timeouts: TIMEOUTS.read() };
    const named = rows.filter(({ name }) => name.includes('.'));
    for (const { name, value } of named) {
      const [group = '', key = ''] = name.split('.');
      assert.equal(value, setting(groups[group] ?? {}, key), name);
    }
    const ofLimits = named.filter(({ name }) => name.startsWith('limits.'));
    // What depends on the machine has no figure.
    const withFigure = Object.values(limits).filter((value) => value !== null);
    assert.equal(ofLimits.length, withFigure.length, 'one row for each of limits');
  });

  test('has the value of every constant that it names', () => {
    const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const constants = rows.filter(({ name }) => !name.includes('.'));
    assert.ok(constants.length >= 8);
    for (const { name, value } of constants) {
      const declared = [...source.matchAll(new RegExp(`const ${name} = ([\\d_ *]+);`, 'g'))].map((match) =>
        (match[1] ?? '').split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1),
      );
      assert.ok(declared.includes(value), `${name} is ${declared.join(' and ')}, not ${value}`);
    }
  });
});
