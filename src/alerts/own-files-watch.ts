/**
 * Notices that a changed file of this gateway cannot be taken into use, and that one of its certificates ends: requests go on
 * as before, so that nobody else would.
 */
import { certificateStage, type OwnCertificate } from '../core/certificate.ts';
import { HOUR_MS } from '../core/time.ts';
import { type Alert, alertId } from './alert.ts';

/** What this gateway knows of its own files. */
export interface OwnFiles {
  /** Why the config file, or a certificate, was not taken into use; empty where all were. */
  readonly problems: readonly string[];
  readonly certificates: readonly OwnCertificate[];
}

/** Within this time it is one event, whichever gateway sees it. */
const RELOAD_EVENT_MS = HOUR_MS;

export class OwnFilesWatch {
  #refused = '';

  look({ problems, certificates }: OwnFiles, nowMs: number): readonly Alert[] {
    return [...this.#reload(problems, nowMs), ...certificates.flatMap((one) => expiry(one, nowMs))];
  }

  /** Once for what is wrong, until it is something else. */
  #reload(problems: readonly string[], nowMs: number): readonly Alert[] {
    const refused = problems.join('\n');
    if (refused === this.#refused) return [];
    this.#refused = refused;
    if (refused === '') return [];
    const id = alertId('reload.refused', refused, Math.floor(nowMs / RELOAD_EVENT_MS));
    return [{ id, type: 'reload.refused', atMs: nowMs, accountIds: [], data: { problems } }];
  }
}

function expiry({ listener, endsAtMs }: OwnCertificate, nowMs: number): readonly Alert[] {
  const stage = certificateStage(endsAtMs, nowMs);
  if (stage === null) return [];
  const data = { listener, expires_at: new Date(endsAtMs).toISOString(), expired: stage === 'over' };
  const id = alertId('certificate.expiring', listener, endsAtMs, stage);
  return [{ id, type: 'certificate.expiring', atMs: nowMs, accountIds: [], data }];
}
