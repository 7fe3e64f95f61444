/** What is kept of alerts: each of them, its deliveries, and where balances are counted from. */
import type { AlertType } from '../core/alert-types.ts';
import type { Alert } from './alert.ts';
import type { BalanceBase } from './shares.ts';

/** `dead`: it was tried for the last time; nobody has got it. */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface Delivery {
  readonly alertId: string;
  /** The name of whoever gets it: `webhook NAME`, `command` or `account ID`. */
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

export type DeliveryFilter = Partial<Pick<Delivery, 'alertId' | 'target'>>;

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

export interface PageQuery {
  readonly limit: number;
  /** Only what was stored before this number. */
  readonly before: number | null;
}

/** Several gateways may share it. Every operation is one statement, so that none of them sees half of one. */
export interface AlertStore {
  /** The alert with a delivery for each target, or nothing where it is known; whether it is new. */
  raise(alert: Alert, targets: readonly string[], nowMs: number): Promise<boolean>;
  /** Targets with a delivery that is due and that nobody has leased; who waits longest is first. */
  dueTargets(nowMs: number, limit: number): Promise<readonly string[]>;
  /** Deliveries that are due, for this caller alone until `leaseUntilMs`: of all, or of one target or alert. */
  lease(nowMs: number, leaseUntilMs: number, limit: number, of?: DeliveryFilter): Promise<readonly Delivery[]>;
  delivered(delivery: Delivery, nowMs: number): Promise<void>;
  /** To be tried again at `dueAtMs`, or, where that is null, never. */
  failed(delivery: Delivery, error: string, dueAtMs: number | null, nowMs: number): Promise<void>;
  /** Newest first. */
  alerts(query: PageQuery & { readonly type: AlertType | null }): Promise<readonly StoredAlert[]>;
  /** Newest first. */
  deliveries(
    query: PageQuery & { readonly state: DeliveryState | null; readonly alertId: string | null },
  ): Promise<readonly (Delivery & { readonly number: number })[]>;

  base(subject: string): Promise<BalanceBase | null>;
  putBase(subject: string, base: BalanceBase): Promise<void>;

  webhooks(accountIds: readonly string[]): Promise<readonly AccountWebhook[]>;
  putWebhook(webhook: AccountWebhook): Promise<void>;
  /** Whether there was one. */
  removeWebhook(accountId: string): Promise<boolean>;

  /** Whether `owner` is the one who watches, from now until `untilMs`. */
  watchAs(owner: string, nowMs: number, untilMs: number): Promise<boolean>;
  prune(untilMs: number): Promise<void>;
}
