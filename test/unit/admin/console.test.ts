/** How the operator's listener serves the console: to everybody, and so that nothing else can run in its page. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { adminApp } from '../../../src/admin/http/app.ts';
import { CONSOLE_ROLES, CONSOLE_TYPES, consoleRoles, consoleTypes } from '../../../tools/console-types.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const SECRET = 'admin-secret-for-tests-0123456789abcdef';
const PAGE = '<html><script type="module" src="/assets/app-1.js" nonce="__CSP_NONCE__"></script></html>';

async function served(t: TestContext, built: boolean) {
  const folder = temporaryFolder();
  if (built) {
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), PAGE);
    writeFileSync(join(folder, 'assets', 'app-1.js'), 'plain');
    writeFileSync(join(folder, 'assets', 'app-1.js.br'), 'compressed');
  }
  const app = await adminApp(adminFixture(t).adminService, { secret: SECRET, consoleBuild: folder });
  t.after(() => app.close());
  return (url: string, headers: Record<string, string> = { accept: 'text/html' }) => app.inject({ url, headers });
}

describe('the console on the operator’s listener', () => {
  test('its page needs no credential, has a policy of its own with a fresh nonce, and answers for its own paths', async (t) => {
    const get = await served(t, true);
    const nonces = new Set<string>();
    for (const path of ['/', '/keys', '/requests/req_1?x=1']) {
      const { statusCode, headers, body } = await get(path);
      assert.equal(statusCode, 200, path);
      assert.match(String(headers['content-type']), /^text\/html/);
      assert.equal(headers['cache-control'], 'no-store');
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w+/=]+';/);
      assert.ok(!policy.includes('unsafe'));
      const nonce = /nonce-([^']+)'/.exec(policy)?.[1] ?? '';
      assert.equal(body, PAGE.replace('__CSP_NONCE__', nonce));
      nonces.add(nonce);
    }
    assert.equal(nonces.size, 3);
  });

  test('its files are compressed and may be kept for ever, because their names are digests', async (t) => {
    const get = await served(t, true);
    const { statusCode, headers, body } = await get('/assets/app-1.js', { 'accept-encoding': 'br' });
    assert.deepEqual([statusCode, headers['content-encoding'], body], [200, 'br', 'compressed']);
    assert.match(String(headers['cache-control']), /max-age=31536000, immutable/);
    assert.equal((await get('/assets/app-1.js', {})).body, 'plain');
    assert.equal((await get('/assets/other.js')).statusCode, 404);
    assert.equal((await get('/assets/..%2findex.html')).statusCode, 404);
  });

  test('what is not a page is not answered with one, and the API still asks for a credential', async (t) => {
    const get = await served(t, true);
    assert.equal((await get('/keys', { accept: 'application/json' })).statusCode, 404);
    for (const path of ['/admin', '/admin/v1/keys', '/admin/v1/nothing', '/metrics']) {
      assert.equal((await get(path)).statusCode, 401, path);
    }
    assert.equal((await get('/', { host: 'evil.example', accept: 'text/html' })).statusCode, 403);
  });

  test('without a build it says how to make one', async (t) => {
    const get = await served(t, false);
    const { statusCode, body } = await get('/');
    assert.equal(statusCode, 503);
    assert.match(body, /npm run console:build/);
  });

  test('its types and the roles of its pages are those of the routes: npm run console:types', async () => {
    const plain = (text: string): string => text.replaceAll(/[\s;,'"|()]/g, '');
    assert.equal(plain(readFileSync(CONSOLE_TYPES, 'utf8')), plain(await consoleTypes()));
    assert.equal(plain(readFileSync(CONSOLE_ROLES, 'utf8')), plain(await consoleRoles()));
  });
});
