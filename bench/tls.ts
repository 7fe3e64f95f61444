/** The certificate of a run: made at its start for loopback, trusted by every process of the bench, and gone after it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { certificateOf } from '../test/support/certificate.ts';

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** This process trusts it at once; children do by `NODE_EXTRA_CA_CERTS`. */
export function makeTlsFiles(folder: string): TlsFiles {
  const certificate = certificateOf('127.0.0.1');
  const files = { cert: join(folder, 'tls-cert.pem'), key: join(folder, 'tls-key.pem') };
  writeFileSync(files.cert, certificate.cert);
  writeFileSync(files.key, certificate.key);
  setDefaultCACertificates([...getCACertificates('default'), certificate.cert]);
  process.env.NODE_EXTRA_CA_CERTS = files.cert;
  return files;
}
