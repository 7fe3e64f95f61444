/** The part of the config file about alerts. */

import type { Static } from 'typebox';
import { ALERT_TYPES } from '../core/alert-types.ts';
import { ALERT_SWITCHES, type AlertPolicy, type ConfiguredWebhook } from '../core/policy.ts';
import { Type } from '../lib/schema-builder.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { closed, text } from '../lib/setting-rows.ts';
import type { Problem } from './problem.ts';
import type { Environment, Secrets } from './secrets.ts';

const WEBHOOKS_MAX = 20;

const WebhookSchema = Type.Object(
  {
    name: text(
      '^[a-z0-9][a-z0-9._-]{0,63}$',
      'lower-case letters, digits, dots, dashes and underscores, at most 64, beginning with a letter or digit',
      'What its deliveries are called.',
    ),
    url: text('^https://[^\\s#@]+$', 'an https address without credentials', 'Where alerts are posted to.'),
    secret: text(
      '^(whsec_[A-Za-z0-9+/]{32,}={0,2}|(?!whsec_)[!-~]{24,200})$',
      'whsec_ and a key in base64, or 24 to 200 printable ASCII characters without spaces',
      'Signs what is posted, as Standard Webhooks has it; best taken from the environment.',
    ),
    types: Type.Optional(
      Type.Array(Type.Enum([...ALERT_TYPES]), {
        minItems: 1,
        uniqueItems: true,
        description: 'The types of alerts that it gets. Default: all of them.',
      }),
    ),
  },
  closed,
);

export const AlertsSchema = Type.Optional(
  Type.Object(
    {
      webhooks: Type.Optional(Type.Array(WebhookSchema, { maxItems: WEBHOOKS_MAX })),
      command: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
          minItems: 1,
          maxItems: 100,
          description:
            'A program and its arguments, run for each alert without a shell, with the alert as JSON on its input. Needs GATEWAY_ALLOW_EXEC=on.',
        }),
      ),
      ...ALERT_SWITCHES.properties,
      ca: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4096,
          description: 'A PEM file: authorities that may sign the certificates of webhooks, besides the usual ones.',
        }),
      ),
    },
    {
      ...closed,
      description:
        'Alerts at 50, 80, 95 and 100 % of a balance, cap or budget, at an open circuit and more. Without it nothing is watched.',
    },
  ),
);

export function readAlerts(
  file: Static<typeof AlertsSchema> | undefined,
  { env, secrets, allowExec }: { readonly env: Environment; readonly secrets: Secrets; readonly allowExec: boolean },
  problems: Problem[],
): AlertPolicy | null {
  if (file === undefined) return null;
  const webhooks: ConfiguredWebhook[] = [];
  for (const [index, { name, url, secret, types }] of (file.webhooks ?? []).entries()) {
    const path = joinPath('alerts.webhooks', index);
    if (!URL.canParse(url)) problems.push({ path: joinPath(path, 'url'), message: 'cannot be read as an address' });
    if (webhooks.some((other) => other.name === name)) {
      problems.push({ path: joinPath(path, 'name'), message: `\`${name}\` is the name of another webhook already` });
    }
    webhooks.push({ name, url, secret, types: types ?? null });
  }
  if (file.command !== undefined && !allowExec) {
    problems.push({
      path: 'alerts.command',
      message: 'needs GATEWAY_ALLOW_EXEC=on: a config file runs no program otherwise',
    });
  }
  const ca = file.ca === undefined ? null : secrets.file(file.ca);
  if (ca !== null && 'problem' in ca) problems.push({ path: 'alerts.ca', message: ca.problem });
  if (ca !== null && 'value' in ca && !ca.value.includes('-----BEGIN CERTIFICATE-----')) {
    problems.push({ path: 'alerts.ca', message: `${file.ca} has no certificate in PEM format` });
  }
  return {
    webhooks,
    command: file.command ?? null,
    commandPath: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    ...ALERT_SWITCHES.read(file),
    ca: ca !== null && 'value' in ca ? ca.value : null,
  };
}
