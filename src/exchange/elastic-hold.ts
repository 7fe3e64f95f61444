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
  #state: 'steady' | 'extending' | 'exhausted' = 'steady';

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
    const ahead = outputBytes + ELASTIC_SLICE_TOKENS / 2;
    if (ahead > this.#carriedTokens && this.#state === 'steady') void this.#extend(outputBytes, listener);
    if (outputBytes <= this.#carriedTokens) return 'carried';
    return this.#state === 'exhausted' ? 'exhausted' : 'wait';
  }

  async #extend(outputBytes: number, listener: ElasticListener): Promise<void> {
    const tokens = Math.min(outputBytes + ELASTIC_SLICE_TOKENS, this.#plan.outputLimit);
    this.#state = 'extending';
    const extension = await this.#extendWhenFree(holdFor(this.#mode, this.#plan, tokens));
    if (extension === 'extended') {
      this.#carriedTokens = tokens;
      this.#state = 'steady';
      listener.grown();
    } else {
      this.#state = 'exhausted';
      listener.exhausted();
    }
  }

  /** What other requests hold is given back when they end, so it is waited for; the stream goes on while its hold lasts. */
  async #extendWhenFree(amount: bigint): Promise<Extension> {
    const untilMs = performance.now() + this.#waitMs;
    let extension = await this.#admission.extend(amount);
    while (extension === 'temporarily_held' && performance.now() < untilMs) {
      await delay(RETRY_MS, undefined, { ref: false });
      extension = await this.#admission.extend(amount);
    }
    return extension;
  }
}
