/** Certificates and private keys in PEM files: what is wrong with them, in words. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorCode } from '../lib/error-code.ts';

/** Paths of PEM files: a certificate chain and its private key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The contents of the files. */
export interface TlsPem {
  readonly cert: string;
  readonly key: string;
}

interface IdentityProblem {
  readonly of: keyof TlsFiles;
  /** What follows the name of the file. */
  readonly message: string;
}

/** Empty where a listener or a client can prove its identity with them. */
export function identityProblems(files: TlsFiles, { cert, key }: TlsPem): readonly IdentityProblem[] {
  const certificate = parsed(() => new X509Certificate(cert));
  const privateKey = parsed(() => createPrivateKey(key));
  const problems: IdentityProblem[] = [];
  if (certificate === null) problems.push({ of: 'cert', message: NO_CERTIFICATE });
  if (privateKey === null) {
    const locked = /ENCRYPTED/.test(key);
    const message = locked
      ? 'is encrypted: a private key without a passphrase is needed'
      : 'has no private key in PEM format';
    problems.push({ of: 'key', message });
  }
  if (certificate === null || privateKey === null) return problems;
  if (!certificate.checkPrivateKey(privateKey)) {
    return [{ of: 'key', message: `is not the private key of the certificate in ${files.cert}` }];
  }
  const usable = parsed(() => createSecureContext({ cert, key })) !== null;
  return usable ? [] : [{ of: 'cert', message: 'cannot be used' }];
}

export const NO_CERTIFICATE = 'has no certificate in PEM format';

export function isCertificate(pem: string): boolean {
  return parsed(() => new X509Certificate(pem)) !== null;
}

/** Why a file was not read. */
export function unreadable(error: unknown): string {
  const code = errorCode(error) ?? String(error);
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
}

function parsed<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
