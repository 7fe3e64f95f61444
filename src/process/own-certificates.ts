/** Says in the log, once a day, that a certificate of the gateway's own ends soon or has ended. */
import { certificateStage, type OwnCertificate } from '../core/certificate.ts';
import type { Log } from '../core/log.ts';
import { DAY_MS } from '../core/time.ts';

export function logCertificates(certificates: readonly OwnCertificate[], nowMs: number, log: Log): void {
  for (const { listener, endsAtMs } of certificates) {
    const stage = certificateStage(endsAtMs, nowMs);
    const fields = { listener, expiresAt: new Date(endsAtMs).toISOString() };
    if (stage === 'over')
      log.error(fields, `the certificate of the ${listener} listener has expired: clients refuse it`);
    else if (stage !== null) log.warn(fields, `the certificate of the ${listener} listener expires soon: renew it`);
  }
}

/** At the start, and then once a day. */
export function watchCertificates(
  certificates: () => readonly OwnCertificate[],
  nowMs: () => number,
  log: Log,
): Disposable {
  const look = (): void => logCertificates(certificates(), nowMs(), log);
  look();
  const timer = setInterval(look, DAY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
