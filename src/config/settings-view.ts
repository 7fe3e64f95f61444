/**
 * The settings in force, for the operator. Each has to say here how it is shown, so that a new one cannot give a secret
 * away by being forgotten.
 */
import type { Policy } from '../core/policy.ts';
import { SETTING_VIEWS, type Settings, type Shown, whetherSet } from './settings.ts';

const asIs = (value: unknown): unknown => value;

const POLICY: Shown<Policy> = {
  limits: asIs,
  usdPerCredit: asIs,
  streams: asIs,
  holds: asIs,
  elasticKeys: asIs,
  routing: asIs,
  responses: asIs,
  runs: asIs,
  requestLog: asIs,
  statements: ({ creditPriceNanos, ...texts }) => ({ ...texts, creditPrice: Number(creditPriceNanos) / 1e9 }),
  providersByApi: asIs,
  accessLog: asIs,
  alerts: withoutSecrets,
  auditEveryMs: asIs,
  accountPage: asIs,
};

export function settingsView(settings: Settings): Readonly<Record<string, unknown>> {
  return shown(settings, SETTING_VIEWS);
}

export function policyView(policy: Policy): Readonly<Record<string, unknown>> {
  return shown(policy, POLICY);
}

function shown<Of extends object>(values: Of, how: Shown<Of>): Readonly<Record<string, unknown>> {
  const names = Object.keys(how) as (keyof Of & string)[];
  return Object.fromEntries(names.map((name) => [snakeCase(name), snakeCased(how[name](values[name]))]));
}

/** Whom webhooks go to, and never what signs them. The query of an address can be secret too. */
function withoutSecrets(alerts: Policy['alerts']): unknown {
  if (alerts === null) return null;
  const webhooks = alerts.webhooks.map(({ name, url, types }) => ({ name, host: new URL(url).host, types }));
  const { allowPrivate, accountsAllowPrivate, command, ca } = alerts;
  return { webhooks, command: whetherSet(command), allowPrivate, accountsAllowPrivate, ca: whetherSet(ca) };
}

function snakeCased(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), snakeCased(member)]));
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
