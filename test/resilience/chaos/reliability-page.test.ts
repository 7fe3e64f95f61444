/** docs/understand/reliability.md names tests that exist. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { MUTATIONS } from '../../simulation/mutations.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(resolve(root, 'docs/understand/reliability.md'), 'utf8');
/** The rows of the two tables; the figures of the long runs are a table of their own. */
const rows = page
  .slice(0, page.indexOf('## How recovery works'))
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('|---'));

describe('docs/understand/reliability.md', () => {
  test('every test that it names stands in the file that it names', () => {
    const named = [...page.matchAll(/`(test\/[^`]+\.ts)`: “([^”]+)”/g)];
    assert.ok(named.length > 50);
    const missing = named
      .filter(([, file = '', name = '']) => !readFileSync(resolve(root, file), 'utf8').includes(name))
      .map(([text]) => text);
    assert.deepEqual(missing, []);
  });

  test('every guarantee and every fault that the project answers for has a row with a test', () => {
    const withTest = rows.filter((row) => /`test\/[^`]+\.ts`: “/.test(row));
    const faults = withTest.flatMap((row) => /^\| ((?:F\d+(?:, )?)+) \|/.exec(row)?.[1]?.split(', ') ?? []);
    const numbers = faults.map((fault) => Number(fault.slice(1)));
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
      'each once, in order',
    );
    assert.deepEqual(
      numbers.slice(0, 30),
      Array.from({ length: 30 }, (_, index) => index + 1),
    );
    const headings = rows.filter((row) => /^\| (#|Guarantee) \|/.test(row));
    assert.equal(withTest.length, rows.length - headings.length);
  });

  test('the number of mutations is the real one', () => {
    assert.ok(page.includes(`in ${MUTATIONS.length} ways`), String(MUTATIONS.length));
  });
});
