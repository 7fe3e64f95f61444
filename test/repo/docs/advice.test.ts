/** What `gateway requests show` says to do is what docs/connect/errors.md says to do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import {
  ADVICE,
  BACKGROUND_ADVICE,
  IN_BAND_ADVICE,
  KNOWN_KEY_ADVICE,
  STOPPED_ADVICE,
  STORED_RESPONSE_ADVICE,
} from '../../../src/core/advice.ts';

const page = readFileSync(join(resolve(import.meta.dirname, '../../..'), 'docs/connect/errors.md'), 'utf8');

/** As one line, with the text of links only. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

test('docs/connect/errors.md and the advice of the gateway are one text', () => {
  const section = page.split('## What each means, and what to do\n')[1]?.split('\n## ')[0] ?? '';
  const written = section.split(/^### /m).slice(1);
  const texts = written.map((part) => [part.slice(0, part.indexOf('\n')), plain(part.slice(part.indexOf('\n')))]);
  assert.deepEqual(Object.fromEntries(texts), {
    ...ADVICE,
    invalid_credentials: `${ADVICE.invalid_credentials} ${KNOWN_KEY_ADVICE}`,
    not_found: `${ADVICE.not_found} ${STORED_RESPONSE_ADVICE}`,
  });
  const inBand = page.split('## Failures inside a stream\n')[1]?.split('\n## ')[0] ?? '';
  assert.ok(plain(inBand).includes(IN_BAND_ADVICE));
  const background = page.split('## Failures of background responses\n')[1]?.split('\n## ')[0] ?? '';
  assert.ok(plain(background).includes(BACKGROUND_ADVICE));
  const stopped = page.split('## Requests that are stopped\n')[1]?.split('\n## ')[0] ?? '';
  const reasons = stopped.split(/^- /m).slice(1).map(plain);
  assert.deepEqual(
    reasons,
    Object.entries(STOPPED_ADVICE).map(([reason, text]) => `\`${reason}\`: ${text}`),
  );
});
