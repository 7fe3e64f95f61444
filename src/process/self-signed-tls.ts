/** The certificate that the operator's listener makes for itself, kept in the data folder. */
import { randomBytes, X509Certificate } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Settings } from '../config/config.ts';
import type { TlsFiles, TlsPem } from '../config/pem.ts';
import { ConfigError } from '../config/problem.ts';
import { readTls } from '../config/tls.ts';
import { DAY_MS } from '../core/time.ts';
import { selfSigned } from '../lib/self-signed.ts';

/** The longest that systems accept of a server. */
const LIFE_MS = 825 * DAY_MS;
/** One that a start finds with less is replaced. */
const LEFT_MS = 90 * DAY_MS;

type Names = Pick<Settings, 'adminHost' | 'adminHosts'>;

/** The one that is there, unless it ends soon or browsers use a name now that it is not for: then a new one. */
export async function keepSelfSigned(files: TlsFiles, settings: Names, nowMs: number): Promise<TlsPem> {
  const names = namesOf(settings);
  const kept = await readTls(files).catch((error: unknown) => {
    if (error instanceof ConfigError) return null;
    throw error;
  });
  if (kept !== null && isGood(kept, names, nowMs)) return kept;
  const { key, cert } = selfSigned({
    names,
    fromMs: nowMs - DAY_MS,
    untilMs: nowMs - DAY_MS + LIFE_MS,
    authority: false,
  });
  const draft = `${files.cert}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${cert}${key}`, { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, files.cert);
  } finally {
    await rm(draft, { force: true });
  }
  return readTls(files);
}

/** What the listener may be asked for by. Not the name of the machine, which a container has anew each time. */
function namesOf({ adminHost, adminHosts }: Names): readonly [string, ...string[]] {
  const [address = ''] = adminHost.split('%');
  const own = isIP(address) === 0 || ['0.0.0.0', '::'].includes(address) ? [] : [address];
  return ['localhost', ...new Set(['127.0.0.1', '::1', ...own, ...adminHosts])];
}

function isGood({ cert }: TlsPem, names: readonly string[], nowMs: number): boolean {
  const certificate = new X509Certificate(cert);
  const covers = (name: string): boolean =>
    (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
  return certificate.validToDate.getTime() - nowMs > LEFT_MS && names.every(covers);
}
