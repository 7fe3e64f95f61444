import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { modelsPage } from '../../../tools/models-page.ts';

test('docs/connect/models.md is what the shipped data says: run `npm run models-report` after a change', async () => {
  assert.equal(readFileSync('docs/connect/models.md', 'utf8'), await modelsPage());
});
