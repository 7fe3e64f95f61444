/**
 * A hold that grows with its stream. It always carries more output than the meter has seen, counted in bytes because a
 * token covers at least one; where the balance cannot carry more, the stream must end.
 */
import type { Mode } from '../core/key.ts';
import type { Admission } from './admission.ts';
import { holdFor } from './price.ts';
import type { Plan } from './resolve.ts';

/** What a stream holds at first, and what each extension adds, in output tokens. */
export const ELASTIC_SLICE_TOKENS = 2_048;

/** Told when a stream that had outrun its hold may go on, or must end. */
export interface ElasticListener {
  grown(): void;
  exhausted(): void;
}

export class ElasticHold {
  readonly #admission: Admission;
  readonly #mode: Mode;
  readonly #plan: Plan;
  #coveredBytes: number;
  #state: 'steady' | 'extending' | 'exhausted' = 'steady';

  constructor(admission: Admission, mode: Mode, plan: Plan) {
    this.#admission = admission;
    this.#mode = mode;
    this.#plan = plan;
    this.#coveredBytes = Math.min(plan.outputLimit, ELASTIC_SLICE_TOKENS);
  }

  /**
   * Whether this much output is carried. `wait`: the stream must pause, and `listener` hears what comes of the extension
   * that is under way. Extensions are asked for ahead, so that a stream seldom waits.
   */
  reach(outputBytes: number, listener: ElasticListener): 'carried' | 'wait' | 'exhausted' {
    const ahead = outputBytes + ELASTIC_SLICE_TOKENS / 2;
    if (ahead > this.#coveredBytes && this.#state === 'steady') void this.#extend(outputBytes, listener);
    if (outputBytes <= this.#coveredBytes) return 'carried';
    return this.#state === 'exhausted' ? 'exhausted' : 'wait';
  }

  async #extend(outputBytes: number, listener: ElasticListener): Promise<void> {
    const coveredBytes = outputBytes + ELASTIC_SLICE_TOKENS;
    this.#state = 'extending';
    const extended = await this.#admission.extend(holdFor(this.#mode, this.#plan, coveredBytes));
    if (extended) {
      this.#coveredBytes = coveredBytes;
      this.#state = 'steady';
      listener.grown();
    } else {
      this.#state = 'exhausted';
      listener.exhausted();
    }
  }
}
