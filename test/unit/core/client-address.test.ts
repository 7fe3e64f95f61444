import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressRanges, type ForwardingHeader, TrustedProxies } from '../../../src/core/client-address.ts';

function proxies(texts: readonly string[], header: ForwardingHeader = 'x-forwarded-for'): TrustedProxies {
  return new TrustedProxies(
    texts.flatMap((text) => addressRanges(text) ?? []),
    header,
  );
}

const OWN = proxies(['10.0.0.0/8', '::1']);

describe('the address of a client', () => {
  test('is the peer where the peer is no trusted proxy, whatever the header says', () => {
    assert.equal(OWN.clientAddress('203.0.113.9', '198.51.100.1'), '203.0.113.9');
    assert.equal(OWN.clientAddress('203.0.113.9', null), '203.0.113.9');
    assert.equal(proxies([]).clientAddress('10.0.0.1', '198.51.100.1'), '10.0.0.1');
  });

  test('is the last one that is not trusted: what stands before it anybody could have written', () => {
    assert.equal(OWN.clientAddress('10.0.0.1', '198.51.100.1'), '198.51.100.1');
    assert.equal(OWN.clientAddress('10.0.0.1', '10.9.9.9, 198.51.100.1, 10.0.0.2'), '198.51.100.1');
    assert.equal(OWN.clientAddress('::1', '1.1.1.1,198.51.100.1'), '198.51.100.1');
  });

  test('is the first of the chain where all are trusted, and the proxy where it names nobody', () => {
    assert.equal(OWN.clientAddress('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3');
    assert.equal(OWN.clientAddress('10.0.0.1', null), '10.0.0.1');
  });

  test('has no port, and an IPv4 address is written as one', () => {
    assert.equal(OWN.clientAddress('::ffff:10.0.0.1', '198.51.100.1:4711'), '198.51.100.1');
    assert.equal(OWN.clientAddress('10.0.0.1', '[2001:db8::1]:4711'), '2001:db8::1');
    assert.equal(OWN.clientAddress('10.0.0.1', '2001:db8::1'), '2001:db8::1');
    assert.equal(OWN.clientAddress('10.0.0.1', '::ffff:198.51.100.1'), '198.51.100.1');
    assert.equal(OWN.clientAddress('::ffff:203.0.113.9', null), '203.0.113.9');
  });

  test('is nobody where a trusted proxy writes what is no address', () => {
    for (const text of ['unknown', '', '198.51.100.1, unknown', '999.1.1.1', '198.51.100.1,', 'example.com']) {
      assert.equal(OWN.clientAddress('10.0.0.1', text), '', text);
    }
  });

  test('comes from Forwarded where the proxies write that one', () => {
    const own = proxies(['private'], 'forwarded');
    const of = (value: string) => own.clientAddress('10.0.0.1', value);
    assert.equal(of('for=198.51.100.1;proto=https;by=10.0.0.1'), '198.51.100.1');
    assert.equal(of('for=1.1.1.1, FOR="[2001:db8::1]:4711" ; proto=https, for=10.0.0.2'), '2001:db8::1');
    assert.equal(of('proto=https;for="198.51.100.1:80"'), '198.51.100.1');
    for (const value of ['for=unknown', 'for=_hidden', 'proto=https', 'for=']) assert.equal(of(value), '', value);
  });

  test('is found in bounded time in a header that is one long chain', () => {
    assert.equal(OWN.clientAddress('10.0.0.1', '10.0.0.1,'.repeat(100_000)), '');
    assert.equal(OWN.clientAddress('10.0.0.1', Array.from({ length: 100_000 }, () => '10.0.0.1').join()), '10.0.0.1');
  });
});

test('a range is an address, a subnet or a word for several', () => {
  assert.deepEqual(addressRanges('10.1.2.3'), ['10.1.2.3/32']);
  assert.deepEqual(addressRanges('2001:db8::/32'), ['2001:db8::/32']);
  assert.deepEqual(addressRanges('loopback'), ['127.0.0.0/8', '::1/128']);
  for (const text of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    'localhost',
    '10.0.0.0/8/8',
    'constructor',
    '::1/129',
  ]) {
    assert.equal(addressRanges(text), null, text);
  }
});
