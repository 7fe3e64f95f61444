/** docs/connect/errors.md tells users what src/core/conditions.ts and src/http/reply.ts do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { CONDITIONS, conditionRow } from '../../../src/core/conditions.ts';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/connect/errors.md'), 'utf8');
const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \| `(\w+)` \| `(\w+)` \| ([^|]+) \|$/gm)].map(
  ([, code = '', status, type, typeB, retry = '']) => ({ code, status: Number(status), type, typeB, retry }),
);

describe('docs/connect/errors.md', () => {
  test('has every condition of the error table with its status and types, and no other', () => {
    assert.deepEqual(
      rows.map(({ code, status, type, typeB }) => ({ code, status, type, typeB })),
      Object.entries(CONDITIONS).map(([code, { status, type, typeB }]) => ({ code, status, type, typeB })),
    );
  });

  test('says "no" to a retry exactly where x-should-retry: false is sent', () => {
    const never = Object.entries(CONDITIONS).filter(([, { retry }]) => retry === 'never');
    assert.deepEqual(
      rows.filter(({ retry }) => retry === 'no').map(({ code }) => code),
      never.map(([code]) => code),
    );
  });

  test('sends the reader to Retry-After only where it is always sent', () => {
    for (const condition of Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]) {
      const row = conditionRow(condition);
      const said = rows.find(({ code }) => code === condition)?.retry ?? '';
      if (said.includes('Retry-After')) assert.ok(row.retryAfterS !== undefined, condition);
    }
  });

  test('explains every condition in a section of its own', () => {
    const sections = page.split(/^### /m).slice(1);
    const explained = sections.filter((section) => section.trim().split('\n').length > 1);
    assert.deepEqual(
      explained.map((section) => section.slice(0, section.indexOf('\n'))),
      Object.keys(CONDITIONS),
    );
  });

  test('tells every condition that a route says instead of another', () => {
    const section = page.slice(page.indexOf('Some routes list fewer'), page.indexOf('## What each means'));
    for (const { path, projection } of Object.values(ENDPOINTS)) {
      for (const [from, to] of Object.entries(projection)) {
        const words = [`\`${path}\``, `\`${from}\``, `${conditionRow(to).status} \`${to}\``];
        const told = section.split('\n').some((line) => words.every((word) => line.includes(word)));
        assert.ok(told, `${path}: ${from} is told as ${to}`);
      }
    }
  });
});
