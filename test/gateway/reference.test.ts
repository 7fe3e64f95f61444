/** The API reference is a page of the gateway's own: nothing of it comes from elsewhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();

test('/docs is a page that may load nothing from elsewhere, and names the document', async () => {
  const response = await fetch(`${gateway.origin}/docs`);
  const page = await response.text();
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page, /openapi\.json/);
  assert.doesNotMatch(page, /https?:\/\//);
  const policy = response.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; script-src 'self'; /);
  assert.doesNotMatch(policy, /https?:|\*/);
});

test('its script is there where it is installed, and otherwise the page does without', async () => {
  const page = await (await fetch(`${gateway.origin}/docs`)).text();
  const script = await fetch(`${gateway.origin}/docs/redoc.js`);
  const text = await script.text();
  assert.equal(script.status, page.includes('docs/redoc.js') ? 200 : 404, text.slice(0, 200));
  assert.doesNotMatch(text, /cdn\./);
});

test('other methods are told which one there is', async () => {
  const response = await fetch(`${gateway.origin}/docs`, { method: 'POST' });
  assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET']);
  await response.text();
});
