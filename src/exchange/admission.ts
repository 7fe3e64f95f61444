/**
 * The admission: the one object that owns a hold and its claim, from ADMIT to their single end. `settle` and `void`
 * go on being tried until the store has taken them; a second end is a programming error and throws.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Log } from '../core/log.ts';
import type { Ledger, RunEnd, SettleOutcome, SettleRequest } from '../ledger/port.ts';

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 5_000;

const LATE = {
  message: 'The answer is complete, but its charge could not be made durable yet. It will be charged once.',
} as const;

/** An amount in the key's unit, and in tokens where the accounts above a credit key count them. */
export interface HoldSize {
  readonly amount: bigint;
  readonly tokens: bigint;
}

const NOTHING: HoldSize = { amount: 0n, tokens: 0n };

/** `temporarily_held`: only the holds of other requests are in the way. */
type Extension = 'extended' | 'temporarily_held' | 'refused';

export class Admission {
  readonly holdId: string;
  readonly keyId: string;
  readonly #ledger: Ledger;
  readonly #log: Log;
  #overAt: number | null = null;
  #onOver: () => void = () => {};
  /** The end of the wait itself: a function around it would keep others like it alive (docs/understand/performance.md). */
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

  /** The amount held in the key's unit, as last extended. */
  get held(): bigint {
    return this.#held;
  }

  /** The tokens that the accounts above a credit key hold for it, as last extended; null where there are none. */
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
   * Raises the hold to `most` in all, or to as much as there is down to `least`. `refused` also where the store cannot be
   * asked, or the hold has ended.
   */
  async extend(most: HoldSize, least: HoldSize): Promise<Extension> {
    if (this.#ended) return 'refused';
    try {
      return await this.#raise(most, least);
    } catch (error) {
      this.#log.warn(
        { err: error, requestId: this.holdId, keyId: this.keyId },
        'the store failed; the hold was not extended',
      );
      return 'refused';
    }
  }

  async #raise(most: HoldSize, least: HoldSize): Promise<Extension> {
    const { holdId, keyId } = this;
    const tokens = this.#heldTokens === null ? {} : { tokens: most.tokens, tokensMin: least.tokens };
    const outcome = await this.#ledger.extend({
      holdId,
      keyId,
      amount: most.amount,
      amountMin: least.amount,
      ...tokens,
    });
    if (outcome.kind === 'temporarily_held') return 'temporarily_held';
    if (outcome.kind !== 'extended') return 'refused';
    this.#held = outcome.held;
    if (this.#heldTokens !== null) this.#heldTokens = outcome.heldTokens ?? this.#heldTokens;
    return 'extended';
  }

  /**
   * Resolves when the charge is durable. Rejects with `service_unavailable` when `late` is called first; the settlement
   * goes on being tried all the same. Before it, the hold is raised to what is `owed`, or to all that every level still has
   * where that is less; then `settlement` is asked for.
   */
  settle(owed: HoldSize, settlement: () => SettleRequest): Promise<SettleOutcome> {
    this.#end();
    let request: SettleRequest | null = null;
    const charge = (): Promise<SettleOutcome> => {
      request ??= settlement();
      return this.#ledger.settle(request);
    };
    const covered = owed.amount <= this.#held && (this.#heldTokens === null || owed.tokens <= this.#heldTokens);
    if (covered) return this.#persist('settle', charge);
    return this.#persist('settle', () => (request ? charge() : this.#raise(owed, NOTHING).then(charge)));
  }

  /** The same as `settle`, without a charge. `run`: the end of the run whose hold it is, which must not outlive it. */
  async void(run: RunEnd | null = null): Promise<void> {
    this.#end();
    await this.#persist('void', async () => {
      if (run !== null) await this.#ledger.endRun(this.keyId, run);
      return this.#ledger.void(this.holdId, this.keyId);
    });
  }

  /** Nobody waits for the commit any longer. */
  late(): void {
    this.#giveUp?.(new GatewayError('service_unavailable', LATE));
  }

  #end(): void {
    if (this.#ended) throw new Error(`hold ${this.holdId} has ended already`);
    this.#ended = true;
  }

  /** An operation that the store fails to take is sent again until it does. */
  #persist<T>(operation: string, send: () => Promise<T>): Promise<T> {
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
      attempt(RETRY_FIRST_MS);
    });
  }
}
