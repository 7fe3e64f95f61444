/**
 * The admission: the one object that owns a hold and its claim, from ADMIT to their single end. `settle` and `void`
 * go on being tried until the store has taken them; a second end is a programming error and throws.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Log } from '../core/log.ts';
import type { Ledger, SettleOutcome, SettleRequest } from '../ledger/port.ts';

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 5_000;

const LATE = {
  message: 'The answer is complete, but its charge could not be made durable yet. It will be charged once.',
} as const;

/** `temporarily_held`: only the holds of other requests are in the way. */
export type Extension = 'extended' | 'temporarily_held' | 'refused';

export class Admission {
  readonly holdId: string;
  readonly keyId: string;
  readonly #ledger: Ledger;
  readonly #log: Log;
  #overAt: number | null = null;
  #onOver: () => void = () => {};
  /** The end of the wait itself: a function around it would keep others like it alive (see docs/performance.md). */
  #giveUp: ((why: GatewayError) => void) | null = null;
  #held: bigint;
  #heldTokens: bigint | null;
  #ended = false;

  constructor(ledger: Ledger, log: Log, holdId: string, keyId: string, held: bigint, heldTokens: bigint | null = null) {
    this.#ledger = ledger;
    this.#log = log;
    this.holdId = holdId;
    this.keyId = keyId;
    this.#held = held;
    this.#heldTokens = heldTokens;
  }

  /** In the key's unit, as last extended. */
  get held(): bigint {
    return this.#held;
  }

  /** What the accounts above a credit key hold for it, as last extended; null where there are none. */
  get heldTokens(): bigint | null {
    return this.#heldTokens;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** When the store had taken the end, by `performance.now()`; null while it has not. */
  get overAt(): number | null {
    return this.#overAt;
  }

  /** Calls the listener, at most one, when the store has taken the end; at once when it has already. */
  whenOver(listener: () => void): void {
    this.#onOver = listener;
    if (this.#overAt !== null) listener();
  }

  /**
   * Raises the hold to this amount in all, and to so many tokens where accounts count them. `refused` also where the store
   * cannot be asked, or the hold has ended.
   */
  extend(amount: bigint, tokens: bigint | null = null): Promise<Extension> {
    return this.#ended ? Promise.resolve('refused') : this.#raise(amount, tokens);
  }

  async #raise(amount: bigint, tokens: bigint | null): Promise<Extension> {
    try {
      const outcome = await this.#ledger.extend(this.holdId, this.keyId, amount, tokens ?? undefined);
      if (outcome.kind === 'temporarily_held') return 'temporarily_held';
      if (outcome.kind !== 'extended') return 'refused';
      this.#held = outcome.held;
      if (tokens !== null && this.#heldTokens !== null && tokens > this.#heldTokens) this.#heldTokens = tokens;
      return 'extended';
    } catch (error) {
      this.#log.warn(
        { err: error, requestId: this.holdId, keyId: this.keyId },
        'the store failed; the hold was not extended',
      );
      return 'refused';
    }
  }

  /**
   * Resolves when the charge is durable. Rejects with `service_unavailable` when `late` is called first; the settlement
   * goes on being tried all the same. Before it, the hold is raised to `amount` where the balance carries that; then
   * `settlement` is asked for.
   */
  settle(amount: bigint, settlement: () => SettleRequest, tokens: bigint | null = null): Promise<SettleOutcome> {
    this.#end();
    let request: SettleRequest | null = null;
    const send = (): Promise<SettleOutcome> => {
      request ??= settlement();
      return this.#ledger.settle(request);
    };
    const more = amount > this.#held || (tokens !== null && this.#heldTokens !== null && tokens > this.#heldTokens);
    return this.#persist('settle', send, more ? this.#raise(amount, tokens) : null);
  }

  /** As `settle`. */
  async void(): Promise<void> {
    this.#end();
    await this.#persist('void', () => this.#ledger.void(this.holdId, this.keyId), null);
  }

  /** Nobody waits for the commit any longer. */
  late(): void {
    this.#giveUp?.(new GatewayError('service_unavailable', LATE));
  }

  #end(): void {
    if (this.#ended) throw new Error(`hold ${this.holdId} has ended already`);
    this.#ended = true;
  }

  /** What the store fails to take is sent again and again. Nothing is sent before `raised`. */
  #persist<T>(operation: string, send: () => Promise<T>, raised: Promise<unknown> | null): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      const taken = (outcome: T): void => {
        this.#overAt = performance.now();
        this.#onOver();
        resolve(outcome);
      };
      const attempt = (retryInMs: number): void => {
        send().then(taken, (error: unknown) => {
          const { holdId: requestId, keyId } = this;
          this.#log.warn({ err: error, requestId, keyId, operation, retryInMs }, 'the store failed; trying again');
          // A process that has nothing else to do ends; what it held is recovered.
          setTimeout(attempt, retryInMs, Math.min(retryInMs * 2, RETRY_MAX_MS)).unref();
        });
      };
      if (raised === null) attempt(RETRY_FIRST_MS);
      else raised.then(() => attempt(RETRY_FIRST_MS)).catch(reject);
    });
  }
}
