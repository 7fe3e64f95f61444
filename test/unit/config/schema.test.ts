import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { parseConfigFile } from '../../../src/config/file.ts';
import { FileSchema, publishedSchema } from '../../../src/config/schema.ts';
import { Secrets } from '../../../src/config/secrets.ts';
import { PAGES } from '../../support/doc-commands.ts';
import { configFolder } from './config-fixture.ts';

const root = new URL('../../../', import.meta.url);

const published = new URL('../../../docs/gateway.schema.json', import.meta.url);

test('docs/gateway.schema.json is the schema in use (UPDATE_SCHEMA=1 writes it anew)', () => {
  if (process.env.UPDATE_SCHEMA === '1') writeFileSync(published, publishedSchema());
  assert.deepEqual(JSON.parse(readFileSync(published, 'utf8')), JSON.parse(publishedSchema()));
});

test('docs/run/configuration.md and prices.md name every key of the file and every setting', () => {
  const read = (page: string): string => readFileSync(new URL(`docs/run/${page}`, root), 'utf8');
  const docs = read('configuration.md') + read('prices.md');
  const settings = readFileSync(new URL('../../../src/config/settings.ts', import.meta.url), 'utf8');
  const keys = new Set<string>();
  collectKeys(FileSchema, keys);
  const variables = [...settings.matchAll(/'((?:GATEWAY_|DATABASE_)[A-Z_]+)'/g)].map((match) => match[1] ?? '');
  assert.ok(variables.length >= 10);
  assert.deepEqual(
    [...keys, ...variables].filter((name) => !new RegExp(`[\`. ]${name}[\`: ]`).test(docs)),
    [],
  );
});

function collectKeys(schema: unknown, keys: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [name, part] of Object.entries(schema)) {
    if (name === 'properties') for (const key of Object.keys(part)) if (key !== '$schema') keys.add(key);
    collectKeys(part, keys);
  }
}

test('what the pages print of a config file is one', async () => {
  const known = Object.keys(FileSchema.properties);
  const variable = (name: string): string | undefined => {
    if (name.endsWith('_FILE')) return undefined;
    return `${name.endsWith('_URL') ? 'https://example.com/' : ''}long-enough-for-any-secret`;
  };
  const env = new Proxy({}, { get: (_, name) => variable(String(name)) });
  const folder = await configFolder();
  let checked = 0;
  for (const page of PAGES) {
    const text = readFileSync(new URL(page, root), 'utf8');
    for (const [, block = ''] of text.matchAll(/^ *```yaml\n(.*?)^ *```$/gms)) {
      const value: unknown = parse(block);
      if (typeof value !== 'object' || value === null || !Object.keys(value).every((key) => known.includes(key)))
        continue;
      // What a file or a command gives is the reader's.
      const inline = block.replaceAll(/\$\{(file|exec):[^}]*\}/g, 'a-value');
      await assert.doesNotReject(parseConfigFile(inline, page, new Secrets(env)), `${page}:\n${block}`);
      // A model that is pasted alone needs its provider beside it.
      if ('models' in value) await assert.doesNotReject(folder.load({ text: inline, env }), `${page}:\n${block}`);
      checked++;
    }
  }
  assert.ok(checked >= 15, String(checked));
});
