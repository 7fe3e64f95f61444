/** The certificate of the public listener, read from its files, checked, and read again when they change. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { identityProblems, type TlsFiles, type TlsPem, unreadable } from './pem.ts';
import { ConfigError } from './problem.ts';
import { type FileWatch, watchFiles } from './watch-files.ts';

/** Throws a ConfigError of one line that names the file and what is wrong with it. */
export async function readTls(files: TlsFiles): Promise<TlsPem> {
  const pem = { cert: await contentOf(files.cert), key: await contentOf(files.key) };
  const [problem] = identityProblems(files, pem);
  if (problem !== undefined) throw new ConfigError([`${files[problem.of]}: ${problem.message}`]);
  return pem;
}

/** When clients begin to refuse the certificate. */
export function certificateEndMs({ cert }: TlsPem): number {
  return new X509Certificate(cert).validToDate.getTime();
}

/** As browsers show it, in SHA-256. */
export function certificateFingerprint({ cert }: TlsPem): string {
  return new X509Certificate(cert).fingerprint256;
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
    throw new ConfigError([`${file}: ${unreadable(error)}`]);
  }
}
