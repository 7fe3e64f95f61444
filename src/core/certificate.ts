/** How long a certificate of the gateway's own is good for. */
import { DAY_MS } from './time.ts';

export interface OwnCertificate {
  readonly listener: 'public' | 'admin';
  readonly endsAtMs: number;
}

/** `soon`, `very soon`: time is left to renew it. `over`: clients refuse it. */
type CertificateStage = 'soon' | 'very soon' | 'over';

/** What is renewed automatically has a third of its life left: 30 days of 90, 15 of 47. */
const SOON_MS = 14 * DAY_MS;
const VERY_SOON_MS = 3 * DAY_MS;

/** Null: it is good for longer. */
export function certificateStage(endsAtMs: number, nowMs: number): CertificateStage | null {
  if (endsAtMs <= nowMs) return 'over';
  if (endsAtMs <= nowMs + VERY_SOON_MS) return 'very soon';
  return endsAtMs <= nowMs + SOON_MS ? 'soon' : null;
}
