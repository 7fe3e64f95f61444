/** docs/understand/architecture.md speaks of things that exist. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/understand/architecture.md'), 'utf8');

function section(title: string): string {
  return page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
}

describe('docs/understand/architecture.md', () => {
  test('every word in code of its table is declared in src', () => {
    const cells = [...section('Words').matchAll(/^\| ([^|]+) \|/gm)].map((row) => row[1] ?? '');
    const words = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((word) => word[1] ?? ''));
    assert.ok(words.length > 20);
    const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, 'src', name), 'utf8'))
      .join('\n');
    const unknown = words.filter(
      (word) => !new RegExp(`^(export )?(abstract )?(interface|type|class) ${word}\\b`, 'm').test(source),
    );
    assert.deepEqual(unknown, []);
  });

  test('every stop of the tour exists', () => {
    const stops = [...section('Tour of one streamed request').matchAll(/^\| \d+ \| \[`([^`]+)`\].* \| `(\w+)` \|/gm)];
    assert.ok(stops.length > 20);
    for (const [, file = '', name = ''] of stops) {
      const source = readFileSync(join(root, 'src', file), 'utf8');
      assert.match(source, new RegExp(`(function|class) ${name}\\b|^  ${name}\\(`, 'm'), `${file}: ${name}`);
    }
  });

  test('every folder of src has its paragraph', () => {
    const described = [...section('Folders').matchAll(/\*\*`src\/([^`]+)`\*\*/g)].map((match) => match[1] ?? '');
    assert.deepEqual(described.toSorted(), readdirSync(join(root, 'src')).toSorted());
  });
});
