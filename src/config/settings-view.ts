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

/** Whom alerts go to, and never what signs them or signs in. The path and query of an address can be secret too. */
function withoutSecrets(alerts: Policy['alerts']): unknown {
  if (alerts === null) return null;
  const { webhooks, slack, email, smtp, command, ca } = alerts;
  const { levels, creditsLeft, tokensLeft, allowPrivate, accountsAllowPrivate } = alerts;
  const hostOnly = ({ name, url, types }: (typeof slack)[number]) => ({ name, host: new URL(url).host, types });
  return {
    webhooks: webhooks.map(hostOnly),
    slack: slack.map(hostOnly),
    email,
    smtp: smtp && { host: smtp.host, port: smtp.port, tls: smtp.tls, login: whetherSet(smtp.login), from: smtp.from },
    command: whetherSet(command),
    ...{ levels, creditsLeft, tokensLeft, allowPrivate, accountsAllowPrivate },
    ca: whetherSet(ca),
  };
}

function snakeCased(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), snakeCased(member)]));
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
