/**
 * A hold that grows with its stream. It carries more output than the meter has seen, counted in bytes because a token
 * covers at least one, or all that the output limit allows; where the balance cannot carry more, the stream must end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Mode } from '../core/key.ts';
import type { Admission, Extension } from './admission.ts';
import type { Plan } from './plan.ts';
import { holdFor } from './price.ts';

/** What a stream holds at first, and what each extension adds, in output tokens. */
export const ELASTIC_SLICE_TOKENS = 2_048;
/** How often an extension is asked for again while the holds of other requests are in its way. */
const RETRY_MS = 250;

/** Called when a stream that had outrun its hold may go on, or must end. */
export interface ElasticListener {
  grown(): void;
  exhausted(): void;
}

export class ElasticHold {
  readonly #admission: Admission;
  readonly #mode: Mode;
  readonly #plan: Plan;
  readonly #waitMs: number;
  #carriedTokens: number;
  /** `short`: it could not be extended ahead of the stream, and is tried once more when the stream has outrun it. */
  #state: 'steady' | 'extending' | 'short' | 'exhausted' = 'steady';
  /** When the stream had first seen more than is carried now; null while it has not. */
  #outrunAtMs: number | null = null;

  /** `carriedTokens`: how much output the hold carries as it was admitted. `waitMs`: for other requests' holds to end. */
  constructor(admission: Admission, mode: Mode, plan: Plan, carriedTokens: number, waitMs: number) {
    this.#admission = admission;
    this.#mode = mode;
    this.#plan = plan;
    this.#carriedTokens = carriedTokens;
    this.#waitMs = waitMs;
  }

  /**
   * Whether this much output is carried. `wait`: the stream must pause, and `listener` hears what comes of the extension
   * that is under way. Extensions are asked for ahead, so that a stream seldom waits.
   */
  reach(outputBytes: number, listener: ElasticListener): 'carried' | 'wait' | 'exhausted' {
    // A hold that carries the whole output limit carries as many bytes as come.
    if (this.#carriedTokens >= this.#plan.outputLimit) return 'carried';
    const ahead = outputBytes + ELASTIC_SLICE_TOKENS / 2 > this.#carriedTokens;
    const outrun = outputBytes > this.#carriedTokens;
    if (outrun) this.#outrunAtMs ??= performance.now();
    const ask = this.#state === 'steady' ? ahead : this.#state === 'short' && outrun;
    if (ask) void this.#extend(outputBytes, listener);
    if (!outrun) return 'carried';
    return this.#state === 'exhausted' ? 'exhausted' : 'wait';
  }

  async #extend(outputBytes: number, listener: ElasticListener): Promise<void> {
    const tokens = Math.min(outputBytes + ELASTIC_SLICE_TOKENS, this.#plan.outputLimit);
    this.#state = 'extending';
    const extension = await this.#extendWhenFree(
      holdFor(this.#mode, this.#plan, tokens),
      this.#admission.heldTokens === null ? null : holdFor('token_budget', this.#plan, tokens),
    );
    if (extension === 'extended') {
      this.#carriedTokens = tokens;
      this.#outrunAtMs = null;
      this.#state = 'steady';
      listener.grown();
    } else if (this.#outrunAtMs === null) {
      this.#state = 'short';
    } else {
      this.#state = 'exhausted';
      listener.exhausted();
    }
  }

  /** What other requests hold is given back when they end, so it is waited for; the stream goes on while its hold lasts. */
  async #extendWhenFree(amount: bigint, tokens: bigint | null): Promise<Extension> {
    let extension = await this.#admission.extend(amount, tokens);
    while (extension === 'temporarily_held' && this.#waitLeftMs() > 0) {
      await delay(Math.min(RETRY_MS, this.#waitLeftMs()), undefined, { ref: false });
      extension = await this.#admission.extend(amount, tokens);
    }
    return extension;
  }

  /** The time that a stream may wait counts from when it has nothing left to go on with. */
  #waitLeftMs(): number {
    if (this.#outrunAtMs === null) return this.#waitMs;
    return this.#waitMs - (performance.now() - this.#outrunAtMs);
  }
}
