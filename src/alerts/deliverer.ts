/**
 * Delivers what is due, of many receivers at once and of each of them one after the other: one that hangs holds up nobody else.
 * A delivery is leased first and marked last: whoever dies in between leaves it to be delivered again,
 * with the same id. Of several gateways, one has the lease.
 */
import { HOUR_MS } from '../core/time.ts';
import { retryAfterSeconds } from '../lib/retry-after.ts';
import { CONNECTIONS_MAX } from './mailer.ts';
import type { Delivery, DueTarget } from './port.ts';
import { ReceiverBusy, ReceiverGone } from './post.ts';
import { Sender, type SenderOptions } from './sender.ts';
import type { SqlAlertStore } from './sql-store.ts';
import { isMailed, parseTarget } from './targets.ts';

/** Longer than an attempt may take. */
export const LEASE_MS = 60_000;
const AT_ONCE = 64;
/** Of one account, with all below it: whoever has many receivers that hang must leave room for others. */
const OF_AN_ACCOUNT_AT_ONCE = 2;
/** Targets that are looked at together. */
const TARGETS_PAGE = 1_000;
const SECOND_MS = 1_000;
/** How long after each attempt the next one is made; after the last of them it is a dead letter. */
export const RETRY_AFTER_MS: readonly number[] = [
  ...[5 * SECOND_MS, 60 * SECOND_MS, 300 * SECOND_MS, 1_800 * SECOND_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
const ERROR_CHARACTERS_MAX = 500;

export interface DelivererOptions extends SenderOptions {
  readonly store: SqlAlertStore;
  /** The account at the root of its tree. */
  rootOf(accountId: string): Promise<string>;
}

/** Of what many receivers have together, how much may be in use. */
interface Quota {
  readonly name: string;
  readonly atOnce: number;
}

/** One server takes all mail: where it hangs, there is room for others. */
const MAIL: Quota = { name: 'mail', atOnce: CONNECTIONS_MAX };

export class Deliverer {
  readonly #options: DelivererOptions;
  /** Targets that are being delivered to, with what each does. */
  readonly #running = new Map<string, Promise<void>>();
  /** How many of those each quota has, by its name. */
  readonly #shares = new Map<string, number>();
  readonly #sender: Sender;
  #closed = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#sender = new Sender(options);
  }

  /** All that is due and has its turn, and what has it behind that; resolves when each was tried. */
  async deliverDue(): Promise<void> {
    const { store, nowMs } = this.#options;
    const begun: Promise<void>[] = [];
    // However many have to wait for others of their account, those behind them are found.
    for (let after: DueTarget | null = null; !this.#closed && this.#running.size < AT_ONCE; ) {
      const due: readonly DueTarget[] = await store.dueTargets(nowMs(), TARGETS_PAGE, after);
      for (const { target } of due) {
        // What has ended leaves its place to what waits.
        const tried = this.#begin(target, await this.#quotasOf(target))?.then(() => this.deliverDue());
        // Told below, when the others have begun too.
        tried?.catch(() => {});
        if (tried !== undefined) begun.push(tried);
      }
      after = due.at(-1) ?? null;
      if (due.length < TARGETS_PAGE) break;
    }
    await Promise.all(begun);
  }

  /** Those of an alert that was raised with a lease, whatever else is being delivered; resolves when each was tried. */
  async deliverAlert(alertId: string): Promise<void> {
    const deliveries = await this.#options.store.waitingOf(alertId);
    await Promise.all(deliveries.map((delivery) => this.#deliver(delivery)));
  }

  /** Begins nothing more; resolves when nothing is being delivered. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running.values());
    this.#sender.close();
  }

  /** Null where it has to wait. */
  #begin(target: string, quotas: readonly Quota[]): Promise<void> | null {
    if (this.#closed || this.#running.size >= AT_ONCE || this.#running.has(target)) return null;
    if (quotas.some(({ name, atOnce }) => (this.#shares.get(name) ?? 0) >= atOnce)) return null;
    for (const { name } of quotas) this.#shares.set(name, (this.#shares.get(name) ?? 0) + 1);
    const running = this.#deliverTo(target).finally(() => this.#ended(target, quotas));
    this.#running.set(target, running);
    return running;
  }

  /** One after the other, as long as they are taken. */
  async #deliverTo(target: string): Promise<void> {
    const { store, nowMs } = this.#options;
    for (let taken = true; taken && !this.#closed; ) {
      const [delivery] = await store.lease(nowMs(), nowMs() + LEASE_MS, 1, target);
      taken = delivery !== undefined && (await this.#deliver(delivery));
    }
  }

  #ended(target: string, quotas: readonly Quota[]): void {
    this.#running.delete(target);
    for (const { name } of quotas) {
      const share = (this.#shares.get(name) ?? 1) - 1;
      if (share > 0) this.#shares.set(name, share);
      else this.#shares.delete(name);
    }
  }

  async #quotasOf(target: string): Promise<readonly Quota[]> {
    const parsed = parseTarget(target);
    const mail = isMailed(parsed) ? [MAIL] : [];
    if (parsed.kind !== 'account') return mail;
    return [...mail, { name: `of ${await this.#options.rootOf(parsed.accountId)}`, atOnce: OF_AN_ACCOUNT_AT_ONCE }];
  }

  /** Whether it was taken. */
  async #deliver(delivery: Delivery): Promise<boolean> {
    const { store, nowMs } = this.#options;
    try {
      await this.#sender.send(delivery);
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_CHARACTERS_MAX);
      const waitMs = error instanceof ReceiverGone ? undefined : RETRY_AFTER_MS[delivery.attempts];
      const askedMs = error instanceof ReceiverBusy ? askedWaitMs(error, nowMs()) : 0;
      const dueAtMs = waitMs === undefined ? null : nowMs() + Math.max(waitMs, askedMs);
      await store.failed(delivery, message, dueAtMs, nowMs());
      // What else waits for this receiver would only be refused as well, and lose an attempt.
      if (askedMs > 0) await store.postpone(delivery.target, nowMs() + askedMs);
      return false;
    }
    await store.delivered(delivery, nowMs());
    return true;
  }
}

/** A day at most, as between any two attempts. Never sooner than without it: attempts that follow in haste are soon used up. */
function askedWaitMs({ retryAfter }: ReceiverBusy, nowMs: number): number {
  return (retryAfterSeconds(retryAfter, nowMs) ?? 0) * SECOND_MS;
}
