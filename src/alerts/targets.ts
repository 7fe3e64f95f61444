/** Who gets an alert, as deliveries name it: `webhook NAME`, `slack NAME`, `email NAME`, `command`, `account ID`, `account ID RECEIVER`. */
import type { AlertPolicy } from '../core/alert-policy.ts';
import type { Alert } from './alert.ts';

export const COMMAND_TARGET = 'command';

/** The receivers of the config file, by the kind that their targets begin with. */
export const CONFIGURED_KINDS = { webhook: 'webhooks', slack: 'slack', email: 'email' } as const;
export type ConfiguredKind = keyof typeof CONFIGURED_KINDS;

export type Target =
  | { readonly kind: ConfiguredKind; readonly name: string }
  | { readonly kind: 'command' }
  /** Without a receiver: the webhook of the account. */
  | { readonly kind: 'account'; readonly accountId: string; readonly receiverId: string | null };

export function parseTarget(target: string): Target {
  const [kind = '', name = '', receiverId = null] = target.split(' ', 3);
  if (kind === 'account') return { kind, accountId: name, receiverId };
  return isConfiguredKind(kind) ? { kind, name } : { kind: 'command' };
}

function isConfiguredKind(kind: string): kind is ConfiguredKind {
  return Object.hasOwn(CONFIGURED_KINDS, kind);
}

export function accountTarget(accountId: string, receiverId: string | null = null): string {
  return receiverId === null ? `account ${accountId}` : `account ${accountId} ${receiverId}`;
}

/** Whether it gets mail: the id of an account's receiver begins with its kind. */
export function isMailed(target: Target): boolean {
  return target.kind === 'email' || (target.kind === 'account' && target.receiverId?.startsWith('email_') === true);
}

/** Those of the config file that are told of it. */
export function configuredTargets(policy: AlertPolicy, type: Alert['type']): readonly string[] {
  const kinds = Object.keys(CONFIGURED_KINDS) as ConfiguredKind[];
  const named = kinds.flatMap((kind) =>
    policy[CONFIGURED_KINDS[kind]]
      .filter(({ types }) => types === null || types.includes(type))
      .map(({ name }) => `${kind} ${name}`),
  );
  return policy.command === null ? named : [...named, COMMAND_TARGET];
}
