/** What the operator decided about alerts: what is told, to whom, and how it gets there. */
import type { TSchema } from 'typebox';
import { Type } from '../lib/schema-builder.ts';
import { flag, section, setting, type Values } from '../lib/setting-rows.ts';

/** Percents of a balance, cap or budget that are told where the file names no others. */
const LEVELS = [50, 80, 95, 100];

function amounts<Field extends string>(field: Field, item: TSchema, description: string, fallback: readonly number[]) {
  const schema = Type.Array(item, { maxItems: 20, uniqueItems: true, description });
  return setting(field, schema, fallback, (given) => given as readonly number[]);
}

export const ALERT_SETTINGS = section({
  levels: amounts(
    'levels',
    Type.Integer({ minimum: 1, maximum: 100 }),
    `Percents of a balance, cap or budget that are told when they are used. Default: ${LEVELS.join(', ')}.`,
    LEVELS,
  ),
  credits_left: amounts(
    'creditsLeft',
    Type.Number({ minimum: 0.000_001, maximum: 1_000_000 }),
    'Amounts of credits that are told when no more than that is left of a balance or cap. Default: none.',
    [],
  ),
  tokens_left: amounts(
    'tokensLeft',
    Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 }),
    'Numbers of tokens that are told when no more than that is left of a budget or cap. Default: none.',
    [],
  ),
  allow_private: flag(
    'allowPrivate',
    'Whether the receivers of this file may be on this machine or in a private network, and be called by http there.',
    false,
  ),
  accounts_allow_private: flag(
    'accountsAllowPrivate',
    'Whether receivers of accounts, which their holders set, may be there too, by https: only where you trust all of them with your network.',
    false,
  ),
});

/** Who is told of what, without asking. */
export interface AlertPolicy extends Values<typeof ALERT_SETTINGS> {
  readonly webhooks: readonly ConfiguredWebhook[];
  readonly slack: readonly ConfiguredSlack[];
  readonly email: readonly ConfiguredEmail[];
  /** How mail leaves; null: it does not. */
  readonly smtp: SmtpPolicy | null;
  /** The program and its arguments; null: none. */
  readonly command: readonly string[] | null;
  /** Where the program is looked for. */
  readonly commandPath: string;
  /** Authorities that may sign the certificates of receivers besides the usual ones, PEM; null: no others. */
  readonly ca: string | null;
}

export interface ConfiguredReceiver {
  readonly name: string;
  /** The types of alerts that it gets; null: all of them. */
  readonly types: readonly string[] | null;
}

export interface ConfiguredWebhook extends ConfiguredReceiver {
  readonly url: string;
  readonly secret: string;
}

export interface ConfiguredSlack extends ConfiguredReceiver {
  /** Whoever knows it can post: it is a secret. */
  readonly url: string;
}

export interface ConfiguredEmail extends ConfiguredReceiver {
  readonly to: string;
}

/** `off`: in the clear, at a private address and without a password. */
export const SMTP_TLS = ['starttls', 'implicit', 'off'] as const;

export interface SmtpPolicy {
  readonly host: string;
  readonly port: number;
  readonly tls: (typeof SMTP_TLS)[number];
  /** Null: whoever connects may send. */
  readonly login: { readonly user: string; readonly password: string } | null;
  /** The address of the sender. */
  readonly from: string;
}
