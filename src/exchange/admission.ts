/**
 * The admission: the one object that owns a hold and its claim, from ADMIT to their single end. `settle` and `void`
 * go on being tried until the store has taken them; a second end is a programming error and throws.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../core/conditions.ts';
import type { Log } from '../core/log.ts';
import type { Ledger, SettleOutcome, SettleRequest } from '../ledger/port.ts';

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 5_000;

export type Settlement = Omit<SettleRequest, 'holdId' | 'keyId'>;

export class Admission {
  readonly holdId: string;
  readonly keyId: string;
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #over = Promise.withResolvers<void>();
  #held: bigint;
  #ended = false;

  constructor(ledger: Ledger, log: Log, holdId: string, keyId: string, held: bigint) {
    this.#ledger = ledger;
    this.#log = log;
    this.holdId = holdId;
    this.keyId = keyId;
    this.#held = held;
  }

  /** In the key's unit, as last extended. */
  get held(): bigint {
    return this.#held;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the store has taken the end. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Raises the hold to this amount in all. False where the balance cannot carry it, or the store cannot be asked. */
  extend(amount: bigint): Promise<boolean> {
    return this.#ended ? Promise.resolve(false) : this.#raise(amount);
  }

  async #raise(amount: bigint): Promise<boolean> {
    try {
      const outcome = await this.#ledger.extend(this.holdId, this.keyId, amount);
      if (outcome.kind !== 'extended') return false;
      this.#held = outcome.held;
      return true;
    } catch (error) {
      this.#log.warn({ err: error, hold: this.holdId }, 'the store failed; the hold was not extended');
      return false;
    }
  }

  /**
   * Resolves when the charge is durable. Rejects with `service_unavailable` after `waitMs` without a commit; the
   * settlement goes on being tried all the same. Before it, the hold is raised to `amount` where the balance carries that;
   * then `settlement` is asked for.
   */
  settle(amount: bigint, settlement: () => Settlement, waitMs: number): Promise<SettleOutcome> {
    this.#end();
    return this.#within(waitMs, this.#settle(amount, settlement));
  }

  async #settle(amount: bigint, settlement: () => Settlement): Promise<SettleOutcome> {
    if (amount > this.#held) await this.#raise(amount);
    const request = { holdId: this.holdId, keyId: this.keyId, ...settlement() };
    return this.#persist('settle', () => this.#ledger.settle(request));
  }

  async void(waitMs: number): Promise<void> {
    this.#end();
    await this.#within(
      waitMs,
      this.#persist('void', () => this.#ledger.void(this.holdId, this.keyId)),
    );
  }

  #end(): void {
    if (this.#ended) throw new Error(`hold ${this.holdId} has ended already`);
    this.#ended = true;
  }

  async #persist<T>(operation: string, send: () => Promise<T>): Promise<T> {
    for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
      try {
        const outcome = await send();
        this.#over.resolve();
        return outcome;
      } catch (error) {
        this.#log.warn(
          { err: error, hold: this.holdId, operation, retryInMs: waitMs },
          'the store failed; trying again',
        );
        // A process that has nothing else to do any more ends; what it held is recovered.
        await delay(waitMs, undefined, { ref: false });
      }
    }
  }

  async #within<T>(waitMs: number, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new GatewayError('service_unavailable', {
            message: 'The answer is complete, but its charge could not be made durable yet. It will be charged once.',
          }),
        );
      }, waitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
