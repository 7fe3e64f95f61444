import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { selfSigned } from '../../../src/lib/self-signed.ts';

describe('a certificate that signs itself', () => {
  const fromMs = Date.UTC(2026, 10, 17, 12, 30, 5);
  const untilMs = Date.UTC(2051, 1, 3);
  const names = ['console.example.com', '10.1.2.3', '::1', '2001:db8::ffff:1.2.3.4'] as const;

  test('is for each of its names, from and until the given times', () => {
    const { cert, key } = selfSigned({ names, fromMs, untilMs, authority: false });
    const certificate = new X509Certificate(cert);
    assert.equal(certificate.checkHost('console.example.com'), 'console.example.com');
    assert.equal(certificate.checkHost('other.example.com'), undefined);
    for (const address of ['10.1.2.3', '::1', '2001:db8::ffff:102:304']) {
      assert.equal(certificate.checkIP(address), address);
    }
    assert.equal(certificate.checkIP('10.1.2.4'), undefined);
    assert.equal(certificate.validFromDate.getTime(), fromMs);
    assert.equal(certificate.validToDate.getTime(), untilMs);
    assert.equal(certificate.subject, 'CN=console.example.com');
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
    assert.match(certificate.serialNumber, /^[4-7][0-9A-F]{31}$/);
  });

  test('is an authority only where that is wanted', () => {
    for (const authority of [true, false]) {
      const certificate = new X509Certificate(selfSigned({ names, fromMs, untilMs, authority }).cert);
      assert.equal(certificate.ca, authority);
    }
  });
});
