/** The alerts' part of the admin API. */

import { alertContent } from '../../alerts/alert.ts';
import { alertLine } from '../../alerts/alert-text.ts';
import type { Alerts, TestResult } from '../../alerts/alerts.ts';
import type { Delivery, StoredAlert } from '../../alerts/port.ts';
import { RECEIVERS_OF_AN_ACCOUNT, type ReceiverState, type WebhookOf } from '../../alerts/receivers.ts';
import { wrongWebhookUrl } from '../../alerts/webhook.ts';
import { EMAIL_ADDRESS } from '../../core/email-address.ts';
import { isPublic, literalAddress } from '../../core/public-address.ts';
import type { AccountService } from '../accounts/service.ts';
import { AdminError } from '../error.ts';
import { numberedPage } from '../http/page.ts';
import { invalid } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import type {
  AccountReceiverList,
  AccountWebhookView,
  AddedReceiver,
  AlertDeliveryList,
  AlertDeliveryView,
  AlertList,
  AlertQuery,
  AlertReceiverList,
  AlertReceiverView,
  AlertTestQuery,
  AlertTestView,
  AlertView,
  DeliveryQuery,
  ReceiverBody,
  ReceiverQuery,
  RemovedReceiver,
  WebhookBody,
} from './schema.ts';

const RECEIVER_ACCOUNTS = 100;
/** What the webhook of an account is called among its receivers. */
const WEBHOOK = 'webhook';

interface AlertServiceOptions {
  /** Absent where there are none. */
  readonly alerts: Alerts | undefined;
  /** What the caller reaches: a webhook is that of one of these accounts. */
  readonly accounts: Pick<AccountService, 'show'>;
  /** False for the holder of an account. */
  readonly isOperator: boolean;
}

export class AlertService {
  readonly #options: AlertServiceOptions;

  constructor(options: AlertServiceOptions) {
    this.#options = options;
  }

  async list({ type, ...page }: View<typeof AlertQuery>): Promise<View<typeof AlertList>> {
    const alerts = this.#alerts;
    const { object, ...found } = await numberedPage(
      page,
      (part) => alerts.list({ ...part, type: type ?? null }),
      alertView,
    );
    return { object, enabled: alerts.enabled, ...found };
  }

  async deliveries({ state, ...page }: View<typeof DeliveryQuery>): Promise<View<typeof AlertDeliveryList>> {
    const alerts = this.#alerts;
    return numberedPage(
      page,
      (part) => alerts.deliveries({ ...part, state: state ?? null }),
      (each) => deliveryView(each),
    );
  }

  async test({ receiver }: View<typeof AlertTestQuery>): Promise<AlertTestView> {
    const alerts = this.#enabled();
    if (receiver === undefined) return testView(await alerts.test());
    const [kind, accountId = ''] = receiver.split(' ', 2);
    const known = kind === 'account' ? alerts.receivers.ofAccount(accountId) : alerts.receivers.configured();
    if ((await known).some(({ target }) => target === receiver)) return testView(await alerts.testTargets([receiver]));
    throw new AdminError(
      'not_found',
      `there is no receiver ${JSON.stringify(receiver)}: list those that there are with "gateway alerts receivers" or GET /admin/v1/alerts/receivers`,
    );
  }

  /** With what is configured, and what is not. */
  async receivers({
    limit = RECEIVER_ACCOUNTS,
    cursor,
  }: View<typeof ReceiverQuery>): Promise<View<typeof AlertReceiverList>> {
    const { policy, receivers } = this.#alerts;
    const configured = cursor === undefined ? await receivers.configured() : [];
    const { receivers: ofAccounts, next } = await receivers.ofAccountsAfter(cursor ?? '', limit);
    const names = await this.#namesOf(ofAccounts);
    const smtp = policy?.smtp ?? null;
    return {
      object: 'list',
      enabled: policy !== null,
      levels: [...(policy?.levels ?? [])],
      credits_left: [...(policy?.creditsLeft ?? [])],
      tokens_left: [...(policy?.tokensLeft ?? [])],
      smtp: smtp && { host: smtp.host, port: smtp.port, tls: smtp.tls, from: smtp.from },
      data: [...configured, ...ofAccounts].map((one) => receiverView(one, names.get(one.accountId) ?? null)),
      next_cursor: next,
    };
  }

  async accountReceivers(accountId: string): Promise<View<typeof AccountReceiverList>> {
    const { name } = await this.#options.accounts.show(accountId);
    const found = await this.#alerts.receivers.ofAccount(accountId);
    const { isOperator } = this.#options;
    const { policy } = this.#alerts;
    return {
      object: 'list',
      may_add: policy === null ? [] : ['slack', ...(isOperator && policy.smtp !== null ? (['email'] as const) : [])],
      data: found.map((one) => receiverView(isOperator ? one : forHolder(one), name)),
    };
  }

  async addReceiver(
    accountId: string,
    { kind, address }: View<typeof ReceiverBody>,
  ): Promise<View<typeof AddedReceiver>> {
    const { accounts, isOperator } = this.#options;
    await accounts.show(accountId);
    const alerts = this.#enabled();
    if (kind === 'slack') this.#requireAddress('address', address);
    else if (!isOperator) {
      throw new AdminError('forbidden', 'kind is email, which an operator sets: ask for it, or give a Slack channel');
    } else if (alerts.policy?.smtp === null) {
      throw new AdminError(
        'refused',
        'kind is email, and the config file has no alerts.smtp: add the mail server there',
        {
          field: 'kind',
        },
      );
    } else if (!new RegExp(EMAIL_ADDRESS).test(address)) {
      throw invalid('address', 'must be one e-mail address in ASCII, such as billing@example.com');
    }
    const added = await alerts.receivers.add(accountId, kind, address);
    if (added === 'there_already') {
      throw new AdminError('refused', `address is one of ${accountId} already`, { field: 'address' });
    }
    if (added === 'too_many') {
      throw new AdminError(
        'refused',
        `${accountId} has ${RECEIVERS_OF_AN_ACCOUNT} receivers already: remove one first`,
      );
    }
    return { account: accountId, id: String(added.id), kind, address: added.address };
  }

  async removeReceiver(accountId: string, id: string): Promise<View<typeof RemovedReceiver>> {
    if (!(await this.#alerts.receivers.remove(accountId, id))) throw noReceiver(accountId, id);
    return { account: accountId, id, removed: true };
  }

  /** For whoever administers the account: no more than one in a while. */
  async testReceiver(accountId: string, id: string): Promise<AlertTestView> {
    const alerts = this.#enabled();
    const found = (await alerts.receivers.ofAccount(accountId)).find((one) => (one.id ?? WEBHOOK) === id);
    if (found === undefined) throw noReceiver(accountId, id);
    const result = await alerts.testAccountTarget(found.target);
    if (result === null) throw new AdminError('rate_limited', 'it was sent a test a moment ago: wait for ten seconds');
    const { isOperator } = this.#options;
    const view = testView(result);
    if (isOperator) return view;
    const shown = view.deliveries.map((one) => ({ ...one, error: one.error && errorForHolder(found.kind, one.error) }));
    return { ...view, deliveries: shown };
  }

  async webhook(accountId: string): Promise<AccountWebhookView> {
    await this.#options.accounts.show(accountId);
    return webhookView(accountId, await this.#alerts.receivers.webhook(accountId));
  }

  /** With a new secret, shown once. */
  async setWebhook(accountId: string, { url }: View<typeof WebhookBody>): Promise<AccountWebhookView> {
    this.#requireAddress('url', url);
    return webhookView(accountId, await this.#enabled().receivers.setWebhook(accountId, url));
  }

  async removeWebhook(accountId: string): Promise<AccountWebhookView> {
    await this.#alerts.receivers.removeWebhook(accountId);
    return webhookView(accountId, null);
  }

  /** All that the account has. */
  async removeReceivers(accountId: string): Promise<void> {
    const { receivers } = this.#alerts;
    for (const { id } of await receivers.ofAccount(accountId)) {
      await (id === null ? receivers.removeWebhook(accountId) : receivers.remove(accountId, id));
    }
  }

  /** What stored alerts call these keys and accounts. */
  forgetNames(ids: readonly string[]): Promise<void> {
    return this.#alerts.forgetNames(new Set(ids));
  }

  /** What a name leads to is judged when it is called; an address that is written down, at once. */
  #requireAddress(field: string, url: string): void {
    const wrong = wrongWebhookUrl(url);
    if (wrong !== null) throw invalid(field, wrong);
    const literal = literalAddress(new URL(url).hostname);
    const mayBePrivate = this.#alerts.policy?.accountsAllowPrivate === true;
    if (literal === null || mayBePrivate || isPublic(literal)) return;
    throw invalid(field, `must be public: ${literal.address} is not`);
  }

  /** By the id of the account. */
  async #namesOf(receivers: readonly ReceiverState[]): Promise<ReadonlyMap<string | null, string>> {
    const ids = new Set(receivers.flatMap(({ accountId }) => accountId ?? []));
    const names = new Map<string | null, string>();
    for (const id of ids) {
      const account = await this.#options.accounts.show(id).catch((error: unknown) => {
        if (error instanceof AdminError && error.code === 'unknown_account') return null;
        throw error;
      });
      if (account !== null) names.set(id, account.name);
    }
    return names;
  }

  get #alerts(): Alerts {
    const { alerts } = this.#options;
    if (alerts === undefined) throw new AdminError('unavailable', 'there are no alerts here');
    return alerts;
  }

  #enabled(): Alerts {
    const alerts = this.#alerts;
    if (alerts.enabled) return alerts;
    throw new AdminError(
      'refused',
      'alerts are switched off, or no gateway runs: add a section alerts to the config file (alerts: {} is enough), and start the gateway',
    );
  }
}

function alertView({ id, type, atMs, body }: StoredAlert): AlertView {
  const { data } = alertContent(body);
  return { id, type, at: new Date(atMs).toISOString(), text: alertLine(type, data), data };
}

function testView({ id, deliveries }: TestResult): AlertTestView {
  const views = deliveries.map(deliveryView);
  return { id, ok: views.every(({ state }) => state === 'delivered'), deliveries: views };
}

function receiverView(one: ReceiverState, accountName: string | null): AlertReceiverView {
  const time = (atMs: number | null) => (atMs === null ? null : new Date(atMs).toISOString());
  const { target, kind, name, accountId: account, address, types, waiting } = one;
  return {
    ...{ target, kind, name, account, address, waiting },
    account_name: accountName,
    id: account === null ? null : (one.id ?? WEBHOOK),
    types: types && [...types],
    last_delivered_at: time(one.deliveredAtMs),
    last_failed_at: time(one.failedAtMs),
    last_error: one.error,
  };
}

/** What names lead to, and what the operator's mail server says, is not for the holder of an account. */
function errorForHolder(kind: ReceiverState['kind'], error: string): string {
  if (kind === 'email') return 'the mail could not be sent';
  return /leads to|getaddrinfo|has no address/.test(error) ? 'its name has no public address' : error;
}

function forHolder(one: ReceiverState): ReceiverState {
  return { ...one, error: one.error && errorForHolder(one.kind, one.error) };
}

function noReceiver(accountId: string, id: string): AdminError {
  return new AdminError(
    'not_found',
    `${accountId} has no receiver ${JSON.stringify(id.slice(0, 80))}: list those that it has with "gateway accounts receivers ${accountId}"`,
  );
}

function deliveryView({ alertId, type, target, state, attempts, atMs, dueAtMs, error }: Delivery): AlertDeliveryView {
  const due = new Date(dueAtMs).toISOString();
  return {
    alert_id: alertId,
    type,
    target,
    state,
    attempts,
    raised_at: new Date(atMs).toISOString(),
    next_attempt_at: state === 'pending' ? due : null,
    ended_at: state === 'pending' ? null : due,
    error,
  };
}

function webhookView(account: string, webhook: WebhookOf | null): AccountWebhookView {
  return { account, url: webhook?.url ?? null, secret: webhook?.secret ?? null };
}
