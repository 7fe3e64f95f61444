/** Which values of a provider's configuration are secrets, and which are ordinary text. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assembleProvider } from '../../../src/config/assemble.ts';
import { PLAIN_NETWORK, type Provider } from '../../../src/core/provider.ts';
import { secretsOf } from '../../../src/provider/secrets.ts';
import { redact } from '../../../src/wire/upstream-message.ts';

function providerWith(headers: Readonly<Record<string, string>>, change: Partial<Provider> = {}): Provider {
  const file = { kind: 'openai', base_url: 'https://up.example/v1', headers } as const;
  return { ...assembleProvider('up', file), ...change };
}

describe('[F20] secrets of a provider', () => {
  test('every value of its headers, whole and in the parts that somebody may quote', () => {
    const basic = Buffer.from('gate:open sesame now').toString('base64');
    const provider = providerWith({
      Authorization: `Basic ${basic}`,
      'X-Tenant': 'acme-tenant-42',
      'x-auth-token': 'swordfish',
      Cookie: 'sid=marzipan7; theme=dark',
      'x-forwarded-account': 'Bearer 9f8e7d6c',
    });
    const secrets = secretsOf(provider);
    for (const text of [
      `Basic ${basic}`,
      basic,
      'open sesame now',
      'acme-tenant-42',
      'swordfish',
      'marzipan7',
      '9f8e7d6c',
    ]) {
      assert.equal(redact(`I was sent <${text}>.`, secrets), 'I was sent <[redacted]>.', text);
    }
    assert.equal(secretsOf(provider), secrets, 'made once');
  });

  test('not what is ordinary text', () => {
    const provider = providerWith({
      'content-type': 'application/json; charset=utf-8',
      accept: 'text/event-stream',
      'user-agent': 'our-gateway/1.2',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-1m-2025-08-07',
      'http-referer': 'https://acme.example',
      'x-title': 'Acme Chat',
      'x-debug': 'true',
      'x-mode': 'production',
      'x-level': '1.25',
      'x-api-key': 'none',
    });
    assert.deepEqual(secretsOf(provider), []);
  });

  test('credentials of a proxy, and of the query of the address', () => {
    const network = { ...PLAIN_NETWORK, proxy: 'http://gate:p%40ssw0rd@proxy.example:3128' };
    const withProxy = secretsOf(providerWith({}, { network }));
    const sent = Buffer.from('gate:p@ssw0rd').toString('base64');
    for (const text of ['p%40ssw0rd', 'p@ssw0rd', sent]) assert.ok(withProxy.includes(text), text);
    const token = { ...PLAIN_NETWORK, proxy: 'http://proxy-token-7@proxy.example:3128' };
    assert.ok(secretsOf(providerWith({}, { network: token })).includes('proxy-token-7'));
    const baseUrl = 'https://up.example/v1?code=a1b2c3d4&region=west';
    assert.deepEqual(secretsOf(providerWith({}, { baseUrl })), ['a1b2c3d4']);
  });

  test('are taken out of a text that was cut in the middle of one', () => {
    const secrets = ['acme-tenant-42'];
    assert.equal(redact('The account acme-tenant', secrets), 'The account [redacted]');
    assert.equal(redact('The account acme', secrets), 'The account acme');
  });
});
