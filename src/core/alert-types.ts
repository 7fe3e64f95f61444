/** What alerts there are: a webhook can be configured for some of them. */
export const ALERT_TYPES = [
  'usage.level',
  'key.expiring',
  'circuit.open',
  'credential.refused',
  'audit.failed',
  'charge.shortfall',
  'spend.below_cost',
  'reload.refused',
  'certificate.expiring',
  'alert.test',
] as const;

export type AlertType = (typeof ALERT_TYPES)[number];
