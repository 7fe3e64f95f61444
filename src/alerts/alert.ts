/** What an operator or a customer is told without asking, and the ids that make a repeat harmless. */
import { hash } from 'node:crypto';
import type { AlertType } from '../core/alert-types.ts';

export interface Alert {
  /** The same for the same event, whoever notices it, and however often. */
  readonly id: string;
  readonly type: AlertType;
  readonly atMs: number;
  /** The accounts that it concerns, the nearest first: their own webhooks get it too. */
  readonly accountIds: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** `event` is what makes this one differ from all others of its type. */
export function alertId(type: AlertType, ...event: readonly (string | number)[]): string {
  return `alrt_${hash('sha256', JSON.stringify([type, ...event]), 'hex').slice(0, 24)}`;
}

/** The body of a webhook, and what a command reads. */
export function alertBody({ type, atMs, data }: Alert): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data });
}

/** What is read of such a body again. */
export interface AlertContent {
  readonly type: AlertType;
  readonly timestamp: string;
  readonly data: Alert['data'];
}

export function alertContent(body: string): AlertContent {
  return JSON.parse(body) as AlertContent;
}

/** The same without a name, where it is about one of these keys or accounts; null where it has none of theirs. */
export function withoutName(body: string, ids: ReadonlySet<string>): string | null {
  const content = alertContent(body);
  const { key, account, name } = content.data;
  if (typeof name !== 'string' || !ids.has(String(key ?? account))) return null;
  return JSON.stringify({ ...content, data: { ...content.data, name: null } });
}
