/**
 * Delivers what is due. A delivery is leased first and marked last: whoever dies in between leaves it to be delivered again,
 * with the same id. Of several gateways, one has the lease.
 */
import type { AlertPolicy } from '../core/policy.ts';
import { HOUR_MS } from '../core/time.ts';
import { runCommand } from './command.ts';
import type { AlertStore, Delivery } from './port.ts';
import { callWebhook, WebhookGone, type WebhookOptions } from './webhook.ts';

/** Longer than an attempt may take. */
const LEASE_MS = 60_000;
const AT_ONCE = 10;
const SECOND_MS = 1_000;
/** How long after each attempt the next one is made; after the last of them it is a dead letter. */
export const RETRY_AFTER_MS: readonly number[] = [
  ...[5 * SECOND_MS, 60 * SECOND_MS, 300 * SECOND_MS, 1_800 * SECOND_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
const ERROR_CHARACTERS_MAX = 500;

export interface DelivererOptions {
  readonly store: AlertStore;
  readonly policy: () => AlertPolicy | null;
  /** The secret of an account's webhook. */
  unseal(accountId: string, sealed: string): string;
  nowMs(): number;
  readonly resolve?: WebhookOptions['resolve'];
  readonly timeoutMs?: WebhookOptions['timeoutMs'];
}

export class Deliverer {
  readonly #options: DelivererOptions;

  constructor(options: DelivererOptions) {
    this.#options = options;
  }

  /** All that is due now; how many were tried. */
  async deliverDue(): Promise<number> {
    const { store, nowMs } = this.#options;
    const due = await store.lease(nowMs(), nowMs() + LEASE_MS, AT_ONCE);
    await Promise.all(due.map((delivery) => this.#deliver(delivery)));
    return due.length;
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { store, nowMs } = this.#options;
    try {
      await this.#send(delivery);
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARACTERS_MAX);
      const waitMs = error instanceof WebhookGone ? undefined : RETRY_AFTER_MS[delivery.attempts];
      await store.failed(delivery, message, waitMs === undefined ? null : nowMs() + waitMs, nowMs());
      return;
    }
    await store.delivered(delivery, nowMs());
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
