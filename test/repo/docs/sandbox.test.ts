/** docs/try/sandbox.md names what the sandbox has. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { sandboxModels } from '../../../src/config/sandbox.ts';
import { parseDirectives } from '../../../src/sandbox/directives.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/try/sandbox.md'), 'utf8');
const source = readFileSync(join(root, 'src/sandbox/directives.ts'), 'utf8');

function directivesIn(text: string): string[] {
  return [...text.matchAll(/`(\[\[[^\]`]+\]\])`/g)].map((match) => match[1] ?? '');
}

describe('docs/try/sandbox.md', () => {
  test('has a row for every directive, and each of them is one', () => {
    const rows = [...page.matchAll(/^\| (`\[\[.*?\]\]`) \|/gm)].flatMap((row) => directivesIn(row[1] ?? ''));
    assert.deepEqual(rows.toSorted(), [...new Set(directivesIn(source))].toSorted());
    for (const row of rows) {
      const written = row.replace('=N', '=1').replace('=MS', '=1').replace('=CODE', '=500');
      assert.equal(parseDirectives(`a${written}b`).rest, 'ab', row);
    }
  });

  test('has a row for every model with its provider, formats and limits', () => {
    for (const { id, provider, contextWindow, maxOutputTokens, targets } of sandboxModels(1)) {
      const formats = targets.map(({ format }) => format).join(', ');
      const row = `| \`${id}\` | \`${provider}\` | ${formats} | ${contextWindow} | ${maxOutputTokens} |`;
      assert.ok(page.includes(row), row);
    }
  });
});
