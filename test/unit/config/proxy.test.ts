/** Which proxy counts: the variables of the environment, their exceptions, and what never leaves this machine. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isLoopback, proxyAddress, proxyFromEnvironment } from '../../../src/config/proxy.ts';

const PROXY = 'http://proxy.example:3128';

function through(address: string, env: Record<string, string>): string | null {
  return proxyFromEnvironment(env, new URL(address));
}

describe('the proxy of the environment', () => {
  test('is HTTPS_PROXY or HTTP_PROXY, by the address, and the lower-case name goes first', () => {
    assert.equal(through('https://host/v1', { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other:1' }), PROXY);
    assert.equal(through('http://host/v1', { HTTPS_PROXY: PROXY }), null);
    assert.equal(through('http://host/v1', { HTTP_PROXY: PROXY }), PROXY);
    assert.equal(through('https://host/v1', { https_proxy: PROXY, HTTPS_PROXY: 'http://other:1' }), PROXY);
    assert.equal(through('https://host/v1', { https_proxy: ' ', HTTPS_PROXY: PROXY }), PROXY);
    assert.equal(through('https://host/v1', {}), null);
    assert.equal(
      through('https://host/v1', { HTTPS_PROXY: 'me:secret@proxy.example:3128' }),
      `http://me:secret@${PROXY.slice(7)}`,
    );
  });

  test('that cannot be used is one line without its value, and only where it would be used', () => {
    for (const value of ['socks5://proxy:1080', 'http://proxy/path', 'ftp://hunter2@proxy', 'http://']) {
      assert.throws(() => through('https://host/v1', { HTTPS_PROXY: value }), {
        name: 'SettingError',
        message: 'HTTPS_PROXY is not the address of a proxy: expected http://… or https://…',
      });
      assert.equal(through('http://host/v1', { HTTPS_PROXY: value }), null);
    }
  });

  const cases: readonly (readonly [string, string, boolean])[] = [
    ['example.com', 'https://example.com/', true],
    ['example.com', 'https://api.example.com/', true],
    ['example.com', 'https://badexample.com/', false],
    ['.example.com', 'https://api.example.com/', true],
    ['*.example.com', 'https://api.example.com/', true],
    ['other, EXAMPLE.com', 'https://Example.COM./', true],
    ['other example.com', 'https://example.com/', true],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['example.com:8443', 'https://example.com/', false],
    ['example.com:443', 'https://example.com/', true],
    ['*', 'https://anything/', true],
    ['10.0.0.0/8', 'https://10.1.2.3/', true],
    ['10.0.0.0/8', 'https://11.1.2.3/', false],
    ['10.0.0.0/99', 'https://10.1.2.3/', false],
    ['10.1.2.3', 'https://10.1.2.3/', true],
    ['2.3', 'https://10.1.2.3/', false],
    ['fd00::/8', 'https://[fd00::1]/', true],
    ['fd00::1', 'https://[fd00::1]/', true],
    ['[fd00::1]:443', 'https://[fd00::1]/', true],
    ['', 'https://example.com/', false],
    [',', 'https://example.com/', false],
  ];
  for (const [list, address, excepted] of cases) {
    test(`NO_PROXY=${JSON.stringify(list)}: ${address} goes ${excepted ? 'straight' : 'through it'}`, () => {
      assert.equal(through(address, { HTTPS_PROXY: PROXY, NO_PROXY: list }), excepted ? null : PROXY);
      assert.equal(through(address, { HTTPS_PROXY: PROXY, no_proxy: list }), excepted ? null : PROXY);
    });
  }
});

describe('an address of this machine', () => {
  const here = [
    'localhost',
    'api.localhost',
    'LOCALHOST.',
    '127.0.0.1',
    '127.9.9.9',
    '0x7f.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '[::]',
  ];
  const elsewhere = ['localhost.example', '128.0.0.1', 'example.com', '[::2]', '10.0.0.1', '127.0.0.1.example'];
  for (const host of here) {
    test(`${host} never goes through a proxy`, () => {
      assert.equal(isLoopback(new URL(`https://${host}/`)), true);
      assert.equal(through(`https://${host}/`, { HTTPS_PROXY: PROXY }), null);
    });
  }
  for (const host of elsewhere) {
    test(`${host} is none`, () => assert.equal(isLoopback(new URL(`https://${host}/`)), false));
  }
});

test('the address of a proxy may leave out its scheme', () => {
  assert.equal(proxyAddress('proxy:3128'), 'http://proxy:3128');
  assert.equal(proxyAddress('https://proxy'), 'https://proxy');
  assert.equal(proxyAddress('http://proxy?x'), null);
});
