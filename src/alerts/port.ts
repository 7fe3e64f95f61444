/** What is kept of alerts: each of them, its deliveries, and where balances are counted from. */
import type { AlertType } from '../core/alert-types.ts';

/** `dead`: it was tried for the last time; nobody has got it. */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface Delivery {
  readonly alertId: string;
  /** The name of whoever gets it, as in targets.ts. */
  readonly target: string;
  readonly type: AlertType;
  readonly atMs: number;
  readonly body: string;
  readonly state: DeliveryState;
  /** How often it was tried. */
  readonly attempts: number;
  /** When it is tried next; where it has ended, when that was. */
  readonly dueAtMs: number;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

/** A target, with when the first of its deliveries is due, and the number of the oldest. */
export interface DueTarget {
  readonly target: string;
  readonly dueAtMs: number;
  readonly number: number;
}

export interface StoredAlert {
  readonly number: number;
  readonly id: string;
  readonly type: AlertType;
  readonly atMs: number;
  readonly body: string;
}

/** The webhook of an account; its secret is encrypted. */
export interface AccountWebhook {
  readonly accountId: string;
  readonly url: string;
  readonly sealedSecret: string;
}

export const RECEIVER_KINDS = ['slack', 'email'] as const;
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

/** What else an account has to be told by; the address of a Slack channel is a secret, and encrypted. */
export interface AccountReceiver {
  /** Begins with the kind. */
  readonly id: string;
  readonly accountId: string;
  readonly kind: ReceiverKind;
  /** What may be shown of the address. */
  readonly shown: string;
  readonly sealedAddress: string;
}

/** What became of the deliveries to a target, as far as it is known. */
export interface TargetResult {
  readonly deliveredAtMs: number | null;
  readonly failedAtMs: number | null;
  /** Why it failed then. */
  readonly error: string | null;
}

export interface PageQuery {
  readonly limit: number;
  /** Only what was stored before this number. */
  readonly before: number | null;
}
