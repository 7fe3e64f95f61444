/** Whether the certificates of the gateway's listeners can be used, and for how long. */
import type { TlsFiles } from '../config/pem.ts';
import { ConfigError } from '../config/problem.ts';
import { certificateEndMs, readTls } from '../config/tls.ts';
import { certificateStage, type OwnCertificate } from '../core/certificate.ts';
import { type Check, ok, problem, skipped } from './report.ts';

type ListenerFiles = Readonly<Record<OwnCertificate['listener'], TlsFiles | null>>;

export async function checkCertificates(
  files: ListenerFiles,
  nowMs: number,
): Promise<{ readonly certificates: Check; readonly toDo: readonly string[] }> {
  const good: string[] = [];
  const toDo: string[] = [];
  for (const listener of ['public', 'admin'] as const) {
    const own = files[listener];
    if (own === null) continue;
    try {
      const endsAtMs = certificateEndMs(await readTls(own));
      const day = new Date(endsAtMs).toISOString().slice(0, 10);
      const stage = certificateStage(endsAtMs, nowMs);
      if (stage === null) good.push(`${listener} until ${day}`);
      else toDo.push(`${own.cert}: ${stage === 'over' ? 'has expired' : `expires on ${day}`}: renew it`);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      toDo.push(...error.problems);
    }
  }
  if (toDo.length > 0) return { certificates: problem('see below'), toDo };
  return { certificates: good.length === 0 ? skipped('none') : ok(good.join(', ')), toDo };
}
