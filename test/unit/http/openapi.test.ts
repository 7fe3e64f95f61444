import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApiBytes } from '../../../src/http/openapi.ts';

test('the document is serialised once, whoever asks for it', () => {
  const first = openApiBytes();
  assert.equal(openApiBytes(), first);
  assert.match((JSON.parse(first.toString()) as { openapi: string }).openapi, /^3\.1\./);
});
