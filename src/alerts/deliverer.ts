/**
 * Delivers what is due, of many receivers at once and of each of them one after the other: one that hangs holds up nobody else.
 * A delivery is leased first and marked last: whoever dies in between leaves it to be delivered again,
 * with the same id. Of several gateways, one has the lease.
 */
import type { AlertPolicy } from '../core/policy.ts';
import { HOUR_MS } from '../core/time.ts';
import { runCommand } from './command.ts';
import type { Delivery } from './port.ts';
import type { SqlAlertStore } from './sql-store.ts';
import { callWebhook, WebhookGone, type WebhookOptions } from './webhook.ts';

/** Longer than an attempt may take. */
const LEASE_MS = 60_000;
const AT_ONCE = 64;
/** Of one account, with all below it: whoever has many receivers that hang must leave room for others. */
const OF_AN_ACCOUNT_AT_ONCE = 2;
/** Targets that are looked at together. */
const TARGETS_MAX = 1_000;
const SECOND_MS = 1_000;
/** How long after each attempt the next one is made; after the last of them it is a dead letter. */
export const RETRY_AFTER_MS: readonly number[] = [
  ...[5 * SECOND_MS, 60 * SECOND_MS, 300 * SECOND_MS, 1_800 * SECOND_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
const ERROR_CHARACTERS_MAX = 500;

export interface DelivererOptions {
  readonly store: SqlAlertStore;
  readonly policy: () => AlertPolicy | null;
  /** The account at the root of its tree. */
  rootOf(accountId: string): Promise<string>;
  /** The secret of an account's webhook. */
  unseal(accountId: string, sealed: string): string;
  nowMs(): number;
  readonly resolve?: WebhookOptions['resolve'];
  readonly timeoutMs?: WebhookOptions['timeoutMs'];
}

export class Deliverer {
  readonly #options: DelivererOptions;
  /** Targets that are being delivered to, with what each does. */
  readonly #running = new Map<string, Promise<void>>();
  /** How many of those each account has. */
  readonly #shares = new Map<string, number>();
  #closed = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /** All that is due and has its turn, and what has it behind that; resolves when each was tried. */
  async deliverDue(): Promise<void> {
    const { store, nowMs } = this.#options;
    if (this.#closed) return;
    const due: { readonly target: string; readonly account: string }[] = [];
    for (const target of await store.dueTargets(nowMs(), TARGETS_MAX)) {
      due.push({ target, account: await this.#accountOf(target) });
    }
    // What has ended leaves its place to what waits.
    const begun = due.flatMap(
      ({ target, account }) => this.#begin(target, account)?.then(() => this.deliverDue()) ?? [],
    );
    await Promise.all(begun);
  }

  /** Those of one alert, whatever else is being delivered; resolves when each was tried. */
  async deliverAlert(alertId: string): Promise<void> {
    const { store, nowMs } = this.#options;
    const leased = await store.lease(nowMs(), nowMs() + LEASE_MS, TARGETS_MAX, { alertId });
    await Promise.all(leased.map((delivery) => this.#deliver(delivery)));
  }

  /** Begins nothing more; resolves when nothing is being delivered. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running.values());
  }

  /** Null where it has to wait. */
  #begin(target: string, account: string): Promise<void> | null {
    const share = this.#shares.get(account) ?? 0;
    if (this.#closed || this.#running.size >= AT_ONCE) return null;
    if (this.#running.has(target) || share >= OF_AN_ACCOUNT_AT_ONCE) return null;
    this.#shares.set(account, share + 1);
    const running = this.#deliverTo(target).finally(() => this.#ended(target, account));
    this.#running.set(target, running);
    return running;
  }

  /** One after the other, as long as they are taken. */
  async #deliverTo(target: string): Promise<void> {
    const { store, nowMs } = this.#options;
    for (let taken = true; taken && !this.#closed; ) {
      const [delivery] = await store.lease(nowMs(), nowMs() + LEASE_MS, 1, { target });
      taken = delivery !== undefined && (await this.#deliver(delivery));
    }
  }

  #ended(target: string, account: string): void {
    this.#running.delete(target);
    const share = (this.#shares.get(account) ?? 1) - 1;
    if (share > 0) this.#shares.set(account, share);
    else this.#shares.delete(account);
  }

  /** Whose share a target takes: its own, where it is not an account's. */
  async #accountOf(target: string): Promise<string> {
    const [kind, id] = target.split(' ', 2);
    return kind === 'account' && id !== undefined ? this.#options.rootOf(id) : target;
  }

  /** Whether it was taken. */
  async #deliver(delivery: Delivery): Promise<boolean> {
    const { store, nowMs } = this.#options;
    try {
      await this.#send(delivery);
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARACTERS_MAX);
      const waitMs = error instanceof WebhookGone ? undefined : RETRY_AFTER_MS[delivery.attempts];
      await store.failed(delivery, message, waitMs === undefined ? null : nowMs() + waitMs, nowMs());
      return false;
    }
    await store.delivered(delivery, nowMs());
    return true;
  }

  async #send({ alertId, target, body }: Delivery): Promise<void> {
    const { store, unseal, nowMs, resolve, timeoutMs } = this.#options;
    const policy = this.#options.policy();
    if (policy === null) throw new Error('alerts are switched off: the config file has no section alerts');
    const [kind, name = ''] = target.split(' ', 2);
    const options: WebhookOptions = {
      // What an account's holder enters must not be a look into the operator's network.
      allowPrivate: kind === 'webhook' ? policy.allowPrivate : policy.accountsAllowPrivate,
      ca: policy.ca,
      nowMs,
      ...(resolve && { resolve }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
    if (kind === 'command') {
      if (policy.command === null) throw new WebhookGone('the config file has no alerts.command any more');
      return runCommand(policy.command, policy.commandPath, alertId, body);
    }
    if (kind === 'webhook') {
      const webhook = policy.webhooks.find((configured) => configured.name === name);
      if (webhook === undefined) throw new WebhookGone(`the config file has no webhook ${name} any more`);
      return callWebhook({ url: webhook.url, secret: webhook.secret, id: alertId, body }, options);
    }
    const [webhook] = await store.webhooks([name]);
    if (webhook === undefined) throw new WebhookGone(`account ${name} has no webhook any more`);
    const secret = unseal(name, webhook.sealedSecret);
    return callWebhook({ url: webhook.url, secret, id: alertId, body }, options);
  }
}
