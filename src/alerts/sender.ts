/** How each kind of receiver gets what is delivered to it. */
import type { AlertPolicy } from '../core/alert-policy.ts';
import type { Resolve } from './address.ts';
import { runCommand } from './command.ts';
import { Mailer, mailOf } from './mailer.ts';
import type { AccountReceiver, Delivery } from './port.ts';
import { ReceiverGone, type WayOptions } from './post.ts';
import { callSlack } from './slack.ts';
import type { SqlAlertStore } from './sql-store.ts';
import { CONFIGURED_KINDS, type ConfiguredKind, parseTarget } from './targets.ts';
import { callWebhook } from './webhook.ts';

export interface SenderOptions {
  readonly store: Pick<SqlAlertStore, 'webhooks' | 'receiver'>;
  readonly policy: () => AlertPolicy | null;
  /** The secret of an account's webhook, or the address of another receiver of it. */
  unseal(sealedFor: string, sealed: string): string;
  nowMs(): number;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
}

/** What the receiver says of a refusal, where it is the operator's own: `no_service`, `invalid_token`. */
const ANSWER_CHARACTERS = 200;

export class Sender {
  readonly #options: SenderOptions;
  readonly #mailer = new Mailer();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  close(): void {
    this.#mailer.close();
  }

  /** Resolves when the receiver has taken it. */
  async send(delivery: Delivery): Promise<void> {
    const policy = this.#options.policy();
    if (policy === null) throw new Error('alerts are switched off: the config file has no section alerts');
    const target = parseTarget(delivery.target);
    if (target.kind === 'account') return this.#sendToAccount(delivery, target.accountId, target.receiverId, policy);
    if (target.kind === 'command') {
      if (policy.command === null) throw new Error('the config file of this gateway has no alerts.command');
      return runCommand(policy.command, policy.commandPath, delivery.alertId, delivery.body);
    }
    return this.#sendToConfigured(delivery, target.kind, target.name, policy);
  }

  async #sendToConfigured(delivery: Delivery, kind: ConfiguredKind, name: string, policy: AlertPolicy): Promise<void> {
    const { alertId: id, body } = delivery;
    const way = this.#way(policy, policy.allowPrivate);
    const named = <Of extends { readonly name: string }>(all: readonly Of[]): Of => {
      const found = all.find((one) => one.name === name);
      // Another gateway may know it already, or still: it is tried again.
      if (found !== undefined) return found;
      throw new Error(`the config file of this gateway has no ${name} under alerts.${CONFIGURED_KINDS[kind]}`);
    };
    if (kind === 'webhook') {
      const { url, secret } = named(policy.webhooks);
      return callWebhook({ url, secret, id, body }, this.#options.nowMs(), way);
    }
    if (kind === 'slack')
      return callSlack(named(policy.slack).url, body, { ...way, answerCharacters: ANSWER_CHARACTERS });
    return this.#mail(delivery, named(policy.email).to, policy);
  }

  async #sendToAccount(
    delivery: Delivery,
    accountId: string,
    receiverId: string | null,
    policy: AlertPolicy,
  ): Promise<void> {
    const { store, unseal, nowMs } = this.#options;
    const { alertId: id, body } = delivery;
    // What an account's holder enters must not be a look into the operator's network.
    const way = this.#way(policy, policy.accountsAllowPrivate);
    if (receiverId === null) {
      const [webhook] = await store.webhooks([accountId]);
      if (webhook === undefined) throw new ReceiverGone(`account ${accountId} has no webhook any more`);
      const secret = unseal(`webhook ${accountId}`, webhook.sealedSecret);
      return callWebhook({ url: webhook.url, secret, id, body }, nowMs(), way);
    }
    const receiver = await store.receiver(receiverId);
    if (receiver === null) throw new ReceiverGone(`account ${accountId} has no receiver ${receiverId} any more`);
    const address = unseal(sealedFor(receiver), receiver.sealedAddress);
    return receiver.kind === 'slack' ? callSlack(address, body, way) : this.#mail(delivery, address, policy);
  }

  #mail(delivery: Delivery, to: string, policy: AlertPolicy): Promise<void> {
    const { smtp } = policy;
    if (smtp === null) throw new Error('the config file of this gateway has no alerts.smtp');
    return this.#mailer.send(mailOf(delivery, to, smtp.from), smtp, this.#way(policy, policy.allowPrivate));
  }

  #way({ ca }: AlertPolicy, allowPrivate: boolean): WayOptions {
    const { resolve, timeoutMs } = this.#options;
    return { allowPrivate, ca, ...(resolve && { resolve }), ...(timeoutMs !== undefined && { timeoutMs }) };
  }
}

/** What the address of a receiver is sealed for: it is of no use in the row of another one. */
export function sealedFor({ id, accountId }: Pick<AccountReceiver, 'id' | 'accountId'>): string {
  return `receiver ${accountId} ${id}`;
}
