/** The alerts' part of the admin API. */

import type { Alerts, WebhookOf } from '../../alerts/alerts.ts';
import type { Delivery, StoredAlert } from '../../alerts/port.ts';
import { wrongWebhookUrl } from '../../alerts/webhook.ts';
import type { AccountService } from '../accounts/service.ts';
import { AdminError } from '../error.ts';
import { numberedPage } from '../http/page.ts';
import { invalid } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import type {
  AccountWebhookView,
  AlertDeliveryList,
  AlertDeliveryView,
  AlertList,
  AlertQuery,
  AlertTestView,
  AlertView,
  DeliveryQuery,
  WebhookBody,
} from './schema.ts';

interface AlertServiceOptions {
  /** Absent where there are none. */
  readonly alerts: Alerts | undefined;
  /** What the caller reaches: a webhook is that of one of these accounts. */
  readonly accounts: Pick<AccountService, 'show'>;
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

  async test(): Promise<AlertTestView> {
    const { id, deliveries } = await this.#enabled().test();
    const views = deliveries.map(deliveryView);
    return { id, ok: views.every(({ state }) => state === 'delivered'), deliveries: views };
  }

  async webhook(accountId: string): Promise<AccountWebhookView> {
    await this.#options.accounts.show(accountId);
    return webhookView(accountId, await this.#alerts.webhook(accountId));
  }

  /** With a new secret, shown once. */
  async setWebhook(accountId: string, { url }: View<typeof WebhookBody>): Promise<AccountWebhookView> {
    const wrong = wrongWebhookUrl(url);
    if (wrong !== null) throw invalid('url', wrong);
    return webhookView(accountId, await this.#enabled().setWebhook(accountId, url));
  }

  async removeWebhook(accountId: string): Promise<AccountWebhookView> {
    await this.#alerts.removeWebhook(accountId);
    return webhookView(accountId, null);
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
  const { data } = JSON.parse(body) as { readonly data: Readonly<Record<string, unknown>> };
  return { id, type, at: new Date(atMs).toISOString(), data };
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
