/** The certificate of the public listener, read from its files, checked, and read again when they change. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { errorCode } from '../lib/error-code.ts';
import type { TlsFiles } from './config.ts';
import { ConfigError } from './problem.ts';
import { type FileWatch, watchFiles } from './watch-files.ts';

/** The contents of the files. */
export interface TlsPem {
  readonly cert: string;
  readonly key: string;
}

/** Throws a ConfigError of one line that names the file and what is wrong with it. */
export async function readTls(files: TlsFiles): Promise<TlsPem> {
  const [cert, key] = [await contentOf(files.cert), await contentOf(files.key)];
  const certificate = parsed(files.cert, 'has no certificate in PEM format', () => new X509Certificate(cert));
  const privateKey = parsed(
    files.key,
    /ENCRYPTED/.test(key)
      ? 'is encrypted: a private key without a passphrase is needed'
      : 'has no private key in PEM format',
    () => createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError([`${files.key}: is not the private key of the certificate in ${files.cert}`]);
  }
  parsed(files.cert, 'cannot be used', () => createSecureContext({ cert, key }));
  return { cert, key };
}

/** When clients begin to refuse the certificate. */
export function certificateEndMs({ cert }: TlsPem): number {
  return new X509Certificate(cert).validToDate.getTime();
}

/**
 * `onPem` gets the contents after each change. `onProblems` gets what is wrong with files that cannot be used, and nothing
 * once they can: what is in use stays meanwhile.
 */
export function watchTls(
  files: () => TlsFiles,
  inUse: TlsPem,
  onPem: (pem: TlsPem) => void,
  onProblems: (lines: readonly string[]) => void,
  intervalMs?: number,
): FileWatch {
  let { cert, key } = inUse;
  const reload = async (): Promise<void> => {
    try {
      const pem = await readTls(files());
      onProblems([]);
      if (pem.cert === cert && pem.key === key) return;
      ({ cert, key } = pem);
      onPem(pem);
    } catch (error) {
      onProblems(error instanceof ConfigError ? error.problems : [String(error)]);
    }
  };
  return watchFiles(() => [files().cert, files().key], reload, intervalMs);
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = errorCode(error) ?? String(error);
    throw new ConfigError([`${file}: ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`]);
  }
}

function parsed<Value>(file: string, wrong: string, parse: () => Value): Value {
  try {
    return parse();
  } catch {
    throw new ConfigError([`${file}: ${wrong}`]);
  }
}
