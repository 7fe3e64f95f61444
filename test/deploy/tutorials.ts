/** The tutorials work as they are printed: each page's blocks for a shell are run in order, in one shell, against a gateway. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { shellBlocks } from '../support/doc-commands.ts';
import { call, startedGateway } from '../support/started-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { root, tool } from './tools.ts';

const run = promisify(execFile);
const jq = tool('jq');
const folder = temporaryFolder('gateway-tutorials');
// `npx gateway` as it is where the package is installed.
const npx = join(folder, 'npx');
writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, 'bin/gateway.mjs')}" "$@"\n`);
chmodSync(npx, 0o755);

// The other pages of docs/try are no tutorials: their blocks are tried one by one, by test/repo/docs/examples.test.ts.
const OTHERS = ['docs/try/first-requests.md', 'docs/try/sandbox.md'];
const pages = new Map<string, string[]>();
for (const { page, language, text } of shellBlocks()) {
  if (!page.startsWith('docs/try/') || OTHERS.includes(page) || language !== 'sh') continue;
  pages.set(page, [...(pages.get(page) ?? []), text]);
}

describe('tutorials', { skip: jq.skip, timeout: 300_000 }, () => {
  for (const [page, blocks] of pages) {
    test(page, async () => {
      await using gateway = await startedGateway();
      const { key } = await gateway.creditKey();
      const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };
      await (await call(`${gateway.origin}/v1/chat/completions`, { key, body })).text();
      const script = ['set -euo pipefail', ...blocks].join('\n');
      const { stdout } = await run('bash', ['-c', script], {
        cwd: folder,
        env: {
          PATH: [folder, dirname(process.execPath), process.env.PATH].join(delimiter),
          HOME: folder,
          GATEWAY: gateway.origin,
          GATEWAY_DATA: gateway.dataDir,
        },
      });
      assert.notEqual(stdout, '');
      assert.doesNotMatch(stdout, /"error"/);
      assert.deepEqual((await gateway.audit()).findings, []);
    });
  }

  test('there are some', () => {
    assert.ok(pages.size >= 4, [...pages.keys()].join());
  });
});
