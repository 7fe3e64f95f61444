/** The settings of the config file that are in force, for the operator: as the file would write them, and never a secret. */
import type { AlertPolicy } from '../core/alert-policy.ts';
import {
  AUDIT,
  LIMITS,
  PROVIDERS_BY_API,
  REQUEST_LOG,
  RESPONSES,
  ROUTING,
  RUNS,
  SINGLE,
  STATEMENTS,
  STREAMS,
  USAGE_RECORDS,
} from '../core/policy.ts';
import type { Config } from './config.ts';
import type { FileConfig } from './schema.ts';
import { type SettingInForce, whetherSet } from './settings.ts';

/** Sections that take no secret: what the file has is shown, else the default. */
const SECTIONS = {
  limits: LIMITS,
  streams: STREAMS,
  responses: RESPONSES,
  runs: RUNS,
  request_log: REQUEST_LOG,
  usage: USAGE_RECORDS,
  statements: STATEMENTS,
  providers_by_api: PROVIDERS_BY_API,
  audit: AUDIT,
  routing: ROUTING,
};

/** What is not in force as it is written, or must not be shown like that. A test compares all names with the schema. */
const OTHERS: Readonly<Record<string, (config: Config) => unknown>> = {
  sandbox: ({ sandbox }) => sandbox,
  model_lists: ({ modelLists }) => modelLists,
  'credits.usd_per_credit': ({ usdPerCredit }) => usdPerCredit,
  'tls.cert': ({ tls }) => tls?.cert ?? null,
  'tls.key': ({ tls }) => tls?.key ?? null,
  'routing.order': ({ routing }) => routing.order,
  'alerts.webhooks': ofAlerts(({ webhooks }) => webhooks.map(hostOnly)),
  'alerts.slack': ofAlerts(({ slack }) => slack.map(hostOnly)),
  'alerts.email': ofAlerts(({ email }) => email.map((one) => `${one.name} (${one.to})${typesOf(one)}`)),
  'alerts.smtp.host': ofAlerts(({ smtp }) => smtp?.host),
  'alerts.smtp.port': ofAlerts(({ smtp }) => smtp?.port),
  'alerts.smtp.tls': ofAlerts(({ smtp }) => smtp?.tls),
  'alerts.smtp.user': ofAlerts(({ smtp }) => whetherSet(smtp?.login ?? null)),
  'alerts.smtp.password': ofAlerts(({ smtp }) => whetherSet(smtp?.login ?? null)),
  'alerts.smtp.from': ofAlerts(({ smtp }) => smtp?.from),
  'alerts.command': ofAlerts(({ command }) => whetherSet(command)),
  'alerts.levels': ofAlerts(({ levels }) => levels),
  'alerts.credits_left': ofAlerts(({ creditsLeft }) => creditsLeft),
  'alerts.tokens_left': ofAlerts(({ tokensLeft }) => tokensLeft),
  'alerts.allow_private': ofAlerts(({ allowPrivate }) => allowPrivate),
  'alerts.accounts_allow_private': ofAlerts(({ accountsAllowPrivate }) => accountsAllowPrivate),
  'alerts.ca': ofAlerts(({ ca }) => whetherSet(ca)),
};

export function fileInForce(config: Config): readonly SettingInForce[] {
  const { file } = config.source;
  const plain = Object.entries({ ...SINGLE.defaults, ...sectionDefaults() })
    .filter(([name]) => !(name in OTHERS))
    .map(([name, fallback]) => ({ name, value: written(file, name) ?? fallback }));
  const others = Object.entries(OTHERS).map(([name, show]) => ({ name, value: show(config) ?? null }));
  return [...plain, ...others].map((row) => ({ ...row, from: sourceOf(row.name, config) }));
}

function sectionDefaults(): Readonly<Record<string, unknown>> {
  const rows = Object.entries(SECTIONS).flatMap(([section, { defaults }]) =>
    Object.entries(defaults).map(([name, fallback]) => [`${section}.${name}`, fallback]),
  );
  return Object.fromEntries(rows);
}

/** The environment names a certificate before the file does. */
function sourceOf(name: string, { source: { file }, tls }: Config): SettingInForce['from'] {
  if (name.startsWith('tls.') && tls !== null && tls !== file.tls) return 'environment';
  return written(file, name) === undefined ? 'default' : 'file';
}

function written(file: FileConfig, name: string): unknown {
  return name.split('.').reduce<unknown>((at, key) => (at === undefined ? at : Reflect.get(Object(at), key)), file);
}

function ofAlerts(show: (alerts: AlertPolicy) => unknown): (config: Config) => unknown {
  return ({ alerts }) => (alerts === null ? null : show(alerts));
}

/** The path and query of an address can be secret. */
function hostOnly(one: AlertPolicy['slack'][number]): string {
  return `${one.name} (${new URL(one.url).host})${typesOf(one)}`;
}

function typesOf({ types }: AlertPolicy['slack'][number] | AlertPolicy['email'][number]): string {
  return types === null ? '' : `: ${types.join(', ')}`;
}
