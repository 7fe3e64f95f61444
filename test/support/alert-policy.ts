/** Alerts that nobody is told of, unless a test says who is. */
import { ALERT_SETTINGS, type AlertPolicy } from '../../src/core/alert-policy.ts';

export function alertPolicy(change: Partial<AlertPolicy> = {}): AlertPolicy {
  return {
    webhooks: [],
    slack: [],
    email: [],
    smtp: null,
    command: null,
    commandPath: '/usr/bin:/bin',
    ...ALERT_SETTINGS.read(),
    ca: null,
    ...change,
  };
}
