/** Who is told: the receivers of the config file, and those that accounts have of their own. */
import { randomBytes } from 'node:crypto';
import type { AlertPolicy } from '../core/alert-policy.ts';
import { seal, unseal } from '../operators/secrets.ts';
import type { AccountReceiver, ReceiverKind, TargetResult } from './port.ts';
import { sealedFor } from './sender.ts';
import type { SqlAlertStore } from './sql-store.ts';
import { accountTarget, COMMAND_TARGET } from './targets.ts';
import { newWebhookSecret } from './webhook.ts';

interface ReceiversOptions {
  readonly store: SqlAlertStore;
  readonly policy: () => AlertPolicy | null;
  readonly installationSecret: string;
}

/** The webhook of an account as it is shown; the secret is there once, when it was made. */
export interface WebhookOf {
  readonly accountId: string;
  readonly url: string;
  readonly secret: string | null;
}

interface Receiver {
  readonly target: string;
  readonly kind: 'webhook' | 'command' | ReceiverKind;
  /** In the config file; null where it is an account's. */
  readonly name: string | null;
  readonly accountId: string | null;
  /** Of an account's, but for its webhook. */
  readonly id: string | null;
  /** What may be shown of where it leads. */
  readonly address: string | null;
  /** Null: all. */
  readonly types: readonly string[] | null;
}

/** With what became of what it was sent. */
export interface ReceiverState extends Receiver, TargetResult {
  /** Deliveries that have not ended. */
  readonly waiting: number;
}

export type AddedReceiver = Receiver | 'too_many' | 'there_already';

export const RECEIVERS_OF_AN_ACCOUNT = 10;
const NO_RESULT: TargetResult = { deliveredAtMs: null, failedAtMs: null, error: null };

export class Receivers {
  readonly #options: ReceiversOptions;

  constructor(options: ReceiversOptions) {
    this.#options = options;
  }

  /** Of these accounts. */
  async targetsOf(accountIds: readonly string[]): Promise<readonly string[]> {
    return (await this.#of(accountIds)).map(({ target }) => target);
  }

  /** Those of the config file of this gateway. */
  async configured(): Promise<readonly ReceiverState[]> {
    const policy = this.#options.policy();
    return policy === null ? [] : this.#states(receiversIn(policy));
  }

  async ofAccount(accountId: string): Promise<readonly ReceiverState[]> {
    return this.#states(await this.#of([accountId]));
  }

  /** Those of the next so many accounts that have one; `next` is null where these are the last. */
  async ofAccountsAfter(
    after: string,
    limit: number,
  ): Promise<{ readonly receivers: readonly ReceiverState[]; readonly next: string | null }> {
    const found = await this.#options.store.accountsWithReceivers(after, limit + 1);
    const accountIds = found.slice(0, limit);
    const next = found.length > limit ? (accountIds.at(-1) ?? null) : null;
    return { receivers: await this.#states(await this.#of(accountIds)), next };
  }

  async webhook(accountId: string): Promise<WebhookOf | null> {
    const [found] = await this.#options.store.webhooks([accountId]);
    return found === undefined ? null : { accountId, url: found.url, secret: null };
  }

  /** With a new secret, whether it had one before or not. */
  async setWebhook(accountId: string, url: string): Promise<WebhookOf> {
    const { store, installationSecret } = this.#options;
    const secret = newWebhookSecret();
    await store.putWebhook({ accountId, url, sealedSecret: seal(installationSecret, `webhook ${accountId}`, secret) });
    return { accountId, url, secret };
  }

  async removeWebhook(accountId: string): Promise<boolean> {
    const { store } = this.#options;
    const removed = await store.removeWebhook(accountId);
    await store.forgetTarget(accountTarget(accountId));
    return removed;
  }

  async add(accountId: string, kind: ReceiverKind, address: string): Promise<AddedReceiver> {
    const { store, installationSecret } = this.#options;
    const before = await store.receivers([accountId]);
    const isThere = before.some(
      (one) => one.kind === kind && unseal(installationSecret, sealedFor(one), one.sealedAddress) === address,
    );
    if (isThere) return 'there_already';
    const id = `${kind}_${randomBytes(12).toString('hex')}`;
    const sealedAddress = seal(installationSecret, sealedFor({ id, accountId }), address);
    const receiver = { id, accountId, kind, shown: shownOf(kind, address), sealedAddress };
    return (await store.addReceiver(receiver, RECEIVERS_OF_AN_ACCOUNT)) ? ofAccount(receiver) : 'too_many';
  }

  /** Whether the account had it. */
  async remove(accountId: string, id: string): Promise<boolean> {
    const { store } = this.#options;
    const removed = await store.removeReceiver(accountId, id);
    if (removed) await store.forgetTarget(accountTarget(accountId, id));
    return removed;
  }

  async #of(accountIds: readonly string[]): Promise<readonly Receiver[]> {
    const { store } = this.#options;
    const webhooks = (await store.webhooks(accountIds)).map(
      ({ accountId, url }): Receiver => ({
        target: accountTarget(accountId),
        kind: 'webhook',
        name: null,
        accountId,
        id: null,
        address: url,
        types: null,
      }),
    );
    const others = (await store.receivers(accountIds)).map(ofAccount);
    return [...webhooks, ...others].toSorted((a, b) => (String(a.accountId) < String(b.accountId) ? -1 : 1));
  }

  async #states(receivers: readonly Receiver[]): Promise<readonly ReceiverState[]> {
    const { store } = this.#options;
    const results = await store.results(receivers.map(({ target }) => target));
    const waiting = await store.waiting();
    return receivers.map((receiver) => ({
      ...receiver,
      ...(results.get(receiver.target) ?? NO_RESULT),
      waiting: waiting.get(receiver.target) ?? 0,
    }));
  }
}

function receiversIn({ webhooks, slack, email, command }: AlertPolicy): readonly Receiver[] {
  const ofFile = { accountId: null, id: null };
  const posted = (kind: 'webhook' | 'slack') => (one: { name: string; url: string; types: Receiver['types'] }) => ({
    ...{ target: `${kind} ${one.name}`, kind, name: one.name, address: new URL(one.url).host, types: one.types },
    ...ofFile,
  });
  return [
    ...webhooks.map(posted('webhook')),
    ...slack.map(posted('slack')),
    ...email.map(({ name, to, types }) => {
      return { target: `email ${name}`, kind: 'email' as const, name, address: to, types, ...ofFile };
    }),
    ...(command === null
      ? []
      : [
          {
            target: COMMAND_TARGET,
            kind: 'command' as const,
            name: null,
            address: command[0] ?? null,
            types: null,
            ...ofFile,
          },
        ]),
  ];
}

function ofAccount({ id, accountId, kind, shown }: AccountReceiver): Receiver {
  return { target: accountTarget(accountId, id), kind, name: null, accountId, id, address: shown, types: null };
}

/** The path of a channel's address is its secret. */
function shownOf(kind: ReceiverKind, address: string): string {
  return kind === 'email' ? address : new URL(address).host;
}
