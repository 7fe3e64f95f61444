/** The part of the config file about alerts. */

import type { Static } from 'typebox';
import {
  ALERT_SETTINGS,
  type AlertPolicy,
  type ConfiguredReceiver,
  SMTP_TLS,
  type SmtpPolicy,
} from '../core/alert-policy.ts';
import { ALERT_TYPES } from '../core/alert-types.ts';
import { EMAIL_ADDRESS } from '../core/email-address.ts';
import { Type } from '../lib/schema-builder.ts';
import { joinPath } from '../lib/schema-errors.ts';
import { closed, text } from '../lib/setting-rows.ts';
import type { Problem } from './problem.ts';
import type { Environment, Secrets } from './secrets.ts';

/** Of each kind. */
const RECEIVERS_MAX = 20;
const SMTP_PORTS = { starttls: 587, implicit: 465, off: 25 } as const;

const receiver = {
  name: text(
    '^[a-z0-9][a-z0-9._-]{0,63}$',
    'lower-case letters, digits, dots, dashes and underscores, at most 64, beginning with a letter or digit',
    'What its deliveries are called.',
  ),
  types: Type.Optional(
    Type.Array(Type.Enum([...ALERT_TYPES]), {
      minItems: 1,
      uniqueItems: true,
      description: 'The types of alerts that it gets. Default: all of them.',
    }),
  ),
};

const url = (description: string) =>
  text('^https?://[^\\s#@]+$', 'an https address without credentials, or http to a private one', description);

const address = (description: string) =>
  text(EMAIL_ADDRESS, 'one e-mail address in ASCII, such as ops@example.com', description);

const WebhookSchema = Type.Object(
  {
    ...receiver,
    url: url('Where alerts are posted to.'),
    secret: text(
      '^(whsec_[A-Za-z0-9+/]{32,}={0,2}|(?!whsec_)[!-~]{24,200})$',
      'whsec_ and a key in base64, or 24 to 200 printable ASCII characters without spaces',
      'Signs what is posted, as Standard Webhooks has it; best taken from the environment.',
    ),
  },
  closed,
);

const SlackSchema = Type.Object(
  {
    ...receiver,
    url: url(
      'The incoming webhook of a channel in Slack, or of what takes the same: Mattermost, Rocket.Chat, Google Chat, Discord with /slack behind its address. Best taken from the environment: whoever knows it can post.',
    ),
  },
  closed,
);

const EmailSchema = Type.Object({ ...receiver, to: address('Who gets it.') }, closed);

const SmtpSchema = Type.Object(
  {
    host: text('^[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$', 'the name or address of a host', 'The mail server.'),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Default: 587, with implicit TLS 465, without TLS 25.',
      }),
    ),
    tls: Type.Optional(
      Type.Enum([...SMTP_TLS], {
        description:
          'starttls: the connection is encrypted before anything is said, or not used. implicit: it begins with TLS. off: in the clear, only at a private address and without a password. Default: starttls.',
      }),
    ),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'The name to sign in with.' })),
    password: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: 'Best taken from the environment or a file.' }),
    ),
    from: address('The address of the sender.'),
  },
  { ...closed, description: 'How mail leaves. E-mail to receivers of this file and of accounts needs it.' },
);

export const AlertsSchema = Type.Optional(
  Type.Object(
    {
      webhooks: Type.Optional(Type.Array(WebhookSchema, { maxItems: RECEIVERS_MAX })),
      slack: Type.Optional(Type.Array(SlackSchema, { maxItems: RECEIVERS_MAX })),
      email: Type.Optional(Type.Array(EmailSchema, { maxItems: RECEIVERS_MAX })),
      smtp: Type.Optional(SmtpSchema),
      command: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
          minItems: 1,
          maxItems: 100,
          description:
            'A program and its arguments, run for each alert without a shell, with the alert as JSON on its input. Needs GATEWAY_ALLOW_EXEC=on.',
        }),
      ),
      ...ALERT_SETTINGS.properties,
      ca: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4096,
          description: 'A PEM file: authorities that may sign the certificates of receivers, besides the usual ones.',
        }),
      ),
    },
    {
      ...closed,
      description:
        'Alerts at levels of a balance, cap or budget, at an open circuit and more. Without it nothing is watched.',
    },
  ),
);

type AlertsFile = NonNullable<Static<typeof AlertsSchema>>;

export function readAlerts(
  file: AlertsFile | undefined,
  { env, secrets, allowExec }: { readonly env: Environment; readonly secrets: Secrets; readonly allowExec: boolean },
  problems: Problem[],
): AlertPolicy | null {
  if (file === undefined) return null;
  const settings = ALERT_SETTINGS.read(file);
  for (const kind of ['webhooks', 'slack'] as const) {
    for (const [index, { url }] of (file[kind] ?? []).entries()) {
      const path = joinPath(joinPath(`alerts.${kind}`, index), 'url');
      if (!URL.canParse(url)) problems.push({ path, message: 'cannot be read as an address' });
      else if (url.startsWith('http:') && !settings.allowPrivate) {
        problems.push({ path, message: 'http needs alerts.allow_private: true, and leads to a private address only' });
      }
    }
  }
  if (file.email !== undefined && file.smtp === undefined) {
    problems.push({ path: 'alerts.email', message: 'needs alerts.smtp: the server that mail leaves by' });
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
    webhooks: receiversIn('webhooks', file.webhooks, ({ url, secret }) => ({ url, secret }), problems),
    slack: receiversIn('slack', file.slack, ({ url }) => ({ url }), problems),
    email: receiversIn('email', file.email, ({ to }) => ({ to }), problems),
    smtp: file.smtp === undefined ? null : smtpOf(file.smtp, settings.allowPrivate, problems),
    command: file.command ?? null,
    commandPath: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    ...settings,
    ca: ca !== null && 'value' in ca ? ca.value : null,
  };
}

/** Each has a name of its own, and leads somewhere of its own: a receiver is not told twice. */
function receiversIn<Given extends { name: string; types?: string[] }, Own extends object>(
  kind: 'webhooks' | 'slack' | 'email',
  given: readonly Given[] = [],
  own: (one: Given) => Own,
  problems: Problem[],
): readonly (ConfiguredReceiver & Own)[] {
  const names = new Set<string>();
  const places = new Set<string>();
  return given.map((one, index) => {
    const { name, types = null } = one;
    const path = joinPath(`alerts.${kind}`, index);
    if (names.has(name)) {
      const message = `\`${name}\` is the name of another one of alerts.${kind} already`;
      problems.push({ path: joinPath(path, 'name'), message });
    }
    const place = JSON.stringify(own(one)).toLowerCase();
    if (places.has(place)) problems.push({ path, message: 'leads to the same place as one before it' });
    names.add(name);
    places.add(place);
    return { name, types, ...own(one) };
  });
}

function smtpOf(
  { host, port, tls = 'starttls', user, password, from }: NonNullable<AlertsFile['smtp']>,
  allowPrivate: boolean,
  problems: Problem[],
): SmtpPolicy {
  const wrong = (name: string, message: string): void => {
    problems.push({ path: joinPath('alerts.smtp', name), message });
  };
  if ((user === undefined) !== (password === undefined)) wrong('user', 'and password are given together, or neither');
  if (tls === 'off' && password !== undefined) wrong('password', 'is never sent in the clear: tls must not be off');
  if (tls === 'off' && !allowPrivate) {
    wrong('tls', 'off needs alerts.allow_private: true, and leads to a private address only');
  }
  const login = user === undefined || password === undefined ? null : { user, password };
  return { host, port: port ?? SMTP_PORTS[tls], tls, login, from };
}
