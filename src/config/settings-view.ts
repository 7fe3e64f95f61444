/**
 * The settings in force, for the operator. Each has to say here how it is shown, so that a new one cannot give a secret
 * away by being forgotten.
 */
import type { Policy } from '../core/policy.ts';
import type { Settings } from './config.ts';

type Shown<Of> = { readonly [Name in keyof Required<Of>]: (value: Of[Name]) => unknown };

const asIs = (value: unknown): unknown => value;
const whetherSet = (value: unknown): string | null => (value === null ? null : 'set');

const SETTINGS: Shown<Settings> = {
  host: asIs,
  port: asIs,
  adminHost: asIs,
  adminPort: asIs,
  adminHosts: asIs,
  adminTls: asIs,
  adminProxy: asIs,
  metricsToken: whetherSet,
  oidc: (oidc) => oidc && { ...oidc, clientSecret: whetherSet(oidc.clientSecret) },
  metricsPerKey: asIs,
  publicUrl: asIs,
  trustedProxies: asIs,
  proxyHeader: asIs,
  corsOrigins: asIs,
  dataDir: asIs,
  configFile: asIs,
  configFileNamed: asIs,
  databaseUrl: withoutCredentials,
  installationSecret: whetherSet,
  leaseMs: asIs,
  workers: asIs,
  tls: asIs,
  logLevel: asIs,
  discoverLocal: asIs,
  allowExec: asIs,
  execRefreshMs: asIs,
  sandboxStrict: asIs,
};

const POLICY: Shown<Policy> = {
  limits: asIs,
  usdPerCredit: asIs,
  streams: asIs,
  holds: asIs,
  elasticKeys: asIs,
  routing: asIs,
  responses: asIs,
  requestLog: asIs,
  accessLog: asIs,
  alerts: withoutSecrets,
  auditEveryMs: asIs,
  accountPage: asIs,
};

export function settingsView(settings: Settings): Readonly<Record<string, unknown>> {
  return shown(settings, SETTINGS);
}

export function policyView(policy: Policy): Readonly<Record<string, unknown>> {
  return shown(policy, POLICY);
}

function shown<Of extends object>(values: Of, how: Shown<Of>): Readonly<Record<string, unknown>> {
  const names = Object.keys(how) as (keyof Of & string)[];
  return Object.fromEntries(names.map((name) => [snakeCase(name), snakeCased(how[name](values[name]))]));
}

/** Host, port and database: what is before the `@`, and the parameters, can be secret. */
function withoutCredentials(url: string | null): string | null {
  if (url === null) return null;
  const { protocol, hostname, port, pathname } = new URL(url);
  return `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
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
