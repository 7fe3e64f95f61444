/** The list of mutants fits the source: `npm run mutants` takes minutes, and must not find out only then. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { edited, ifItFits, sourceText } from '../support/edits.ts';
import { MUTANTS } from './list.ts';

const root = resolve(import.meta.dirname, '../..');

describe('the list of mutants', () => {
  test('has names, each once, and breaks ledger, exchange, wire and http', () => {
    assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
    const folders = new Set(MUTANTS.flatMap(({ edits }) => edits.map(([file]) => file.split('/')[0])));
    for (const folder of ['ledger', 'exchange', 'wire', 'http', 'transport']) assert.ok(folders.has(folder), folder);
  });

  for (const { name, edits, tests } of MUTANTS) {
    test(`fits the source: ${name}`, async (t) => {
      await ifItFits(t, () => {
        const texts = new Map<string, string>();
        for (const edit of edits) {
          const path = join(root, 'src', edit[0]);
          texts.set(path, edited(texts.get(path) ?? sourceText(path), edit));
        }
      });
      assert.ok(tests.length > 0);
      for (const [file, ...names] of tests) {
        assert.ok(existsSync(join(root, file)), file);
        if (file === 'test/contract/postgres.test.ts' || file === 'test/contract/sqlite.test.ts') continue;
        const text = readFileSync(join(root, file), 'utf8');
        for (const part of names) {
          // What stands in brackets at the end may be put in by a loop.
          assert.ok(text.includes(part.replace(/ \(\w+\)$/, '')), `${file} has no test ${part}`);
        }
      }
    });
  }
});
