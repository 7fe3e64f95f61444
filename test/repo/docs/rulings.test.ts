/** docs/understand/rulings.md is the list that the tags of test names refer to. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/understand/rulings.md'), 'utf8');
const documented = [...page.matchAll(/^\| R(\d+) \| (.*) \|$/gm)].map((row) => ({
  number: Number(row[1]),
  text: row[2] ?? '',
}));

describe('docs/understand/rulings.md', () => {
  test('has every ruling once, in order, with a text', () => {
    const numbers = documented.map(({ number }) => number);
    // Numbers are never given again, so there may be gaps.
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
    );
    assert.equal(numbers[0], 1);
    assert.deepEqual(
      documented.filter(({ text }) => text.trim().length < 20),
      [],
    );
  });

  test('knows every ruling that a test names', () => {
    const known = new Set(documented.map(({ number }) => number));
    const unknown: string[] = [];
    for (const name of readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      for (const tag of readFileSync(join(root, 'test', name), 'utf8').matchAll(/\[R(\d+)\]/g)) {
        if (!known.has(Number(tag[1]))) unknown.push(`${name}: ${tag[0]}`);
      }
    }
    assert.deepEqual(unknown, []);
  });
});
